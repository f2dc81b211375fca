// libvita2d's colour: coloured vertices under a matrix.
#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 vertex_colour;
layout(location = 10) out vec4 shade; // COLOR0
layout(std140, binding = 0) uniform View { mat4 wvp; };
void main() {
    gl_Position = wvp * vec4(position, 1.0);
    shade = vertex_colour;
}
