#version 450
// Stripes by the surface's own place, light by its normal.
layout(location = 0) in vec3 toSurface;
layout(location = 1) in vec3 worldNormal;
layout(location = 0) out vec4 color;
layout(std140, binding = 1) uniform Light {
    vec4 direction;
    vec4 tint;
};

void main() {
    float diffuse = max(dot(normalize(worldNormal), direction.xyz), 0.0);
    float stripe = step(0.5, fract((toSurface.x + toSurface.y + toSurface.z) * 2.0));
    color = vec4(mix(tint.rgb, vec3(1.0), 0.6 * stripe) * (0.2 + 0.8 * diffuse), 1.0);
}
