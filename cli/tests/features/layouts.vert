// std140: arrays and structures of structures are padded; matrices of two rows take 16 bytes a column.
// @bind { "uniforms": { "u.f": [1,2,3], "u.s.v": [4,5,6], "u.s.w": 7, "u.s.in_[0].a": 8, "u.s.in_[1].a": 9, "u.s.in_[0].b": [10,11], "u.s.in_[1].b": [12,13],
//     "u.m2": [[14,15],[16,17]], "u.m32": [[18,19],[20,21],[22,23]], "u.r": [[1,2,3],[4,5,6]], "u.last": 24, "u.k": 1 },
//   "invocations": [ { "inputs": { "p": [1,2,3,4] } } ] }
// @expect { "invocations": [ { "outputs": { "position": [2,4,5,6], "a": [7,9,12,13], "b": [46,49,124,130], "c": [14,20,26,24] } } ] }
#version 450
struct In { float a; vec2 b; };
struct S { vec3 v; float w; In in_[2]; };
layout(location = 0) in vec4 p;
layout(std140, binding = 0) uniform U { float f[3]; S s; mat2 m2; mat3x2 m32; mat2x3 r; float last; int k; } u;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
layout(location = 2) out vec4 c;
void main() {
  gl_Position = vec4(u.f[u.k], u.s.v);
  a = vec4(u.s.w, u.s.in_[u.k].a, u.s.in_[u.k].b);
  b = vec4(u.m2 * p.xy, u.m32 * p.xyz);
  c = vec4(p.xy * mat2(1.0), 0.0, 0.0) * 0.0 + vec4(u.r * p.xy + vec3(5.0, 8.0, 11.0), u.last);
}
