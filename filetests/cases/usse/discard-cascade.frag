// test emit
// test run
// target usse
// A cascade of comparisons around dropped pixels needs no branch: each condition is tested under the one before.
// not: BR
// check: CMP.ne.i32 p1
// check: !p1 CMP.ge.f32 p1
// check: !p1 KILL
#version 450
layout(location = 0) in vec4 shade;
layout(location = 0) out vec4 colour;
layout(std140, binding = 0) uniform Test { int kind; float level; };
void main() {
    if (kind < 4) {
        switch (kind) {
            case 0: if (shade.a < level) discard; break;
            case 1: if (shade.a > level) discard; break;
            case 2: if (shade.a == level) discard; break;
            default: discard;
        }
    }
    colour = shade;
}
// env: {"uniforms": {"kind": 0, "level": 0.5}}
// run: {"shade": [1, 2, 3, 0.75]} => {"colour": [1, 2, 3, 0.75]}
