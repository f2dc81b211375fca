// What unrolling leaves of an index reads constant registers, not a buffer.
// test emit
// target r700
// check: MULADD_IEEE
// not: VTX
#version 450
layout(binding = 0) uniform Lights { vec4 lights[3]; };
layout(location = 0) in vec4 c;
layout(location = 0) out vec4 o;
void main() {
    o = c;
    for (int k = 0; k < 3; k++) o = o * c + lights[k];
}
