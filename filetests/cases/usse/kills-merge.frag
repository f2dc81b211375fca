// Several conditions that drop a pixel make one KILL, under the predicate that keeps it.
// test emit
// test run
// target usse
// check: CMP.le.f32 p1
// check: p1 CMP.le.f32 p1
// check: !p1 KILL
#version 450
layout(location = 0) in vec4 c;
layout(location = 0) out vec4 result;
void main() {
    if (c.x < 0.25) discard;
    if (c.y > 0.75) discard;
    result = c;
}
// run: {"c": [0.5, 0.5, 0, 1]} => {"result": [0.5, 0.5, 0, 1]}
