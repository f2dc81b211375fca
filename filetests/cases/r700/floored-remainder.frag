// GLSL's % by a number that is no constant: one signed product, no magnitudes. That of the remainder and one divisor more takes no product.
// test emit
// test run
// target r700
// check: RECIP_UINT
// check: MULLO_INT
// check: MULLO_INT
// not: MULLO_INT
#version 450
layout(location = 0) flat in ivec2 a;
layout(location = 0) out vec4 o;
void main() {
    int once = a.x % a.y;
    o = vec4(once, (once + a.y) % a.y, 0.0, 1.0);
}
// run: {"a": [7, 3]} => {"o": [1, 1, 0, 1]}
// run: {"a": [-7, 3]} => {"o": [2, 2, 0, 1]}
// run: {"a": [7, -3]} => {"o": [-2, -2, 0, 1]}
// run: {"a": [-7, -3]} => {"o": [-1, -1, 0, 1]}
// run: {"a": [-7, 1]} => {"o": [0, 0, 0, 1]}
// run: {"a": [9, -3]} => {"o": [0, 0, 0, 1]}
