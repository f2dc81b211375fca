// The negative of a sum goes out without a move: its operands take the signs.
// test compile
// target r700
// check: MULADD_IEEE
// not: MOV
#version 450
layout(location = 0) in vec4 p;
layout(location = 0) out vec4 v;
layout(binding = 0) uniform U { mat4 m; };
void main() {
    gl_Position = p;
    v = m * p;
    v.y = -v.y;
}
