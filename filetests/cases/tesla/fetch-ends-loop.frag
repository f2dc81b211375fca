// Who only helps its quad must read what ends its loop, though nothing else looks at neighbours: it would never leave.
// test emit
// target tesla
// check: texfetch all
// not: live
#version 450
layout(location = 0) in vec2 c;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
void main() {
    vec2 p = c;
    while (texelFetch(t, ivec2(p), 0).x < 0.5) p.y += 1.0;
    o = vec4(p, 0.0, 1.0);
}
