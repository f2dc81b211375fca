// Interpolation at the centroid has short forms, too.
// test run
// test emit
// target tesla
// check: interp $$r0 cent v[0x4] $$r5
// sameln: 0014 s
#version 450
layout(location = 0) in centroid vec4 a;
layout(location = 1) in sample vec2 b;
layout(location = 0) out vec4 o;
layout(location = 1) out vec4 p;
void main() {
    o = a;
    p = vec4(b, 0.0, 1.0);
}
// run: {"a": [1, 2, 3, 4], "b": [5, 6]} => {"o": [1, 2, 3, 4], "p": [5, 6, 0, 1]}
