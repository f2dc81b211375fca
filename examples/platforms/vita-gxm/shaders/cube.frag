#version 450
// A lattice: what is between its bars is dropped.
layout(location = 0) in vec3 surface;
layout(location = 1) in vec3 worldNormal;
layout(location = 0) out vec4 color;
layout(std140, binding = 0) uniform Light {
    vec4 direction;
    vec4 tint;
};

void main() {
    vec3 bars = abs(fract(surface * 2.0) - 0.5);
    if (max(max(min(bars.x, bars.y), min(bars.y, bars.z)), min(bars.x, bars.z)) < 0.22) discard;
    float diffuse = abs(dot(normalize(worldNormal), direction.xyz));
    color = vec4(tint.rgb * (0.25 + 0.75 * diffuse), 1.0);
}
