// Texture reads that do not depend on each other are made one behind the other: one wait serves them all.
// test emit
// test run
// target usse color=f32
// check: SMP2d
// check: SMP2d
// check: SMP2d
// check: WDF drc0
// not: WDF drc0
// check: VMAX
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 result;
layout(binding = 0) uniform sampler2D image;
layout(std140, binding = 1) uniform B { vec2 step; };
void main() {
    vec4 sum = texture(image, uv + step) * 0.5;
    sum += texture(image, uv - step) * 0.25;
    sum = max(sum, texture(image, uv + step.yx));
    result = sum;
}
// env: {"textures": {"image": {"size": [1, 1], "texels": [[0.5, 0.25, 1, 0.75]]}}, "uniforms": {"step": [0.25, 0]}}
// run: {"uv": [0.5, 0.5]} => {"result": [0.5, 0.25, 1, 0.75]}
