#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(std140, binding = 0) uniform Scene {
    mat4 mvp;
    mat4 model;
};
layout(location = 0) out vec3 toSurface;
layout(location = 1) out vec3 worldNormal;

void main() {
    gl_Position = mvp * vec4(position, 1.0);
    toSurface = position;
    worldNormal = mat3(model) * normal;
}
