#version 450
// Four bones a vertex: the matrices are blended, then one transforms.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 texcoord;
layout(location = 3) in vec4 bones;
layout(location = 4) in vec4 weights;
uniform mat4 projection;
uniform mat4x3 palette[24];
uniform vec3 sun;
uniform vec3 light;
uniform vec3 ambient;
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    mat4x3 m = palette[int(bones.x)] * weights.x + palette[int(bones.y)] * weights.y
             + palette[int(bones.z)] * weights.z + palette[int(bones.w)] * weights.w;
    vec3 p = m * vec4(position, 1.0);
    vec3 n = normalize(m * vec4(normal, 0.0));
    gl_Position = projection * vec4(p, 1.0);
    v_color = vec4(ambient + light * max(dot(n, sun), 0.0), 1.0);
    v_texcoord0 = texcoord;
}
