#version 450
// Light from sky and ground, and a sun.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 texcoord;
uniform mat4 projection;
uniform mat4 modelView;
uniform vec3 up;
uniform vec3 sky;
uniform vec3 ground;
uniform vec3 sun;
uniform vec3 sunColour;
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    gl_Position = projection * (modelView * vec4(position, 1.0));
    vec3 n = normalize(mat3(modelView) * normal);
    vec3 colour = mix(ground, sky, dot(n, up) * 0.5 + 0.5) + max(dot(n, sun), 0.0) * sunColour;
    v_color = vec4(colour, 1.0);
    v_texcoord0 = texcoord;
}
