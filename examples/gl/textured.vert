#version 100
// A vertex shader as OpenGL ES 2 programs have it: loose uniforms, attributes, varyings.
attribute vec4 a_position;
attribute vec2 a_texCoord;
attribute vec3 a_normal;
uniform mat4 u_mvp;
uniform mat3 u_normalMatrix;
uniform vec3 u_light;
varying vec2 v_texCoord;
varying lowp vec4 v_color;

void main() {
    gl_Position = u_mvp * a_position;
    v_texCoord = a_texCoord;
    vec3 n = normalize(u_normalMatrix * a_normal);
    v_color = vec4(vec3(max(dot(n, u_light), 0.1)), 1.0);
}
