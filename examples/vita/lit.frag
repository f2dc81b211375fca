// A lit and fogged object with two textures: the fragment half.
#version 450
layout(location = 0) in vec2 uv;
layout(location = 1) in vec4 light_fog;
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform texture2D base;
layout(binding = 1) uniform sampler base_sampler;
layout(binding = 2) uniform texture2D detail;
layout(binding = 3) uniform sampler detail_sampler;
layout(std140, binding = 4) uniform Fog { vec4 fog_colour; };
void main() {
    vec4 a = texture(sampler2D(base, base_sampler), uv);
    vec4 b = texture(sampler2D(detail, detail_sampler), uv * 8.0);
    vec3 lit = a.rgb * b.rgb * light_fog.rgb;
    colour = vec4(mix(fog_colour.rgb, lit, light_fog.a), a.a);
}
