// FlexGripPlus has one global memory and one constant memory: buffers begin at addresses from s[], uniform blocks share c0[].
// test run
// test emit
// target tesla chip=flexgripplus
// check: b32 s[0x1c]
// check: b32 s[0x20]
// check: ld $$r$(=[0-9]+) b32 c0[0x104]
// not: c1[
// not: g1[
// check: ret
#version 450
layout(local_size_x = 2) in;
layout(std140, binding = 0) uniform U { int first; };
layout(std140, binding = 1) uniform V { int none; int second; };
layout(std430, binding = 2) buffer A { int a[]; };
layout(std430, binding = 3) buffer B { int b[]; };
void main() {
    uint i = gl_LocalInvocationID.x;
    b[i] = a[i] + first + second + b.length();
}
// env: {"uniforms": {"first": 1000, "none": 0, "second": 50}, "storage": {"a": [1, 2], "b": [9, 9, 9]}, "workgroups": [1, 1, 1]}
// run: {} => {"storage": {"b": [1054, 1055, 9]}}
