// Short arms of conditions stand under the predicate that was tested: no branch leads around them, and what lives in internal registers
// within an arm is protected by the test before it.
// test emit
// test run
// target usse color=f32
// check: CMP.equal.i32 p0
// nextln: p0 VMUL
// check: p0 BR
// check: CMP.equal.i32 p0
// nextln: p0 VADD i0.xyz
// not: BR
// check: !p0 VMUL
// not: BR
#version 450
layout(location = 0) in vec4 c;
layout(std140, binding = 0) uniform B { int mode; vec4 fill; vec4 other; };
layout(location = 0) out vec4 result;
void main() {
    vec4 s = c;
    if (mode == 0) s = s * fill;
    else if (mode == 1) s = vec4(mix(fill.rgb, s.rgb, s.a), fill.a);
    else s = vec4(s.rgb * other.rgb, s.a * fill.a);
    result = s;
}
// env: {"uniforms": {"mode": 0, "fill": [2, 4, 8, 0.5], "other": [3, 5, 7, 9]}}
// run: {"c": [1, 2, 3, 0.25]} => {"result": [2, 8, 24, 0.125]}
// env: {"uniforms": {"mode": 1, "fill": [2, 4, 8, 0.5], "other": [3, 5, 7, 9]}}
// run: {"c": [1, 2, 3, 0.25]} => {"result": [1.75, 3.5, 6.75, 0.5]}
// env: {"uniforms": {"mode": 2, "fill": [2, 4, 8, 0.5], "other": [3, 5, 7, 9]}}
// run: {"c": [1, 2, 3, 0.25]} => {"result": [3, 10, 21, 0.125]}
