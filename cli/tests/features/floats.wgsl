// Functions that give structures, and those that take floats apart.
// @refused pica: P0005
// @bind { "uniforms": { "u.a": -2.75, "u.b": 12, "u.c": 0.15625 }, "invocations": [ { "inputs": { "p": [0.5,-1.5,2.5,3.5] } } ] }
// @expect { "invocations": [ { "outputs": { "a": [-0.75,-2,0.75,4], "b": [0.625,-2,40,-0.6875], "c": [0,-2,2,4], "d": [0.5,0.5,0.5,0.5], "e": [1,-1,1,0], "f": [-3,-2,-2,-3], "g": [2,0.5,1,0] } } ] }
struct U { a: f32, b: f32, c: f32 }
@group(0) @binding(0) var<uniform> u: U;
struct Out {
  @builtin(position) position: vec4<f32>,
  @location(0) a: vec4<f32>, @location(1) b: vec4<f32>, @location(2) c: vec4<f32>,
  @location(3) d: vec4<f32>, @location(4) e: vec4<f32>, @location(5) f: vec4<f32>, @location(6) g: vec4<f32>,
}
@vertex fn main(@location(0) p: vec4<f32>) -> Out {
  var o: Out;
  o.position = p;
  let m = modf(u.a);
  let x = frexp(u.b);
  o.a = vec4(m.fract, m.whole, x.fract, f32(x.exp));
  let y = frexp(vec2(u.c, u.a));
  o.b = vec4(y.fract.x, f32(y.exp.x), ldexp(u.c, 8), y.fract.y);
  o.c = round(p);
  o.d = fract(p);
  o.e = vec4(sign(p.xyz), step(p.x, u.a));
  o.f = vec4(floor(u.a), ceil(u.a), trunc(u.a), round(u.a));
  o.g = vec4(smoothstep(0.0, 2.0, p.x + 0.5) * 4.0, mix(u.b, 0.0, 1.0) + 0.5, clamp(p.w, 0.0, 1.0), saturate(u.a));
  return o;
}
