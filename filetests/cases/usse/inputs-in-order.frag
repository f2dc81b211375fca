// Inputs stand as in published programs: colours, of four components in any case, then texture coordinates in ascending order, then fog.
// test emit
// test run
// target usse color=f32
// check: color0 f32x4 in pa0
// check: texcoord0 f32x2 in pa4
// check: texcoord2 f32x4 in pa6
// check: fog f32x1 in pa10
#version 450
layout(location = 12) in float fog;
layout(location = 2) in vec4 b;
layout(location = 0) in vec2 a;
layout(location = 10) in vec3 colour;
layout(location = 0) out vec4 result;
void main() {
    result = vec4(colour * fog, a.x + a.y) * b;
}
// run: {"fog": 0.5, "b": [1, 2, 4, 8], "a": [0.25, 0.5], "colour": [1, 2, 3]} => {"result": [0.5, 2, 6, 6]}
