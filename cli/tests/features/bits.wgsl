// Bit functions on numbers of both signs.
// @refused pica: P0201
// @refused usse: an integer travels as two floats
// @bind { "uniforms": { "u.x": 305419896, "u.n": -300, "u.z": 0 }, "invocations": [ { "inputs": { "p": [0,0,0,1] } } ] }
// @expect { "invocations": [ { "outputs": { "a": [13,3,3,28], "b": [510274632,32,32,4294967295], "c": [86,4294967274,305837688,4294967258], "d": [8,2,6,4294967295],
//   "e": [18,52,86,120], "f": [18,52,86,120], "g": [305419896,4286611201,8453889,860] } } ] }
struct U { x: u32, n: i32, z: u32 }
@group(0) @binding(0) var<uniform> u: U;
struct Out {
  @builtin(position) position: vec4<f32>,
  @location(0) @interpolate(flat) a: vec4<u32>, @location(1) @interpolate(flat) b: vec4<u32>, @location(2) @interpolate(flat) c: vec4<u32>,
  @location(3) @interpolate(flat) d: vec4<u32>, @location(4) @interpolate(flat) e: vec4<u32>, @location(5) @interpolate(flat) f: vec4<u32>, @location(6) @interpolate(flat) g: vec4<u32>,
}
@vertex fn main(@location(0) p: vec4<f32>) -> Out {
  var o: Out;
  o.position = p;
  o.a = vec4(countOneBits(u.x), countLeadingZeros(u.x), countTrailingZeros(u.x), firstLeadingBit(u.x));
  o.b = vec4(reverseBits(u.x), countLeadingZeros(u.z), countTrailingZeros(u.z), firstLeadingBit(u.z));
  o.c = vec4(extractBits(u.x, 8u, 8u), bitcast<u32>(extractBits(u.n, 1u, 7u)), insertBits(u.x, 0xABu, 12u, 8u), bitcast<u32>(u.n >> 3u));
  o.d = vec4(u32(firstLeadingBit(u.n)), firstTrailingBit(bitcast<u32>(u.n)), u32(firstTrailingBit(i32(u.x << 3u))), u32(firstTrailingBit(i32(u.z))));
  o.e = unpack4xU8(u.x).wzyx;
  o.f = bitcast<vec4<u32>>(unpack4xI8(u.x).wzyx);
  o.g = vec4(pack4xU8(unpack4xU8(u.x)), pack4xI8Clamp(vec4(1, 200, -200, -1)), pack4xU8Clamp(vec4(1u, 256u, 128u, u.z)), dot4U8Packed(0x01020304u, u.x));
  return o;
}
