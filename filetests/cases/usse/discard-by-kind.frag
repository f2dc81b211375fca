// Of several conditions of which one decides by an integer, each but the first is two tests: which one it is, and what it says.
// test emit
// test run
// target usse
// not: BR
// check: CMP.ne.i32 p1
// check: CMP.equal.i32 p0
// check: p0 CMP.gt.f32 p1
// check: CMP.equal.i32 p0
// check: p0 CMP.ne.f32 p1
// check: !p1 KILL
#version 450
layout(location = 0) in vec4 shade;
layout(location = 0) out vec4 colour;
layout(std140, binding = 0) uniform Test { int kind; float level; };
void main() {
    switch (kind) {
        case 0: if (shade.a < level) discard; break;
        case 1: if (shade.a <= level) discard; break;
        case 2: if (shade.a == level) discard; break;
    }
    colour = shade;
}
// env: {"uniforms": {"kind": 1, "level": 0.5}}
// run: {"shade": [1, 2, 3, 0.75]} => {"colour": [1, 2, 3, 0.75]}
