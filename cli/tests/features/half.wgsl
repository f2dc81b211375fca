// Half precision: literals, arithmetic that rounds to eleven bits, vectors, conversion, fractions and exponents.
// @refused pica: no f16
// @bind { "invocations": [ { "inputs": { "x": [1,0.0009765625,2049,0.333251953125] } } ] }
// @expect { "invocations": [ { "outputs": { "a": [1.0009765625,2048,0.333251953125,1.5], "b": [3,2,2,0], "c": [0.5,1,8,1024] } } ] }
enable f16;
struct Out { @builtin(position) position: vec4<f32>, @location(0) a: vec4<f32>, @location(1) b: vec4<f32>, @location(2) c: vec4<f32> }
@vertex fn main(@location(0) x: vec4<f32>) -> Out {
  var o: Out;
  let h = vec4<f16>(x);
  o.position = x;
  o.a = vec4(f32(h.x + h.y), f32(h.z), f32(h.w), f32(1.5h * h.x));
  o.b = vec4(f32(max(h.x, 3.0h)), vec2<f32>(vec2<f16>(2.0h) * h.xx), f32(h.x - 1.0h));
  o.c = vec4(f32(frexp(h.x).fract), f32(frexp(h.x).exp), f32(ldexp(h.x, 3)), f32(ldexp(h.z, -1)));
  return o;
}
