// A read whose coordinates come from another read waits for it.
// test emit
// test run
// target usse color=f32
// check: SMP2d
// check: WDF
// check: SMP2d
// check: WDF
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 result;
layout(binding = 0) uniform sampler2D image;
layout(binding = 1) uniform sampler2D noise;
void main() {
    vec2 at = texture(noise, uv * 2.0).xy;
    result = texture(image, at + uv);
}
// env: {"textures": {"image": {"size": [1, 1], "texels": [[0.5, 0.25, 1, 0.75]]}, "noise": {"size": [1, 1], "texels": [[0.5, 0.25, 1, 0.75]]}}}
// run: {"uv": [0.5, 0.5]} => {"result": [0.5, 0.25, 1, 0.75]}
