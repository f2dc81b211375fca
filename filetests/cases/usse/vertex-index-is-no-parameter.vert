// test emit
// target usse
// Attributes declare four components; the vertex index is a flag and a register, no parameter.
// check: # parameter attribute p f32x4[1] semantic ATTR0 container 0 resource 0
// check: indices pa4 pa0
#version 450
layout(location = 0) in vec2 p;
void main() { gl_Position = vec4(p * float(gl_VertexIndex), 0.0, 1.0); }
