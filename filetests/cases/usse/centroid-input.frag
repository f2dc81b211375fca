// Bit 4 of the descriptor asks for the centroid.
// test emit
// target usse
// check: # input 0x0ec0001f
#version 450
layout(location = 0) centroid in vec4 shade;
layout(location = 0) out vec4 result;
void main() { result = shade; }
