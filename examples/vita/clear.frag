// libvita2d's clear: one colour for every pixel.
#version 450
layout(location = 0) out vec4 colour;
layout(std140, binding = 0) uniform Clear { vec4 clear_colour; };
void main() {
    colour = clear_colour;
}
