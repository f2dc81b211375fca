// A vector of one lane of a unit vector, several times, may be longer than 1: CLAMP would cut its products off.
// test run
// target r700
#version 450
layout(location = 0) in vec3 n;
layout(location = 1) in vec3 l;
layout(location = 0) out vec3 o;

void main() {
    vec3 a = normalize(n), b = normalize(l);
    o = vec3(max(dot(a.xx, b.xy), 0.0), max(dot(a.xxx, b), 0.0), max(a.x * b.x + a.x * b.z, 0.0));
}
// run: {"n": [2, 0, 0], "l": [3, 4, 0]} => {"o": [1.4000001, 1.4000001, 0.6]}
// run: {"n": [2, 0, 0], "l": [4, 0, 3]} => {"o": [0.8, 1.4000001, 1.4000001]}
// run: {"n": [2, 0, 0], "l": [-3, -4, 0]} => {"o": [0.0, 0.0, 0.0]}
