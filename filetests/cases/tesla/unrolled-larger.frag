// The rounds of this loop have nothing in common: the copies would be a multiple of the loop, which is kept.
// test run
// test emit
// target tesla
// target tesla opt=s
// check: bra
#version 450
layout(location = 0) in vec4 c;
layout(location = 0) out vec4 o;
void main() {
    vec4 s = c;
    for (int i = 0; i < 12; i++) {
        vec4 a = s.yzwx * c + s;
        vec4 b = inversesqrt(a * a + vec4(1.0));
        s = a * b + s.wxyz * 0.25;
    }
    o = s;
}
// run: {"c": [0, 0, 0, 0]} => {"o": [0, 0, 0, 0]}
