// An integer leaves a vertex program as two floats, its low and its high half.
// test emit
// test run
// target usse
// check: outputs 0x08001000 0x00000007
// check: VPCKF32U16
#version 450
layout(location = 0) in vec4 place;
layout(location = 1) in ivec2 id;
layout(location = 0) flat out ivec2 material;
void main() {
    gl_Position = place;
    material = id;
}
// run: {"place": [0, 0, 0, 1], "id": [0, -1]} => {"material": [0, -1]}
// run: {"place": [0, 0, 0, 1], "id": [65536, 2147483647]} => {"material": [65536, 2147483647]}
// run: {"place": [0, 0, 0, 1], "id": [-2147483648, 305419896]} => {"material": [-2147483648, 305419896]}
