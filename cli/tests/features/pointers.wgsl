// Pointers to arrays, `continuing` with `break if`, constant expressions, division by zero, matrices indexed at run time.
// @bind {"invocations": [{"inputs": {"v": [1.5, 2.25, 0, 3]}}]}
// @expect {"invocations": [{"outputs": {"location0": [34.0, 29.25, -308993.0, 1162.25]}}]}
struct I { @location(0) v: vec4<f32>, }
fn f(a: ptr<function, array<vec3<i32>, 3>>, k: i32) -> i32 { (*a)[k].y += 10; let r = (*a)[k].y; (*a)[(k + 1) % 3] = vec3(r); return r; }
@fragment fn main(i: I) -> @location(0) vec4<f32> {
  var a = array(vec3(1, 2, 3), vec3(4, 5, 6), vec3(7, 8, 9)); let k = i32(i.v.z);
  let r = f(&a, k) + f(&a, k + 1);
  var m = mat3x2<f32>(i.v.xy, i.v.zw, vec2(1.0)); m[1].y = 9.0; m[k][0] *= 2.0; let t = transpose(m) * m[2];
  let q = vec4<u32>(bitcast<u32>(i.v.x), countOneBits(255u), firstLeadingBit(40u), reverseBits(1u));
  var s = 0; loop { s += 1; if s == 2 { continue; } if s > 6 { break; } continuing { s += 1; break if s >= 20; } }
  switch k { case 1, 2 { s += 100; } case default { s += 1000; } }
  let n = -7 / 2 * 10 + -7 % 3; let w = i32(-2.7) + i32(u32(3.9)); let x = 5 / (k - k); let sh = 1u << (u32(k) & 31u);
  return vec4(f32(r), dot(t, vec3(1.0, 2.0, 3.0)), f32(s + n * 10000), f32(w * 100 + x) + f32(sh) + f32((q.x >> 20u) + q.y + q.z + (q.w >> 31u)) + f32(a[2].z) + select(0.5, 0.25, any(i.v > vec4(2.0))));
}
