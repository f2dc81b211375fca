// A constant that a sum ends with is loaded with the third component of the position: the sum starts with it, and each product is one
// instruction.
// test emit
// test run
// target pica
// check: mov r0.xz, c95.xxy
// nextln: mad r0.xy, v0, c4.zw, r0.x
// nextln: mad r0.xy, v1, c5, r0
// nextln: add r0.xy, c4, r0
// nextln: flr r0.xy, r0
// nextln: dp3 o0.x, c0.xyw, r0
#version 450
layout(location = 0) in vec2 anchor;
layout(location = 1) in vec2 inset;
uniform mat4 projection;
uniform vec4 rect;
uniform vec2 border;
void main() {
    vec2 p = rect.xy + anchor * rect.zw + inset * border;
    gl_Position = projection * vec4(floor(p + 0.5), 0.0, 1.0);
}
// env: {"uniforms": {"projection": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], "rect": [10, 20, 4, 8], "border": [2, 3]}}
// run: {"anchor": [1, 0], "inset": [-1, 1]} => {"position": [12, 23, 0, 1]}
