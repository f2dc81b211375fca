// Structures by value, matrices that are not square, integers, built-in functions with results by parameters, loops around switches.
// @bind {"invocations": [{"inputs": {"v": [1.5, 2.25, 0, 3]}}]}
// @expect {"invocations": [{"outputs": {"o": [90.25, 21.0, 10.9, 6511.6]}}]}
#version 450
layout(location=0) out vec4 o; layout(location=0) in vec4 v;
struct S { float a; vec2 b[2]; };
S mk(float x) { return S(x, vec2[2](vec2(x), vec2(2.0*x))); }
void main() {
  S s = mk(v.x), t[2] = S[2](mk(1.0), mk(v.y));
  t[int(v.z)].b[1].y += s.b[1].x; s = t[1 - int(v.z)];
  mat4x2 m = mat4x2(v, v.wzyx); m[3] = m[0] * mat2(1,2,3,4); m[1][1] -= 1.0;
  ivec4 i = ivec4(v) << ivec4(1,2,3,4); uvec2 u = uvec2(i.xy) >> 1u; i.xz ^= ivec2(5); i %= 7;
  bvec4 b = bvec4(i); b.xy = not(b.xy); b.z = any(b.xy) || v.x > 0.0 && all(b);
  float f = ldexp(v.x, 3) + float(bitCount(i.w)) + float(bitfieldInsert(u.x, 3u, 2, 2)) + modf(v.y, o.x) + float(u.y);
  int e; float g = frexp(v.w, e); uint hi, lo; umulExtended(0xffffffffu, u.x + 2u, hi, lo);
  const int k[3] = int[](4, 5, 6); for (int n = k.length() - 1; n >= 0; --n) { if ((k[n] & 1) != 0) continue; f += float(k[n]); }
  int w = 0; while (true) { if (++w > 3) break; switch (w) { case 1: continue; case 2: f *= 2.0; default: f += 1.0; } }
  o = vec4(f + g + float(e), m[3].x + m[1].y, s.b[1].y + t[int(v.z)].b[1].y, float(i.x + i.y * 10 + i.z * 100 + i.w * 1000)) + vec4(b) + vec4(hi, lo & 15u, unpackUnorm4x8(packUnorm4x8(vec4(0.2, 0.4, 0.6, 0.8))).yz);
}
