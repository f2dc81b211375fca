// test run
// target usse contract=on
// A quotient may be infinite where its divisor is 0: zero times it stays what it is in the source.
#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 colour;
layout(std140, binding = 0) uniform Size { int size; };
void main() {
    vec2 texel = vec2(1.0 / float(size));
    vec2 there = at + texel * vec2(0.0);
    colour = vec4(there.x > -100.0 ? 1.0 : 0.0, 0.0, 0.0, 1.0);
}
// env: {"uniforms": {"size": 0}}
// run: {"at": [0.25, 0.25]} => {"colour": [0, 0, 0, 1]}
