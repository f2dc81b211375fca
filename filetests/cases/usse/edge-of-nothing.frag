// The way around all cases of a switch hands on a value that nobody has set: no edge behind a branch carries it.
// test emit
// test run
// target usse color=f32
// check: CMP.gt.i32 p0
// check: CMP.equal.i32 p0
// check: CMP.equal.i32 p0
#version 450
layout(location = 0) in vec4 a;
layout(location = 0) out vec4 result;
layout(std140, binding = 0) uniform B { vec4 other; int mode; };
void main() {
    if (mode > 0) {
        switch (mode) {
        case 1: result.rgb = a.rgb; break;
        case 2: result.rgb = a.aaa; break;
        }
        result.a = 1.0;
        return;
    }
    result = other;
}
// env: {"uniforms": {"mode": 1, "other": [2, 4, 8, 16]}}
// run: {"a": [0.5, 0.25, 0.125, 0.75]} => {"result": [0.5, 0.25, 0.125, 1]}
// env: {"uniforms": {"mode": 2, "other": [2, 4, 8, 16]}}
// run: {"a": [0.5, 0.25, 0.125, 0.75]} => {"result": [0.75, 0.75, 0.75, 1]}
// env: {"uniforms": {"mode": 0, "other": [2, 4, 8, 16]}}
// run: {"a": [0.5, 0.25, 0.125, 0.75]} => {"result": [2, 4, 8, 16]}
