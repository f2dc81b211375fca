// A product far beyond what a float holds, and something that brings it back: still what the integers say, or beyond the array.
// test run
// target pica
#version 450
layout(location=0) in vec4 p; layout(location=1) in ivec3 b;
layout(std140,binding=0) uniform U { vec4 k[4]; };
layout(location=2) out vec4 color;
void main(){ gl_Position = p; color = k[b.x * b.y + b.z]; }
// env: {"uniforms": {"k": [1,1,1,1, 2,2,2,2, 3,3,3,3, 4,4,4,4]}}
// run: {"p": [0,0,0,1], "b": [181, 181, -32760]} => {"position": [0,0,0,1], "color": [2, 2, 2, 2]}
// run: {"p": [0,0,0,1], "b": [30000, 30001, -32768]} => {"position": [0,0,0,1], "color": [4, 4, 4, 4]}
// run: {"p": [0,0,0,1], "b": [-30000, 30001, 32767]} => {"position": [0,0,0,1], "color": [1, 1, 1, 1]}
// run: {"p": [0,0,0,1], "b": [5957, 11, -32768]} => {"position": [0,0,0,1], "color": [4, 4, 4, 4]}
