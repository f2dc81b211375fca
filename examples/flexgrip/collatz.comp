#version 430
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i];
    uint n = 0u;
    while (x != 1u) {
        if ((x & 1u) == 0u) { x >>= 1u; if (x == 5u) { n += 100u; break; } } else { x = min(3u * x + 1u, 100000u); }
        n++;
        if (n > 60u) { n |= 0x8000u; break; }
    }
    b[i] = n;
}
