// Where nothing has a location the name says what is a colour and what is fog.
// test emit
// test run
// target usse
// check: outputs 0x0c001a00 0x00000040
#version 100
attribute vec4 place;
varying vec4 v_color;
varying float v_fog;
varying vec2 v_uv;
void main() {
    gl_Position = place;
    v_color = place.wzyx;
    v_fog = place.x;
    v_uv = place.zw;
}
// run: {"place": [1, 2, 3, 4]} => {"position": [1, 2, 3, 4], "v_color": [4, 3, 2, 1], "v_fog": 1, "v_uv": [3, 4]}
