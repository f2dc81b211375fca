// Values that the source calls mediump are halves where that is smaller; the rest stays as it is.
// test emit
// test run
// target usse
// check: color0 f16x4
// check: VF16
// check: texcoord0 f32x4
#version 310 es
precision highp float;
layout(location = 10) in mediump vec4 tint;
layout(location = 0) in vec4 exact;
layout(location = 0) out vec4 result;
layout(std140, binding = 0) uniform U { mediump vec4 k; };
void main() {
    mediump vec4 c = (tint * tint + tint) * tint;
    result = vec4(c.rgb, fract(exact.x * 4096.0));
}
// env: {"uniforms": {"k": [1, 1, 1, 1]}}
// run: {"tint": [0.5, 0.25, 0, 1], "exact": [0.25006103515625, 0, 0, 0]} => {"result": [0.375, 0.078125, 0, 0.25]}
