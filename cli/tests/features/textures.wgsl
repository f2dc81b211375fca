// Textures: sampling at a level, with a gradient, bias and offset, fetching, gathering, comparing, sizes; a 2 by 2 texture in nearest mode.
// @refused usse: one float colour output
// @bind { "textures": {
//     "t": { "size": [2,2], "filter": "nearest", "wrap": "repeat", "texels": [[0.25,0,0,1],[0.5,0,0,1],[0.75,0,0,1],[1,0,0,1]] },
//     "a": { "size": [1,1], "layers": 3, "filter": "nearest", "wrap": "repeat", "texels": [[1,0,0,0],[2,0,0,0],[3,0,0,0]] },
//     "v": { "dim": "3d", "size": [1,1,2], "filter": "nearest", "wrap": "repeat", "texels": [[5,0,0,0],[6,0,0,0]] },
//     "c": { "dim": "cube", "size": [1,1], "filter": "nearest", "texels": [[1,0,0,0],[2,0,0,0],[3,0,0,0],[4,0,0,0],[5,0,0,0],[6,0,0,0]] },
//     "n": { "size": [2,1], "filter": "nearest", "texels": [[7,0,0,0],[4294967295,0,0,0]] } },
//   "invocations": [ { "inputs": { "uv": [0.25,0.25] } }, { "inputs": { "uv": [0.75,0.25] } }, { "inputs": { "uv": [0.25,0.75] } }, { "inputs": { "uv": [0.75,0.75] } } ] }
// @expect { "invocations": [
//   { "outputs": { "a": [0.25,0.25,0.25,0.5], "b": [0.75,2,2,3], "c": [0.75,1,0.5,0.25], "e": [5,1,7,2] } },
//   { "outputs": { "a": [0.5,0.5,0.5,0.25], "b": [0.75,2,2,3], "c": [1,0.75,0.25,0.5], "e": [5,1,7,2] } },
//   { "outputs": { "a": [0.75,0.75,0.75,1], "b": [0.75,2,2,3], "c": [0.25,0.5,1,0.75], "e": [6,1,7,2] } },
//   { "outputs": { "a": [1,1,1,0.75], "b": [0.75,2,2,3], "c": [0.5,0.25,0.75,1], "e": [6,1,7,2] } } ] }
@group(0) @binding(0) var t: texture_2d<f32>;
@group(0) @binding(1) var s: sampler;
@group(0) @binding(2) var d: texture_depth_2d;
@group(0) @binding(4) var a: texture_2d_array<f32>;
@group(0) @binding(5) var v: texture_3d<f32>;
@group(0) @binding(6) var c: texture_cube<f32>;
@group(0) @binding(7) var n: texture_2d<i32>;
struct Out { @location(0) a: vec4<f32>, @location(1) b: vec4<f32>, @location(2) c: vec4<f32>, @location(3) e: vec4<f32> }
fn red(x: texture_2d<f32>, y: sampler, uv: vec2<f32>) -> f32 { return textureSample(x, y, uv).x; }
@fragment fn main(@location(0) uv: vec2<f32>) -> Out {
  var o: Out;
  o.a = vec4(red(t, s, uv), textureSampleLevel(t, s, uv, 0.0).x, textureSampleGrad(t, s, uv, vec2(0.1), vec2(0.1)).x, textureSample(t, s, uv, vec2(1, 0)).x);
  o.b = vec4(textureLoad(t, vec2(0, 1), 0).x, vec2<f32>(textureDimensions(t)), f32(textureNumLayers(a)));
  // The four texels around the point: (i0, j1), (i1, j1), (i1, j0), (i0, j0), each half a texel from it.
  o.c = textureGather(0, t, s, uv + vec2(0.125, 0.125));
  o.e = vec4(textureSampleLevel(v, s, vec3(uv, uv.y), 0.0).x, textureSampleLevel(c, s, vec3(1.0, 0.1, 0.1), 0.0).x, f32(textureLoad(n, vec2(0, 0), 0).x), textureSampleLevel(a, s, uv, 1, 0.0).x);
  return o;
}
