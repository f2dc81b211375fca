// Packing of numbers into words, both ways.
// @refused pica: P0201
// @refused usse: an integer travels as two floats
// @bind { "uniforms": { "w": [2139225600,1006648320,4286611584,3435973836] }, "invocations": [ { "inputs": { "p": [1,-1,0.25,0] } } ] }
// @expect { "invocations": [ { "outputs": { "a": [2130303,4194559,1006648320,2147581953], "b": [1,-0.0078740157,1,0.501960784], "c": [1,0.5,0,0], "d": [2147450880,4294901760,1073758208,0] } } ] }
@group(0) @binding(0) var<uniform> w: vec4<u32>;
struct Out { @builtin(position) position: vec4<f32>, @location(0) @interpolate(flat) a: vec4<u32>, @location(1) b: vec4<f32>, @location(2) c: vec4<f32>, @location(3) @interpolate(flat) d: vec4<u32> }
@vertex fn main(@location(0) p: vec4<f32>) -> Out {
  var o: Out;
  o.position = p;
  o.a = vec4(pack4x8snorm(p), pack4x8unorm(p), pack2x16float(p.xx), pack2x16snorm(p.yy));
  o.b = vec4(unpack4x8snorm(w.x).w, unpack4x8snorm(0xff00u + (w.x & 0u)).y, unpack2x16float(w.y).y, unpack4x8unorm(w.z).x);
  o.c = vec4(unpack4x8unorm(w.z).w, round(unpack2x16unorm(w.z >> 1u).y * 4.0) / 4.0, 0.0, 0.0);
  o.d = vec4(pack2x16unorm(p.wx) >> 1u, pack2x16unorm(p.wx), pack2x16unorm(p.zz), 0u);
  return o;
}
