// Nor would who is discarded leave a loop by the way that all take together, where the others leave by another one.
// test run
// target tesla
// target r700
// target usse
#version 450
layout(location = 0) in float a;
layout(location = 1) in float go;
layout(location = 0) out vec4 colour;
void main() {
    if (a <= 0.0) discard;
    float t = 0.0;
    while (go > 0.0) { if (t >= 1.0) break; t += a; }
    colour = vec4(t);
}
// run: {"a": 0.25, "go": 1} => {"colour": [1, 1, 1, 1]}
// run: {"a": 0, "go": 1} => {"discarded": true}
