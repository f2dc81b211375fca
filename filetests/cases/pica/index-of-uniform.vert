// The clamp of a uniform's integer takes one copy: the limit is the other operand.
// test emit
// test run
// target pica
// check: mov r0.x, c4
// check: max r0.x, c95
// check: min r0.x, c95
// not: mov r0.y
#version 450
layout(location=0) in vec4 p;
uniform vec4 tint[4]; uniform int sel;
layout(location=2) out vec4 color;
void main(){ gl_Position = p; color = tint[sel]; }
// env: {"uniforms": {"tint": [1,1,1,1, 2,2,2,2, 3,3,3,3, 4,4,4,4], "sel": 2}}
// run: {"p": [0,0,0,1]} => {"position": [0,0,0,1], "color": [3, 3, 3, 3]}
