// A constant array that is read at computed places lies in constant registers; outside of it everything is zero.
// test emit
// test run
// target pica
// check: mova a0
// check: [a0
// check: end
// not: jmpc
#version 450
layout(location = 0) in vec4 a;
layout(location = 2) out vec4 color;
const vec2 corner[12] = vec2[12](vec2(0, 1), vec2(2, 3), vec2(4, 5), vec2(6, 7), vec2(8, 9), vec2(10, 11),
                                 vec2(0.5, 1), vec2(2, 3.5), vec2(4, 5.5), vec2(6.5, 7), vec2(8, 9.5), vec2(10, 11.5));
const float weight[12] = float[12](1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
void main() {
    color = vec4(corner[gl_VertexIndex], weight[gl_VertexIndex], weight[int(a.x)]);
    gl_Position = a;
}
// run: {"vertex_index": 0, "a": [11, 0, 0, 1]} => {"color": [0, 1, 1, 12], "position": [11, 0, 0, 1]}
// run: {"vertex_index": 11, "a": [3.5, 0, 0, 1]} => {"color": [10, 11.5, 12, 4], "position": [3.5, 0, 0, 1]}
// run: {"vertex_index": 12, "a": [-0.5, 0, 0, 1]} => {"color": [0, 0, 0, 1], "position": [-0.5, 0, 0, 1]}
// run: {"vertex_index": 60000, "a": [-1, 0, 0, 1]} => {"color": [0, 0, 0, 0], "position": [-1, 0, 0, 1]}
// run: {"vertex_index": 5, "a": [1e9, 0, 0, 1]} => {"color": [10, 11, 6, 0], "position": [1e9, 0, 0, 1]}
