// The layer of a one-dimensional texture stands in Y and in Z.
// test emit
// target r700
// check: TEX_SAMPLE_LZ T$(=\d+).XYZW, T$(=\d+).X$(=(YY|ZZ|WW))0 RID:0 SID:0 CT:NUUU
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler1DArray t;
void main() {
    o = textureLod(t, uv, 0.0);
}
