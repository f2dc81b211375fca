// A uniform is an operand of logic as it is of sums.
// test run
// test emit
// target tesla
// check: and b32 o[0x10] $$r$(=[0-9]+) c0[0x0]
// check: xor b32 o[0x14] $$r$(=[0-9]+) c0[0x4]
#version 450
layout(location = 0) in ivec2 p;
layout(location = 0) out ivec2 q;
layout(binding = 0, std140) uniform U { ivec4 k; };
void main() {
    q = ivec2(p.x & k.x, k.y ^ p.y);
    gl_Position = vec4(0.0);
}
// env: {"uniforms": {"k": [6, 5, 0, 0]}}
// run: {"p": [3, 3]} => {"q": [2, 6]}
