// The condition that discards everything may be what keeps the loop from having no end.
// test run
// target tesla
// target r700
// target usse
// env: {"uniforms": {"u.step": 0, "u.none": true}}
// run: {"a": 0.5} => {"discarded": true}
#version 450
layout(binding = 0) uniform U { int step; bool none; } u;
layout(location = 0) in float a;
layout(location = 0) out vec4 colour;
void main() {
    if (u.none) discard;
    colour = vec4(0.0);
    for (int i = 0; i < 10; i += u.step) colour += a;
}
