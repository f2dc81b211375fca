// Variables: arrays of structures, pointers to their parts, private variables, nested arrays, computed indices, tables, copies.
// @bind { "invocations": [ { "inputs": { "i": 0 } }, { "inputs": { "i": 1 } }, { "inputs": { "i": 2 } }, { "inputs": { "i": 5 } } ] }
// @expect { "invocations": [ { "outputs": { "a": [7,0,0,102], "b": [14,14,3,1] } }, { "outputs": { "a": [0,8,0,103], "b": [15,14,1,2] } },
//   { "outputs": { "a": [0,0,9,104], "b": [16,14,4,3] } }, { "outputs": { "a": [0,0,12,107], "b": [19,14,9,6] } } ] }
struct Part { v: vec3<f32>, n: f32 }
struct Whole { parts: array<Part, 6>, grid: array<array<f32, 3>, 2>, m: mat2x2<f32> }
const table = array<f32, 6>(3.0, 1.0, 4.0, 1.0, 5.0, 9.0);
var<private> calls: f32 = 1.0;
var<private> state: Whole;
struct Out { @builtin(position) position: vec4<f32>, @location(0) a: vec4<f32>, @location(1) b: vec4<f32> }
fn put(p: ptr<function, f32>, x: f32) { *p = x; calls += 1.0; }
fn grow(p: ptr<private, Part>) { (*p).n += 100.0; }
fn total(w: Whole) -> f32 { var s = 0.0; for (var k = 0; k < 6; k++) { s += w.parts[k].n; } return s; }
@vertex fn main(@location(0) i: i32) -> Out {
  var o: Out;
  var w: Whole;
  let k = f32(i);
  w.parts[i].v[min(i, 2)] = 7.0 + k;
  put(&w.parts[i].n, k + 2.0);
  w.grid[i % 2][i % 3] = k;
  w.m[i % 2] = vec2(k, 14.0);
  let before = w;
  state = w;
  grow(&state.parts[i]);
  w.parts[i].n = -1.0;
  o.position = vec4(calls);
  o.a = vec4(before.parts[i].v, total(state));
  o.b = vec4(total(before) + 12.0, w.m[i % 2].y, table[i], w.grid[i % 2][i % 3] + calls - 1.0);
  return o;
}
