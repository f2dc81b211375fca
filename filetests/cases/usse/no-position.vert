// The machine needs all four components of a position, also where the source has none.
// test emit
// test run
// target usse
// check: o0.xy
// check: o2.xy
// check: EMIT
#version 450
layout(location = 0) in vec4 p;
layout(location = 0) out vec4 q;
void main() {
    q = p;
}
// run: {"p": [0.5, 0.25, 2, 3]} => {"q": [0.5, 0.25, 2, 3]}
