// Texels of one lane come into the channels in which a sum of squares reads them: one group, and no move.
// test emit
// target r700
// check: TEX_SAMPLE T$(=\d+).X___
// check: TEX_SAMPLE T$(=\d+)._X__
// check: TEX_SAMPLE T$(=\d+).__X_
// check: TEX_SAMPLE T$(=\d+).___X
// not: MOV
// check: DOT4_IEEE
// not: MULADD
#version 450
layout(location = 0) in vec4 uv;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D height;
void main() {
    vec4 h = vec4(texture(height, uv.xy).x, texture(height, uv.zw).x, texture(height, uv.xw).x, texture(height, uv.zy).x);
    o = vec4(dot(h, h));
}
