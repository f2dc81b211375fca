#version 430
layout(local_size_x = 32) in;
layout(std140, binding = 0) uniform U { uint k; uint m; };
layout(std430, binding = 1) buffer A { uint a[]; };
layout(std430, binding = 2) buffer B { uint b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i], s = 0u;
    for (uint r = 0u; r < (x & 3u); r++) {
        for (uint q = 0u; q <= r; q++) {
            if ((x >> q & 1u) != 0u) s += q * k; else { if (q == 2u) break; s ^= m; }
        }
        s = min(s, 0x7fffu) + bitfieldExtract(x, int(r), 5);
    }
    b[i] = s + x / 7u + uint(findMSB(x)) * 3u + (x % (k + 1u));
}
