// The outputs stand in the machine's order, whatever the source's: position, colours, fog, texture coordinates.
// test emit
// test run
// target usse
// check: outputs 0x0c001a00 0x00000001
#version 450
layout(location = 0) in vec4 place;
layout(location = 0) out vec2 uv;
layout(location = 12) out float haze;
layout(location = 10) out vec4 tint;
void main() {
    gl_Position = place;
    uv = place.xy * 2.0;
    haze = place.z;
    tint = place.wzyx;
}
// run: {"place": [1, 2, 3, 4]} => {"position": [1, 2, 3, 4], "uv": [2, 4], "haze": 3, "tint": [4, 3, 2, 1]}
