// A depth is a float of 32 bits, and so is what it is computed from, however little precision the source asks for.
// test run
// target usse
#version 310 es
precision mediump float;
layout(location = 10) in vec4 tint;
layout(location = 0) out vec4 o;
void main() {
    vec4 c = (tint * tint + tint) * tint;
    o = c;
    gl_FragDepth = c.x * c.x;
}
// run: {"tint": [0.333251953125, 0.25, 0, 1]} => {"frag_depth": 0.0219238}
