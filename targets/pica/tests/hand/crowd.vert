#version 450
// Two bones a vertex, tinted and lit.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 bones;
layout(location = 3) in vec2 weights;
layout(location = 4) in vec4 colour;
uniform mat4 projection;
uniform mat4x3 palette[26];
uniform vec4 sun;     // direction, ambient part
uniform vec4 team;
layout(location = 2) out vec4 v_color;
void main() {
    mat4x3 a = palette[int(bones.x)];
    mat4x3 b = palette[int(bones.y)];
    vec3 p = a * vec4(position, 1.0) * weights.x + b * vec4(position, 1.0) * weights.y;
    vec3 n = mat3(a) * normal * weights.x + mat3(b) * normal * weights.y;
    gl_Position = projection * vec4(p, 1.0);
    float light = sun.w + max(dot(n, sun.xyz), 0.0);
    v_color = vec4(colour.rgb * team.rgb * light, colour.a);
}
