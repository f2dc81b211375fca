// An iterated input and a texel that is there at the start share a descriptor, as in published programs.
// test emit
// target usse
// check: 1 of 1 inputs read textures
// check: color0
#version 450
layout(location = 0) in vec2 uv;
layout(location = 10) in vec4 tint;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform sampler2D image;
void main() { colour = texture(image, uv) * tint; }
