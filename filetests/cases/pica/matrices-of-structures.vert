// Matrices row by row in structures whose size is no multiple of theirs: a constant index finds the matrix, then the column.
// test run
// target pica
#version 450
layout(location = 0) in vec3 p;
struct S { mat3 m[3]; vec2 k; };
layout(std140, set = 0, binding = 0) uniform U { S s[2]; };
void main() { gl_Position = vec4(s[1].m[0] * p, s[1].m[2][1][2]); }
// env: {"uniforms": {"s[0].m": [[9, 9, 9], [9, 9, 9], [9, 9, 9], [9, 9, 9], [9, 9, 9], [9, 9, 9], [9, 9, 9], [9, 9, 9], [9, 9, 9]], "s[1].m": [[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 0, 0], [0, 0, 0], [0, 0, 0], [10, 11, 12], [13, 14, 15], [16, 17, 18]], "s[0].k": [1, 2], "s[1].k": [3, 4]}}
// run: {"p": [1, 0, 0]} => {"position": [1, 2, 3, 15]}
// run: {"p": [0, 1, 0]} => {"position": [4, 5, 6, 15]}
// run: {"p": [1, 1, 2]} => {"position": [19, 23, 27, 15]}
