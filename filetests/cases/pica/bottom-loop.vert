// A loop that is tested at its end counts, too: its range is that of its test.
// test emit
// test run
// target pica
// check: for i3
// nextln: mad
// nextln: .end
// not: jmp
#version 450
layout(location = 0) in vec4 a;
layout(location = 2) out vec4 color;
void main() {
    float s = 1.0;
    int k = 0;
    do { s = s * a.x + a.y; k++; } while (k < 100);
    color = vec4(s);
    gl_Position = a;
}
// run: {"a": [1, 2, 0, 0]} => {"color": [201, 201, 201, 201], "position": [1, 2, 0, 0]}
// run: {"a": [0, 5, 0, 0]} => {"color": [5, 5, 5, 5], "position": [0, 5, 0, 0]}
