// The number of layers of a one-dimensional texture is the second result (so have it Mesa's driver).
// test emit
// target tesla
// check: texsize live $(=\S+):#:# 
#version 450
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler1DArray t;
void main() { o = vec4(textureSize(t, 0), 0.0, 1.0); }
