#version 450
layout(local_size_x = 4) in;
layout(binding = 0, r32ui) uniform uimage2DArray a[2];
layout(binding = 2, rgb10_a2) uniform image3D b;
layout(binding = 3) uniform samplerBuffer c;
layout(binding = 4) buffer O { ivec3 size; vec4 seen[]; } o[2];
void main() {
    uint n = gl_LocalInvocationIndex;
    o[n & 1u].size = imageSize(a[1]);
    imageStore(a[n], ivec3(n, 1, 0), imageLoad(a[0], ivec3(0, n, 1)));
    o[1].seen[n] = imageLoad(b, ivec3(n)) + texelFetch(c, int(n));
    imageStore(b, ivec3(n), vec4(float(n) / 4.0));
    imageAtomicAdd(a[1], ivec3(0), n);
}
