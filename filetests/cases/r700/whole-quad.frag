// A texel that becomes the coordinates of a sample with implicit level is fetched for the quad's other lanes, too.
// test disasm
// target r700
// check: TEX_SAMPLE
// check: FETCH_WHOLE_QUAD=1
// check: TEX_SAMPLE
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D height;
layout(binding = 1) uniform sampler2D colour;
void main() {
    o = texture(colour, uv + texture(height, uv).xy);
}
