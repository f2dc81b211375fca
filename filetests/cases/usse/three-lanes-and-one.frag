// Three lanes of one vector and one of another are two words, not three.
// test emit
// test run
// target usse
// check: VMUL i0.xyz 
// nextln: VMUL i0.---w
// nextln: VPCKF16F32
#version 450
layout(location = 0) in vec4 c;
layout(location = 1) in vec4 d;
layout(std140, binding = 0) uniform B { vec4 fill; };
layout(location = 0) out vec4 result;
void main() {
    result = vec4(c.yzw, d.w) * fill;
}
// env: {"uniforms": {"fill": [2, 4, 8, 0.5]}}
// run: {"c": [9, 1, 2, 3], "d": [0, 0, 0, 4]} => {"result": [2, 8, 24, 2]}
