// Matrices that stand row by row, by default or not, members with offsets, structures in structures, push constants by std430.
// A matrix that stands row by row is bound as its rows.
// @bind { "uniforms": { "u.k": 2, "u.a.x": 3, "u.last": 5, "u.m": [[1,2,3],[4,5,6]], "u.n": [[1,0],[0,1]], "pc.v": [1,2,3,4], "pc.f": 7 },
//   "invocations": [ { "inputs": { "p": [1,2,3,4] } } ] }
// @expect { "invocations": [ { "outputs": { "position": [14,32,9,12], "a": [30,1,2,7], "b": [1,2,2,5], "c": [6,4,0,0] } } ] }
#version 450
layout(row_major) uniform;
struct A { float x; };
layout(location = 0) in vec4 p;
layout(std140, binding = 0) uniform U { float k; A a; float last; mat3x2 m; layout(column_major) mat2 n; } u;
layout(push_constant) uniform PC { layout(offset = 16) vec4 v; layout(offset = 48) float f; } pc;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
layout(location = 2) out vec4 c;
void main() {
  gl_Position = vec4(u.m * p.xyz, (p.xy * u.m).xy);
  a = vec4(u.k * u.a.x * u.last, u.n * p.xy, pc.f);
  b = vec4(pc.v.xy, u.m[1]);
  c = vec4(u.m[2][1], u.m[int(p.x) - 1][int(p.y) - 1], 0.0, 0.0);
}
