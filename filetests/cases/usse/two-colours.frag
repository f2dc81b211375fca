// Two names for one thing of the machine.
// test compile(expect-fail)
// target usse
#version 100
precision mediump float;
varying vec4 v_color;
varying vec4 v_tint; // error: U0100 `v_color` and `v_tint` are both colour 0: give them locations
void main() { gl_FragColor = v_color + v_tint; }
