// Nor must a loop that is left in its last round.
// test run
// target tesla
// target r700
// target usse
#version 450
layout(location = 0) in vec4 v;
layout(location = 0) out vec4 o;
void main() {
    vec4 sum = v;
    for (int i = 0; i < 4; i++) {
        if (!(sum.x >= v.x)) for (;;) {}
        if (sum.y > 5.0 && v.z > 0.0) { o = sum; return; }
        sum += v;
    }
    o = -sum;
}
// run: {"v": [1, 2, 3, 4]} => {"o": [3, 6, 9, 12]}
// run: {"v": [1, 1, 1, 1]} => {"o": [-5, -5, -5, -5]}
