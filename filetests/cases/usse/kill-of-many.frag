// Pixels that are dropped here and there: p1 collects what keeps one, and one KILL follows at the end of the phase.
// test emit
// test run
// target usse color=f32
// check: CMP.ge.f32 p1
// not: KILL
// check: p1 CMP
// not: KILL
// check: p1 CMP
// check: !p1 KILL
// nextln: NOP.end
// not: KILL
#version 450
layout(location = 0) in vec4 c;
layout(std140, binding = 0) uniform B { vec4 level; int mode; };
layout(location = 0) out vec4 result;
void main() {
    if (c.x < level.x) discard;
    vec4 v = c * level;
    if (mode == 1) {
        v = v * v + c;
        if (v.y > level.y) discard;
        v += v.wzyx * level;
    } else {
        v = v + c.wzyx;
        if (v.z < level.z) discard;
        v *= v.yxwz + level;
    }
    result = v;
}
// env: {"uniforms": {"mode": 1, "level": [0.5, 2, 1, 1]}}
// run: {"c": [1, 0.5, 0, 1]} => {"result": [2.25, 1.5, 1.5, 3.25]}
// env: {"uniforms": {"mode": 0, "level": [0.5, 0, 0.5, 1]}}
// run: {"c": [1, 0.5, 1, 0.5]} => {"result": [1.5, 1, 2, 3]}
