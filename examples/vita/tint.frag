// libvita2d's tinted texture: the texel times one colour.
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform texture2D tex;
layout(binding = 1) uniform sampler tex_sampler;
layout(std140, binding = 2) uniform Tint { vec4 tint; };
void main() {
    colour = texture(sampler2D(tex, tex_sampler), uv) * tint;
}
