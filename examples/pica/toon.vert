#version 450
// Bands of light through a ramp texture, the rim in a second one.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(std140, binding = 0) uniform Scene {
    mat4 projection;
    mat4 modelview;
    vec4 lightDir;
    vec4 rimColor;
    vec4 params;                        // bands, rim power
};
layout(location = 2) out vec4 color;
layout(location = 3) out vec2 ramp;
void main() {
    vec4 p = vec4(position, 1.0) * modelview;
    vec3 n = normalize((vec4(normal, 0.0) * modelview).xyz);
    vec3 e = normalize(-p.xyz);
    float light = clamp(dot(n, lightDir.xyz) * 0.5 + 0.5, 0.0, 1.0);
    float band = floor(light * params.x) / params.x;
    float rim = pow(1.0 - max(dot(n, e), 0.0), params.y);
    color = vec4(rimColor.rgb * rim, 1.0);
    ramp = vec2(band, 0.5);
    gl_Position = p * projection;
}
