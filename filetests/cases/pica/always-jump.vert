// A loop whose rounds nobody knows jumps back on a constant boolean.
// test emit
// test run
// target pica
// check: .setb b14 true
// check: jmpc
// check: jmpu b14
#version 450
layout(location = 0) in vec4 a;
layout(location = 2) out vec4 color;
void main() {
    float s = a.x, n = 0.0;
    while (s < a.y) { if (s < 0.0) s += 0.5; s += 1.0; n += 1.0; }
    color = vec4(s, n, 0.0, 0.0);
    gl_Position = a;
}
// run: {"a": [0, 10.5, 0, 0]} => {"color": [11, 11, 0, 0], "position": [0, 10.5, 0, 0]}
// run: {"a": [3, 1, 0, 0]} => {"color": [3, 0, 0, 0], "position": [3, 1, 0, 0]}
// run: {"a": [-3, 1, 0, 0]} => {"color": [1, 3, 0, 0], "position": [-3, 1, 0, 0]}
