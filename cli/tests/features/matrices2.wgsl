// Matrices of two columns from a uniform block: m[c][r] = (c+1) + 10*(r+1).
// @bind { "uniforms": { "u.a": [[11,21],[12,22]], "u.b": [[11,21,31],[12,22,32]], "u.c": [[11,21,31,41],[12,22,32,42]], "u.i": 1 },
//   "invocations": [ { "inputs": { "v": [1,2,3,4] } } ] }
// @expect { "invocations": [ { "outputs": { "position": [35,65,0,1], "t2": [53,56,53,56], "b": [35,65,95,0], "t3": [146,152,146,152], "c": [35,65,95,125],
//   "t4": [310,320,310,320], "col": [12,22,32,42], "sq": [373,693,396,736] } } ] }
struct U { a: mat2x2<f32>, b: mat2x3<f32>, c: mat2x4<f32>, i: i32 }
@group(0) @binding(0) var<uniform> u: U;
struct Out {
  @builtin(position) position: vec4<f32>,
  @location(0) t2: vec4<f32>, @location(1) b: vec4<f32>, @location(2) t3: vec4<f32>,
  @location(3) c: vec4<f32>, @location(4) t4: vec4<f32>, @location(5) col: vec4<f32>, @location(6) sq: vec4<f32>,
}
@vertex fn main(@location(0) v: vec4<f32>) -> Out {
  var o: Out;
  o.position = vec4(u.a * v.xy, 0.0, 1.0);
  o.t2 = vec4(v.xy * u.a, transpose(u.a) * v.xy);
  o.b = vec4(u.b * v.xy, 0.0);
  o.t3 = vec4(v.xyz * u.b, transpose(u.b) * v.xyz);
  o.c = u.c * v.xy;
  o.t4 = vec4(v * u.c, transpose(u.c) * v);
  o.col = u.c[u.i];
  let s = u.a * u.a;
  o.sq = vec4(s[0], s[1]);
  return o;
}
