// Conditions and a large array are alive together: a `$c` waits in l[] in one of the ways that are tried.
// test emit
// target tesla
// check: mov $$r$(=[0-9]+) $$c$(=[0-3])
#version 450
struct S1 { uint m0; };
 uniform U {
  ivec3 u4;
   float u5[2];
   S1 u6[3];
} u;
 in vec4 in_7;
 flat in ivec4 in_8;
 flat in uvec4 in_9;
 out ivec4 out_33;
 out vec4 out_34;
vec2 q(vec2 v) {  return v - 32.0 * floor(v * 0.03125); }
vec3 q(vec3 v) {  return v - 32.0 * floor(v * 0.03125); }
vec4 q(vec4 v) {  return v - 32.0 * floor(v * 0.03125); }
const ivec4 K3 = ivec4(6);
mat4 g10[4][2] = mat4[4][2](mat4[2](mat4(0.75), mat4((-4.0))), mat4[2](mat4((-1.0)), mat4((-2.0))), mat4[2](mat4(4.0, 1.5, 3.0, -1.5, vec4(1.5, (-2.25), 2.5, 0.75), vec4(3.0, 2.0, (-2.25), (-1.5)), vec4(2.25, (-2.0), 1.25, 3.5)), mat4((-3.25))), mat4[2](mat4((-3.5), (-2.75), (-4.0), 0.5, 2.75, 0.5, (-1.25), 1.0, 0.25, 1.0, 0.0, 0.75, 2.5, 0.75, 3.0, 0.25), mat4(2.0, 4.0, 0.25, (-2.0), 3.5, (-2.75), 3.75, (-3.75), (-4.0), 2.25, (-0.75), (-0.25), (-3.75), (-0.5), 2.75, 2.0)));
void main() {
    if ((max(in_8[1], u.u4[1]) < ((K3.p & 2147483647) % ((in_8[2] & 15) + 1)))) {
      for (int v18 ; ((v18 < 4) && ((true ? u.u4[0u] : K3.w) != in_8[0u])); ++v18) {
        switch ((v18 & 3)) {
        case 2:
            g10[(mix(in_9[0], u.u6[2].m0, false) & 3u)][((uvec4(0x80000000u, 5u, 11u, 8u) + in_8)[0] & 1u)][(in_9.x & 3u)].pq += q((mat3x2(in_7.sp, in_7.ps, g10[0][0][0u].ps) * g10[2][1][0].gaa));
            g10[(bitfieldExtract(u.u6[0].m0, (u.u4.p & 15), 15) & 3u)][(in_9.p & 1u)][(u.u6[2].m0 & 3u)].ga.gr = q(vec2((-4.0), (-3.5)));
        }
      }
    }
  vec3 v25 = q(vec4(g10[0u][0u][2].ga.rg, false, u.u5[1u]).yzx);
  bvec4 v26 = (greaterThanEqual(in_7.zyw, g10[3u][1u][2].ppt)[0] ? bvec4(true, false, false, true) : greaterThan(in_7, v25.rrrg));
  out_33 = (~bitfieldInsert(in_8, in_8, 14, 6));
  out_34 = q(vec4(v25.sp.tt, v26.qp));
}
