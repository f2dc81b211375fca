#version 100
#ifdef GL_ES
precision mediump float;
#endif
varying vec2 v_texCoord;
varying lowp vec4 v_color;
uniform sampler2D u_texture;
uniform float u_cutoff;

void main() {
    vec4 c = texture2D(u_texture, v_texCoord) * v_color;
    if (c.a < u_cutoff) discard;
    gl_FragColor = c;
}
