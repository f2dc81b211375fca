// A blend is a difference and a product with a sum, where nothing is copied for it.
// test emit
// test run
// target pica
// check: mul r0, v1, v1
// check: mad r1, v2, v2, -r0
// check: mad o1, r1, c0.x, r0
// check: mov o0, v0
#version 450
layout(location=0) in vec4 p; layout(location=1) in vec4 a; layout(location=2) in vec4 b;
layout(std140,binding=0) uniform U { float f; };
layout(location=2) out vec4 color;
void main(){ gl_Position = p; color = mix(a * a, b * b, f); }
// env: {"uniforms": {"f": 0.25}}
// run: {"p": [0,0,0,1], "a": [1, 2, 3, 4], "b": [3, 2, 1, 0]} => {"position": [0,0,0,1], "color": [3, 4, 7, 12]}
