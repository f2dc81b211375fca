// The number of layers of a one-dimensional texture is in Y (so have it Mesa's driver and its tests on a card).
// test emit
// target r700
// check: TEX_GET_TEXTURE_RESINFO T0.XY__
#version 450
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler1DArray t;
void main() { o = vec4(textureSize(t, 0), 0.0, 1.0); }
