#version 100
// As a program for OpenGL ES 2 has it.
attribute vec2 position;
attribute vec2 texcoord;
uniform mat4 mvp;
varying vec2 uv;

void main() {
    gl_Position = mvp * vec4(position, 0.0, 1.0);
    uv = texcoord;
}
