// Who is discarded would never leave the loop.
// test run
// target tesla
// target r700
// target usse
#version 450
layout(location = 0) in float a;
layout(location = 0) out vec4 colour;
void main() {
    if (a <= 0.0) discard;
    float t = 0.0;
    while (t < 1.0) t += a;
    colour = vec4(t);
}
// run: {"a": 0.25} => {"colour": [1, 1, 1, 1]}
// run: {"a": 0} => {"discarded": true}
