#version 430
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { int a[]; };
layout(std430, binding = 1) buffer B { int b[]; };
layout(std430, binding = 2) buffer C { int sum[]; };
shared int part[64];
void main() {
    uint t = gl_LocalInvocationID.x;
    uint i = gl_GlobalInvocationID.x;
    part[t] = a[i] * b[i];
    barrier();
    for (uint n = 32u; n > 0u; n >>= 1u) {
        if (t < n) part[t] += part[t + n];
        barrier();
    }
    if (t == 0u) sum[gl_WorkGroupID.x] = part[0];
}
