// Along an axis with one thread the local index is 0, and the global one the workgroup's.
// test run
// test emit
// target tesla
// target tesla chip=g80
// not: mul
// check: mov b32 $$r$(=[0-9]+) u16 s[0xe]
// not: mul
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer A { int a[]; };
layout(std140, binding = 1) uniform U { int n; };
void main() {
    a[gl_LocalInvocationID.x] = int(gl_LocalInvocationID.y) * n + int(gl_LocalInvocationID.z) + int(gl_GlobalInvocationID.y);
}
// env: {"uniforms": {"n": 7}, "storage": {"a": [9, 9, 9, 9]}, "workgroups": [1, 3, 1]}
// run: {} => {"storage": {"a": [2, 2, 2, 2]}}
