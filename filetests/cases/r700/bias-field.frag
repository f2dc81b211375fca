// A constant bias in sixteenths of a level needs no register; another one does.
// test emit
// target r700
// unordered: TEX_SAMPLE_LB T$(=\d+).XYZW, T$(=\d+).$(=[XYZW])$(=[XYZW])00 RID:0 SID:0 CT:NNUU {LOD_BIAS=24}
// unordered: TEX_SAMPLE_LB T$(=\d+).XYZW, T$(=\d+).$(=[XYZW])$(=[XYZW])00 RID:0 SID:0 CT:NNUU {LOD_BIAS=120}
// unordered: TEX_SAMPLE_LB T$(=\d+).XYZW, T$(=\d+).$(=[XYZW])$(=[XYZW])0$(=[XYZW]) RID:0 SID:0 CT:NNUU
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
void main() {
    o = texture(t, uv, 1.5) * texture(t, uv.yx, -0.5) + texture(t, uv, 0.1);
}
