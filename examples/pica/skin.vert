#version 450
// Two bones for each vertex; each bone is three rows of a matrix.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 texcoord;
layout(location = 3) in vec2 bone;      // numbers of the bones
layout(location = 4) in vec2 weight;

layout(std140, binding = 0) uniform Scene {
    mat4 projection;
    vec4 lightDir;
    vec4 lightColor;
    vec4 ambient;
    vec4 palette[60];                   // 20 bones
};

layout(location = 2) out vec4 color;
layout(location = 3) out vec2 texcoord0;

vec3 pose(int b, vec4 v) {
    int row = b * 3;
    return vec3(dot(palette[row], v), dot(palette[row + 1], v), dot(palette[row + 2], v));
}

void main() {
    ivec2 b = ivec2(bone);
    vec3 p = pose(b.x, vec4(position, 1.0)) * weight.x + pose(b.y, vec4(position, 1.0)) * weight.y;
    vec3 n = normalize(pose(b.x, vec4(normal, 0.0)) * weight.x + pose(b.y, vec4(normal, 0.0)) * weight.y);
    color = vec4(ambient.rgb + lightColor.rgb * max(dot(n, lightDir.xyz), 0.0), 1.0);
    texcoord0 = texcoord;
    gl_Position = vec4(p, 1.0) * projection;
}
