// As `endless-arm.frag`, before the word that emits the vertex.
// test run
// target usse
// target usse opt=0
// target tesla
// target tesla opt=0
// target r700
// target r700 opt=0
// target pica
// target pica opt=0
#version 450
layout(location = 0) in vec4 c;
layout(location = 0) out vec4 result;
void main() {
    if (c.x < 0.0) {
        for (;;) {}
    }
    result = c.wzyx;
    gl_Position = c;
}
// run: {"c": [1, 2, 3, 0.25]} => {"result": [0.25, 3, 2, 1], "position": [1, 2, 3, 0.25]}
