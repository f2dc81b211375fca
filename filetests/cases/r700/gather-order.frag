// FETCH4 begins with the texel to the lower right, languages with the upper left one (so have it Mesa's driver and Cemu).
// test emit
// target r700
// check: EXPORT T0.YZXW
// check: TEX_FETCH4 T0.XYZW
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
void main() { o = textureGather(t, uv); }
