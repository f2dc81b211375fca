// Depth textures: comparison, its gather, and plain reading.
// @refused usse: no comparison textures
// @bind { "textures": { "d": { "size": [2,2], "filter": "nearest", "wrap": "repeat", "depth": true, "texels": [[0.25,0,0,0],[0.5,0,0,0],[0.75,0,0,0],[1,0,0,0]] },
//     "e": { "size": [2,2], "filter": "nearest", "wrap": "repeat", "depth": true, "texels": [[0.25,0,0,0],[0.5,0,0,0],[0.75,0,0,0],[1,0,0,0]] } },
//   "invocations": [ { "inputs": { "uv": [0.25,0.25] } }, { "inputs": { "uv": [0.75,0.25] } }, { "inputs": { "uv": [0.25,0.75] } }, { "inputs": { "uv": [0.75,0.75] } } ] }
// @expect { "invocations": [ { "outputs": { "location0": [0,0,0.25,0.75] } }, { "outputs": { "location0": [0,0,0.5,0.75] } }, { "outputs": { "location0": [1,1,0.75,0.75] } }, { "outputs": { "location0": [1,1,1,0.75] } } ] }
@group(0) @binding(0) var d: texture_depth_2d;
@group(0) @binding(1) var s: sampler_comparison;
@group(0) @binding(2) var e: texture_depth_2d;
@group(0) @binding(3) var p: sampler;
@fragment fn main(@location(0) uv: vec2<f32>) -> @location(0) vec4<f32> {
  let x = textureSampleCompare(d, s, uv, 0.6);
  let y = textureSampleCompareLevel(d, s, uv, 0.6);
  return vec4(x, y, textureSample(e, p, uv), textureLoad(e, vec2(0, 1), 0));
}
