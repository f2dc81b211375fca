// Whole numbers of both signs: division and remainder (also by zero and of the least number), shifts, bits.
// @refused pica: P0201
// @refused usse: an integer travels as two floats
// @bind { "uniforms": { "u.a": -17, "u.b": 5, "u.x": 4000000000, "u.y": 7, "u.z": 0 }, "invocations": [ { "inputs": { "p": [0,0,0,1] } } ] }
// @expect { "invocations": [ { "outputs": { "position": [0,0,0,1], "a": [-3,-2,-12,-22], "b": [571428571,3,4000000007,3999999993], "c": [-17,0,-2147483648,0],
//   "d": [-34,-1,2147483640,31], "e": [4,28,15,4294967278], "f": [4294967279,5,4000000000,2147483628] } } ] }
struct U { a: i32, b: i32, x: u32, y: u32, z: i32 }
@group(0) @binding(0) var<uniform> u: U;
struct Out {
  @builtin(position) position: vec4<f32>,
  @location(0) @interpolate(flat) a: vec4<i32>, @location(1) @interpolate(flat) b: vec4<u32>, @location(2) @interpolate(flat) c: vec4<i32>,
  @location(3) @interpolate(flat) d: vec4<i32>, @location(4) @interpolate(flat) e: vec4<u32>, @location(5) @interpolate(flat) f: vec4<u32>,
}
@vertex fn main(@location(0) p: vec4<f32>) -> Out {
  var o: Out;
  o.position = p;
  o.a = vec4(u.a / u.b, u.a % u.b, u.a + u.b, u.a - u.b);
  o.b = vec4(u.x / u.y, u.x % u.y, u.x + u.y, u.x - u.y);
  let least = -2147483647 - 1 + u.z;
  o.c = vec4(u.a / u.z, u.a % u.z, least / (u.z - 1), least % (u.z - 1));
  o.d = vec4(u.a << 1u, u.a >> 10u, (u.b - 6) & 2147483640, i32(countOneBits(u.z - 1)) - 1);
  o.e = vec4(firstLeadingBit(u.y << 2u), u.y << 2u, (((u.y << 4u) | u.y) & 15u) | 8u, ~(17u + u32(u.z)));
  o.f = vec4(bitcast<u32>(u.a) * 0u + 4294967279u, min(u.y, 5u), max(u.x, u.y), 0u);
  o.f.w = (bitcast<u32>(u.a) >> 1u) - 11u;
  return o;
}
