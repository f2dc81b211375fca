// Who takes differences of a texel needs it from all pixels of the quad, and so does who looks a texel up by another one in the next round.
// test emit
// target tesla
// check: texauto all $(=\S+):#:#:# 
// check: texauto all
// not: live
#version 450
layout(location = 0) in vec2 c;
layout(location = 1) flat in int n;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
layout(binding = 1) uniform sampler2D u;
void main() {
    float h = texture(t, c).x;
    o = vec4(dFdx(h), dFdy(h), h, 1.0);
    vec2 p = c;
    for (int i = 0; i < n; i++) p = texture(u, p).xy;
    o.zw += p;
}
