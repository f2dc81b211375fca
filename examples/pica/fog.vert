#version 330
// OpenGL as it is written on a PC: no locations, loose uniforms.
in vec4 position;
in vec4 color;
in vec2 texcoord;
uniform mat4 modelview;
uniform mat4 projection;
uniform vec4 fogColor;
uniform float fogDensity;
uniform vec2 scroll;
out vec4 v_color;
out vec2 v_texcoord0;
void main() {
    vec4 p = modelview * position;
    float f = exp(-fogDensity * length(p.xyz));
    v_color = mix(fogColor, color, clamp(f, 0.0, 1.0));
    v_texcoord0 = texcoord + scroll;
    gl_Position = projection * p;
}
