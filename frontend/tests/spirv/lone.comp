#version 450
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_EXT_shared_memory_block : enable
#extension GL_EXT_shader_atomic_float : enable
layout(local_size_x = 4) in;
shared S { vec3 v; float f[4]; } s;
layout(binding = 0) buffer A { float sum; float16_t each[]; } a;
void main() {
    uint n = gl_LocalInvocationIndex;
    s.f[n] = float(subgroupExclusiveAdd(n) + subgroupBallotBitCount(subgroupBallot(n > 1u)));
    barrier();
    a.each[n] = float16_t(s.f[3u - n]);
    atomicAdd(a.sum, s.v.x);
}
