// Who only helps its quad must read a texel that comes to a coordinate through an array.
// test emit
// target tesla
// check: texauto all
// check: ld b32
// check: texauto all
// not: live
#version 450
layout(location = 0) in vec4 c;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
void main() {
    float x[24];
    for (int n = 0; n < 24; n++) x[n] = c.x * float(n);
    x[int(c.z)] = texture(t, c.xy).x;
    o = texture(t, vec2(x[int(c.w)], c.y));
}
