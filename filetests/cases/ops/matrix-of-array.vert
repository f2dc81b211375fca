// The index of a matrix is clamped once, as a whole; its shift and the scale of a register are one.
// test emit
// test run
// target tesla
// target usse
// target r700
// target pica
// check@tesla: min u32
// check@tesla: shl $$a1
// check@tesla: c0[$$a1+0x10]
// check@tesla: c0[$$a1+0x3c]
// not@tesla: shl
#version 450
layout(location = 0) in vec4 p;
layout(location = 1) in ivec4 bone;
layout(set = 0, binding = 0) uniform B { mat4 m[3]; };
void main() { gl_Position = m[bone.x] * p; }
// env: {"uniforms": {"m": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2], [3, 0, 0, 1], [0, 3, 0, 1], [0, 0, 3, 1], [0, 0, 0, 3]]}}
// run: {"p": [1, 2, 3, 4], "bone": [1, 9, 9, 9]} => {"position": [2, 4, 6, 8]}
// run: {"p": [1, 2, 3, 4], "bone": [2, 0, 0, 0]} => {"position": [3, 6, 9, 18]}
// run: {"p": [1, 2, 3, 4], "bone": [7, 0, 0, 0]} => {"position": [3, 6, 9, 18]}
