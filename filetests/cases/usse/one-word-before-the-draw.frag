// Work on uniforms alone is done once before the draw, even if it is a single word: the program is no larger for it.
// test emit
// test run
// target usse relaxed=on
// check: .secondary
// nextln: VPCKF16F32
// check: .primary
// not: VPCKF16F32
// check: VF16MUL
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 result;
layout(binding = 0) uniform sampler2D image;
layout(std140, binding = 1) uniform B { vec4 tint; };
void main() {
    result = texture(image, uv) * tint;
}
// env: {"textures": {"image": {"size": [1, 1], "texels": [[0.5, 0.25, 1, 0.75]]}}, "uniforms": {"tint": [1, 0.5, 0.25, 1]}}
// run: {"uv": [0.5, 0.5]} => {"result": [0.5, 0.125, 0.25, 0.75]}
