// libvita2d's texture: the texel.
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform texture2D tex;
layout(binding = 1) uniform sampler tex_sampler;
void main() {
    colour = texture(sampler2D(tex, tex_sampler), uv);
}
