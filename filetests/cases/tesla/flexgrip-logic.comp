// FlexGripPlus has no logic with immediates or complemented operands: both come from registers.
// test run
// test emit
// target tesla chip=flexgripplus
// check: mov b32 $$r$(=[0-9]+) 0xff
// check: and b32 $$r$(=[0-9]+) $$r$(=[0-9]+) $$r$(=[0-9]+)
// check: mov2 b32 $$r$(=[0-9]+) $$r$(=[0-9]+) not $$r$(=[0-9]+)
// check: ret
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer A { uint a[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i] & 0xffu;
    a[i] = ~a[i + 4u] & x;
}
// env: {"storage": {"a": [4660, 255, 7, 100, 6, 1, 4294967295, 99]}, "workgroups": [1, 1, 1]}
// run: {} => {"storage": {"a": [48, 254, 0, 4, 6, 1, 4294967295, 99]}}
