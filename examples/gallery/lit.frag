#version 450
// A texture under a directional light with a highlight.
layout(location = 0) in vec3 worldNormal;
layout(location = 1) in vec2 place;
layout(location = 0) out vec4 color;
layout(binding = 1) uniform texture2D surface;
layout(binding = 2) uniform sampler smooth_repeat;

void main() {
    vec3 n = normalize(worldNormal);
    vec3 light = normalize(vec3(0.4, 0.7, 0.6));
    float diffuse = max(dot(n, light), 0.0);
    float highlight = pow(max(dot(n, normalize(light + vec3(0.0, 0.0, 1.0))), 0.0), 24.0);
    vec3 base = texture(sampler2D(surface, smooth_repeat), place * 2.0).rgb;
    color = vec4(base * (0.2 + 0.8 * diffuse) + 0.4 * highlight, 1.0);
}
