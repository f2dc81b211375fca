// Two texels of which nothing else depends are wanted for the pixels that are drawn only.
// test emit
// target tesla
// check: texauto live
// check: texauto live
// not: texauto all
#version 450
layout(location = 0) in vec2 c;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
layout(binding = 1) uniform sampler2D u;
void main() { o = texture(t, c) * texture(u, c.yx); }
