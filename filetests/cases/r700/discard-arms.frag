// A discard within a branch becomes one under both conditions, without a branch.
// test emit
// test run
// target r700
// not: JUMP
// not: PUSH
// check: KILLGT_INT
#version 330
in vec4 a;
out vec4 color;
void main() {
    float v = a.x;
    if (a.y > 0.5) {
        if (a.x > 2.0) discard;
        v += 1.0;
    } else if (a.z < 0.25) discard;
    color = vec4(v, a.yzw);
}
// run: {"a": [1, 0.75, 0, 4]} => {"color": [2, 0.75, 0, 4]}
// run: {"a": [3, 0.25, 0.5, 4]} => {"color": [3, 0.25, 0.5, 4]}
// run: {"a": [3, 1, 0, 4]} => {"discarded": true}
// run: {"a": [1, 0, 0, 4]} => {"discarded": true}
