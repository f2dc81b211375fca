#version 430
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { int a[]; };
layout(std430, binding = 1) buffer B { int b[]; };
layout(std430, binding = 2) buffer C { int c[]; };
void main() { uint i = gl_GlobalInvocationID.x; c[i] = a[i] + b[i]; }
