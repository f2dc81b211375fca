// libvita2d's texture: textured vertices under a matrix.
#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in vec2 texcoord;
layout(location = 0) out vec2 uv;
layout(std140, binding = 0) uniform View { mat4 wvp; };
void main() {
    gl_Position = wvp * vec4(position, 1.0);
    uv = texcoord;
}
