// Chips before GT215 take no sample mask: the depth stands right behind the colours.
// test emit
// target tesla
// check: 0014 s
// nextln: exit mov b32 $$r0 $$r4
// not: 0x3
#version 450
layout(location = 0) out vec4 o;
layout(location = 0) in vec4 c;
void main() {
    o = c;
    gl_SampleMask[0] = 3;
    gl_FragDepth = c.x;
}
