// FlexGripPlus has no `break`: lanes that leave a loop branch to its end, where a `join` takes up the rest.
// test run
// test emit
// target tesla chip=flexgripplus
// not: break
// check: joinat
// check: (lg $$c$(=[0-3])) bra
// not: exit
// check: join
// check: ret
#version 450
layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer A { uint a[]; };
void main() {
    uint i = gl_LocalInvocationID.x;
    uint x = a[i], n = 0u;
    while (x != 1u) {
        if ((x & 1u) == 0u) {
            x >>= 1u;
            if (x == 5u) { n += 100u; break; }
        } else {
            x = 3u * x + 1u;
        }
        if (++n > 8u) { n |= 0x8000u; break; }
    }
    a[i] = n;
}
// env: {"storage": {"a": [1, 2, 3, 7, 10, 16, 27, 6]}, "workgroups": [1, 1, 1]}
// run: {} => {"storage": {"a": [0, 1, 101, 32777, 100, 4, 32777, 102]}}
