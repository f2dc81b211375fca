// The first lane of one vector and the second of another are no pair yet: their sines are computed together all the same.
// test run
// target usse
#version 450
layout(location = 0) in vec2 a;
layout(location = 1) in vec2 b;
layout(location = 0) out vec4 o;
void main() {
    o = vec4(sin(a.x), sin(b.y), 0.0, 1.0);
}
// run: {"a": [0.5, 1], "b": [2, 0.25]} => {"o": [0.4795, 0.2474, 0, 1]}
