// The unit tells the level that a sample would take.
// test emit
// target r700
// check: TEX_GET_LOD
// not: LOG_IEEE
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
void main() {
    o = textureQueryLod(t, uv).xyxy;
}
