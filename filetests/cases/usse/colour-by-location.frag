// Locations 10, 11 and 12 are COLOR0, COLOR1 and FOG: the program pairs with published ones.
// test emit
// test run
// target usse
// check: color0 f32x4
// check: color1 f32x4
// check: fog f32x1
#version 450
layout(location = 10) in vec4 tint;
layout(location = 11) in vec4 shine;
layout(location = 12) in float haze;
layout(location = 0) out vec4 result;
void main() { result = (tint + shine) * haze; }
// run: {"tint": [0.5, 0.25, 0, 1], "shine": [0.5, 0, 0, 0], "haze": 0.5} => {"result": [0.5, 0.125, 0, 0.5]}
