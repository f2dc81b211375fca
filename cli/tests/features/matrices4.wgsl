// Matrices of four columns: m[c][r] = (c+1) + 10*(r+1); arrays of matrices; negation, sums and scaling.
// @refused pica: P0104
// @bind { "uniforms": { "u.a": [[11,21],[12,22],[13,23],[14,24]], "u.b": [[11,21,31],[12,22,32],[13,23,33],[14,24,34]],
//     "u.c": [[11,21,31,41],[12,22,32,42],[13,23,33,43],[14,24,34,44]], "u.l": [[[1,2],[3,4]],[[5,6],[7,8]],[[9,10],[11,12]]], "u.i": 1 },
//   "invocations": [ { "inputs": { "v": [1,2,3,4] } } ] }
// @expect { "invocations": [ { "outputs": { "position": [130,230,0,1], "t2": [53,56,59,62], "b": [130,230,330,0], "t3": [146,152,158,164], "c": [130,230,330,430],
//   "t4": [310,320,330,340], "l": [19,22,31,36], "s": [-27,-47,-67,-87] } } ] }
struct U { a: mat4x2<f32>, b: mat4x3<f32>, c: mat4x4<f32>, l: array<mat2x2<f32>, 3>, i: i32 }
@group(0) @binding(0) var<uniform> u: U;
struct Out {
  @builtin(position) position: vec4<f32>,
  @location(0) t2: vec4<f32>, @location(1) b: vec4<f32>, @location(2) t3: vec4<f32>,
  @location(3) c: vec4<f32>, @location(4) t4: vec4<f32>, @location(5) l: vec4<f32>, @location(6) s: vec4<f32>,
}
@vertex fn main(@location(0) v: vec4<f32>) -> Out {
  var o: Out;
  o.position = vec4(u.a * v, 0.0, 1.0);
  o.t2 = v.xy * u.a;
  o.b = vec4(u.b * v, 0.0);
  o.t3 = v.xyz * u.b;
  o.c = u.c * v;
  o.t4 = v * u.c;
  o.l = vec4(u.l[u.i] * v.xy, u.l[u.i + 1] * v.xy - vec2(0.0, -2.0));
  let s = (u.c + u.c) * -1.0 - u.c + u.c;
  o.s = s[0] + v.xxxx * -5.0 + vec4(0.0);
  return o;
}
