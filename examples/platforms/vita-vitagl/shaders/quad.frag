#version 100
precision mediump float;
uniform sampler2D picture;
uniform vec4 tint;
varying vec2 uv;

void main() {
    vec4 texel = texture2D(picture, uv);
    if (texel.a < 0.5) discard;
    gl_FragColor = texel * tint;
}
