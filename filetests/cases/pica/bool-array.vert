// An array of truth values lies in float registers.
// test run
// target pica
#version 450
layout(location=0) in vec4 p;
layout(std140,binding=0) uniform U { bool b[4]; };
void main(){ gl_Position = b[2] ? p : -p; }
// env: {"uniforms": {"b": [0, 0, 1, 0]}}
// run: {"p": [1, 2, 3, 4]} => {"position": [1, 2, 3, 4]}
// env: {"uniforms": {"b": [1, 1, 0, 1]}}
// run: {"p": [1, 2, 3, 4]} => {"position": [-1, -2, -3, -4]}
