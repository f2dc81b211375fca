// A pixel that two conditions together drop: the second is tested where the first holds, and one KILL follows, under the predicate that keeps it.
// test emit
// test run
// target usse
// check: CMP.le.f32 p1
// nextln: !p1 CMP.ne.i32 p1
// nextln: !p1 KILL
#version 450
layout(location = 0) in vec4 c;
layout(binding = 0) uniform B { int mode; };
layout(location = 0) out vec4 result;
void main() {
    if (c.x < 0.25 && mode == 1) discard;
    result = c;
}
// env: {"uniforms": {"mode": 1}}
// run: {"c": [0.5, 0.5, 0, 1]} => {"result": [0.5, 0.5, 0, 1]}
