// Values that the source calls mediump are halves where that is smaller; the rest stays as it is.
// test emit
// test run
// target usse
// check: color0 f16x4
// check: texcoord0 f32x4
// check: VF16MAD2
// check: CMP.le.f32
#version 310 es
precision highp float;
layout(location = 10) in mediump vec4 tint;
layout(location = 0) in vec4 exact;
layout(location = 0) out vec4 result;
void main() {
    mediump vec4 c = (tint * tint + tint) * tint;
    if (fract(exact.x * 4096.0) > 0.5) discard;
    result = c;
}
// run: {"tint": [0.5, 0.25, 0, 1], "exact": [0.25006103515625, 0, 0, 0]} => {"result": [0.375, 0.078125, 0, 2]}
