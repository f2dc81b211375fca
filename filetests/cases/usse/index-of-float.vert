// An array's index that comes from a float is clamped as a float and converted by one word; what is negative reads the last element.
// test emit
// test run
// target usse color=f32
// check: VPCKU16F32
// not: VFRC
// check: EMIT
#version 450
layout(location = 0) in vec2 at;
layout(std140, binding = 0) uniform B { vec4 place[4]; vec4 tint[8]; };
layout(location = 0) out vec4 colour;
void main() {
    gl_Position = place[int(at.x)];
    colour = tint[clamp(int(at.y), 2, 5)];
}
// env: {"uniforms": {"place": [[0, 0, 0, 1], [1, 0, 0, 1], [2, 0, 0, 1], [3, 0, 0, 1]], "tint": [[0, 1, 0, 0], [1, 1, 0, 0], [2, 1, 0, 0], [3, 1, 0, 0], [4, 1, 0, 0], [5, 1, 0, 0], [6, 1, 0, 0], [7, 1, 0, 0]]}}
// run: {"at": [2.75, 3.5]} => {"position": [2, 0, 0, 1], "colour": [3, 1, 0, 0]}
// run: {"at": [-0.75, 1]} => {"position": [0, 0, 0, 1], "colour": [2, 1, 0, 0]}
// run: {"at": [-1, 9]} => {"position": [3, 0, 0, 1], "colour": [5, 1, 0, 0]}
// run: {"at": [1e20, -1e20]} => {"position": [3, 0, 0, 1], "colour": [2, 1, 0, 0]}
