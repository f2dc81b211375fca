// A vector of truth values lies in one float register.
// test run
// target pica
#version 450
layout(location=0) in vec4 p;
layout(std140,binding=0) uniform U { bvec2 b; };
void main(){ gl_Position = b.x ? p : -p; }
// env: {"uniforms": {"b": [1, 0]}}
// run: {"p": [1, 2, 3, 4]} => {"position": [1, 2, 3, 4]}
// env: {"uniforms": {"b": [0, 1]}}
// run: {"p": [1, 2, 3, 4]} => {"position": [-1, -2, -3, -4]}
