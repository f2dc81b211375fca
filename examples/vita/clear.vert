// libvita2d's clear: a full-screen triangle strip as it comes.
#version 450
layout(location = 0) in vec2 position;
void main() {
    gl_Position = vec4(position, 1.0, 1.0);
}
