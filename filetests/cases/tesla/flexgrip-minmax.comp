// FlexGripPlus has no minimum and maximum: a comparison and a predicated move.
// test run
// test emit
// target tesla chip=flexgripplus
// not: max
// not: min
// check: set $$c$(=[0-3]) # l s32
// check: (lg $$c$(=[0-3])) mov b32
// not: exit
// check: ret
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer A { int a[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    a[i] = max(min(a[i], a[i + 4u]), -3);
}
// env: {"storage": {"a": [5, -9, 7, 100, 6, 1, -2, 99]}, "workgroups": [1, 1, 1]}
// run: {} => {"storage": {"a": [5, -3, -2, 99, 6, 1, -2, 99]}}
