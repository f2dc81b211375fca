// A counter that no round changes is no way out for who is discarded in front of the loop; one that goes down is.
// test interpret
// test run
// target tesla
// target r700
// target usse
#version 450
layout(location = 0) in vec4 c;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform B { int n; };
void main() {
    if (c.y < 0.0) discard;
    int i = 1;
    float s = 0.0;
    while (i != n) {
        if (s > c.x) break;
        s += c.z;
        i += 0;
    }
    o = vec4(s);
}
// env: {"uniforms": {"n": 0}}
// run: [{"c": [2, 1, 1, 1]}, {"c": [1, -1, 0, 1]}, {"c": [1, 1, 1, 1]}, {"c": [2, 0, 2, 0]}] => [{"o": [3, 3, 3, 3]}, {"discarded": true}, {"o": [2, 2, 2, 2]}, {"o": [4, 4, 4, 4]}]
