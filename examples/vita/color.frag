// libvita2d's colour: the interpolated colour.
#version 450
layout(location = 10) in vec4 shade; // COLOR0
layout(location = 0) out vec4 colour;
void main() {
    colour = shade;
}
