// The program ends where its code does: pixels that return come behind an arm that never does.
// test run
// test emit
// target usse
// target usse opt=0
// check: BR +0
// check: VPCKF16F32 pa0.xyzw
#version 450
layout(location = 0) in vec4 c;
layout(location = 0) out vec4 result;
float first() {
    if (c.x >= 0.0) return c.y;
    while (true) result = vec4(1.0);
}
void main() {
    result = vec4(first(), 0.5, 0.0, 1.0);
}
// run: {"c": [1, 2, 3, 0.25]} => {"result": [2, 0.5, 0, 1]}
