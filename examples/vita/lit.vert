// A lit and fogged object with two textures: the vertex half.
#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 texcoord;
layout(location = 0) out vec2 uv;
layout(location = 1) out vec4 light_fog; // rgb light, a fog
layout(std140, binding = 0) uniform Scene {
    mat4 clip;
    mat4 view;
    vec4 sun;     // direction to the sun in view space
    vec4 ambient;
    vec2 fog;     // end, 1 / (end - start)
};
void main() {
    vec4 p = vec4(position, 1.0);
    gl_Position = clip * p;
    vec4 seen = view * p;
    vec3 n = normalize(mat3(view) * normal);
    float lambert = max(dot(n, sun.xyz), 0.0);
    light_fog = vec4(ambient.rgb + vec3(lambert), clamp((fog.x - length(seen.xyz)) * fog.y, 0.0, 1.0));
    uv = texcoord;
}
