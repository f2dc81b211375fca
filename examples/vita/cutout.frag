// Texture times vertex colour; nearly transparent pixels are dropped.
#version 450
layout(location = 0) in vec2 uv;
layout(location = 1) in vec4 shade;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform texture2D tex;
layout(binding = 1) uniform sampler tex_sampler;
void main() {
    vec4 c = texture(sampler2D(tex, tex_sampler), uv) * shade;
    if (c.a < 0.5) discard;
    colour = c;
}
