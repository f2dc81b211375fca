#version 450
// A sum by 64 threads: each round halves the values in shared memory.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { float values[]; };
layout(std430, binding = 1) writeonly buffer Sums { float sums[]; };
shared float part[64];

void main() {
    uint n = gl_LocalInvocationID.x;
    part[n] = values[gl_GlobalInvocationID.x];
    for (uint rest = 32u; rest > 0u; rest >>= 1u) {
        barrier();
        if (n < rest) part[n] += part[n + rest];
    }
    if (n == 0u) sums[gl_WorkGroupID.x] = part[0];
}
