// Matrices of three columns: m[c][r] = (c+1) + 10*(r+1); products of different shapes, determinant, elements by computed index.
// @bind { "uniforms": { "u.a": [[11,21],[12,22],[13,23]], "u.b": [[11,21,31],[12,22,32],[13,23,33]], "u.c": [[11,21,31,41],[12,22,32,42],[13,23,33,43]], "u.i": 2 },
//   "invocations": [ { "inputs": { "v": [1,2,3,4] } } ] }
// @expect { "invocations": [ { "outputs": { "position": [74,134,0,1], "t2": [53,56,59,22], "b": [74,134,194,-2], "t3": [146,152,158,33], "c": [74,134,194,254],
//   "t4": [310,320,330,43], "m": [2,4,6,0], "d": [12,13,0,0] } } ] }
struct U { a: mat3x2<f32>, b: mat3x3<f32>, c: mat3x4<f32>, i: i32 }
@group(0) @binding(0) var<uniform> u: U;
struct Out {
  @builtin(position) position: vec4<f32>,
  @location(0) t2: vec4<f32>, @location(1) b: vec4<f32>, @location(2) t3: vec4<f32>,
  @location(3) c: vec4<f32>, @location(4) t4: vec4<f32>, @location(5) m: vec4<f32>, @location(6) d: vec4<f32>,
}
@vertex fn main(@location(0) v: vec4<f32>) -> Out {
  var o: Out;
  o.position = vec4(u.a * v.xyz, 0.0, 1.0);
  o.t2 = vec4(v.xy * u.a, u.a[1].y);
  // Rows are in line: the determinant of the whole is 0, that of this one is -2.
  let k = mat3x3<f32>(1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 1.0);
  o.b = vec4(u.b * v.xyz, determinant(k));
  o.t3 = vec4(v.xyz * u.b, u.b[u.i][u.i]);
  o.c = u.c * v.xyz;
  o.t4 = vec4(v * u.c, u.c[u.i][u.i + 1]);
  var w = mat3x3<f32>();
  w[u.i] = v.xyz;
  w[u.i] *= 2.0;
  o.m = vec4(w[u.i], w[0].x);
  // 2x2 = (2 columns of 3) transposed by ...: element 0 of each column of a plain product.
  let p = u.a * mat3x3<f32>(0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0);
  o.d = vec4(p[0].x, p[1].x, 0.0, 0.0);
  return o;
}
