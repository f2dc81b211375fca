// Numbers of workgroups are half-words: their product with another one is one multiplication, and words of the header are operands.
// test run
// test emit
// target tesla chip=g80
// check: mul
// not: mul
#version 450
layout(local_size_x = 2) in;
layout(std430, binding = 0) buffer A { uint a[]; };
void main() {
    uint row = gl_NumWorkGroups.x * gl_WorkGroupID.y + gl_WorkGroupID.x;
    a[row * 2 + gl_LocalInvocationID.x] = row;
}
// env: {"storage": {"a": [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]}, "workgroups": [3, 2, 1]}
// run: {} => {"storage": {"a": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]}}
