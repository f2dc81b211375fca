// A vector of which some lanes are multiplied and the others stay is one product with 1 in those lanes.
// test emit
// test run
// target usse
// check: VMUL i0.xyzw pa2.yyy1 pa0.xyzw
// nextln: VMUL i0.xyzw i0.xyzw sa0.xyzw
// nextln: VPCKF16F32 pa0.xyzw i0.xyzw
#version 450
layout(location = 0) in vec4 c;
layout(std140, binding = 0) uniform B { vec4 fill; };
layout(location = 0) out vec4 result;
void main() {
    result = vec4(c.rgb * c.a, c.a) * fill;
}
// env: {"uniforms": {"fill": [2, 4, 8, 0.5]}}
// run: {"c": [1, 2, 3, 0.25]} => {"result": [0.5, 2, 6, 0.125]}
