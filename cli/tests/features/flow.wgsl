// Control flow: switch with several selectors and an early default, nested loops, continuing with break-if, early returns, pointers.
// @refused pica: P0201
// @bind { "uniforms": { "u.n": 5, "u.m": 3 }, "invocations": [ { "inputs": { "i": 0 } }, { "inputs": { "i": 1 } }, { "inputs": { "i": 2 } }, { "inputs": { "i": 7 } } ] }
// @expect { "invocations": [ { "outputs": { "r": [10,14,25,2] } }, { "outputs": { "r": [21,14,26,3] } }, { "outputs": { "r": [21,14,27,4] } }, { "outputs": { "r": [-7,14,32,9] } } ] }
struct U { n: i32, m: i32 }
@group(0) @binding(0) var<uniform> u: U;
struct Out { @builtin(position) position: vec4<f32>, @location(0) r: vec4<f32> }
fn pick(i: i32) -> i32 {
  switch i {
    default: { return -i; }
    case 0: { return 10; }
    case 1, 2: { if (u.m == 3) { break; } return 0; }
  }
  return 21;
}
fn sum() -> i32 {
  var s = 0;
  var i = 0;
  loop {
    if (i == 2) { continue; }
    for (var j = 0; j < u.m; j++) {
      if (j == 1) { continue; }
      if (i == 4) { break; }
      s += i + 1;
    }
    continuing { i += 1; break if i >= u.n; }
  }
  return s;
}
fn bump(p: ptr<function, i32>, by: i32) -> i32 { *p += by; return *p; }
fn swap(v: ptr<function, vec2<i32>>) { let t = (*v).x; (*v).x = (*v).y; (*v).y = t; }
@vertex fn main(@location(0) i: i32) -> Out {
  var o: Out;
  var k = i;
  var w = vec2(k, 25);
  swap(&w);
  let a = bump(&k, 2);
  var n = u.n;
  while (n > 0) { n -= 1; if (n == 2) { break; } }
  o.position = vec4(f32(n));
  o.r = vec4<f32>(vec4(pick(i), sum(), w.x + w.y, a));
  return o;
}
