// A blend is a difference and a multiply-add; its result is computed over the texel, whose alpha is read by every word.
// test emit
// test run
// target usse
// not: c1
// check: VADD
// check: VMAD2
// not: VMOV
#version 450
layout(location = 0) in vec4 seen;
layout(location = 0) out vec4 colour;
layout(std140, binding = 0) uniform U { vec4 fill; };
void main() {
    colour = vec4(mix(fill.rgb, seen.rgb, seen.a), fill.a);
}
// env: {"uniforms": {"fill": [4, 8, 16, 0.5]}}
// run: {"seen": [8, 16, 32, 0.25]} => {"colour": [5, 10, 20, 0.5]}
