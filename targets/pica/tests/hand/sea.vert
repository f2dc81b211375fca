#version 450
// Two crossing waves on a flat mesh, as a ripple of the height and of the texture.
layout(location = 0) in vec2 grid;
uniform mat4 projection;
uniform mat4 modelView;
uniform vec4 wave;   // frequencies, phases
uniform vec2 height; // of each
uniform vec4 deep;
uniform vec4 foam;
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    float a = sin(grid.x * wave.x + wave.z);
    float b = sin(grid.y * wave.y + wave.w);
    float h = a * height.x + b * height.y;
    gl_Position = projection * (modelView * vec4(grid.x, h, grid.y, 1.0));
    v_color = mix(deep, foam, clamp(h, 0.0, 1.0));
    v_texcoord0 = grid * 0.125 + vec2(a, b) * 0.01;
}
