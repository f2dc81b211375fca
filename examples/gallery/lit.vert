#version 450
// Transforms a mesh and hands on its normal and texture coordinate.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 uv;
layout(location = 0) out vec3 worldNormal;
layout(location = 1) out vec2 place;

layout(std140, binding = 0) uniform Camera {
    mat4 mvp;
    mat4 model;
};

void main() {
    worldNormal = mat3(model) * normal;
    place = uv;
    gl_Position = mvp * vec4(position, 1.0);
}
