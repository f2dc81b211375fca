// Gathers with offsets that are computed, and with constants beyond those of samples; a texture of 4 by 2 texels, each its own number.
// @refused pica: no fragment programs
// @bind { "textures": { "t": { "size": [4,2], "filter": "nearest", "wrap": "repeat",
//     "texels": [[1,0,0,0],[2,0,0,0],[3,0,0,0],[4,0,0,0],[5,0,0,0],[6,0,0,0],[7,0,0,0],[8,0,0,0]] } },
//   "uniforms": { "k": [3,-5] },
//   "invocations": [ { "inputs": { "uv": [0.5,0.5] } }, { "inputs": { "uv": [0.5,0.5] } }, { "inputs": { "uv": [0.5,0.5] } }, { "inputs": { "uv": [0.5,0.5] } } ] }
// @expect { "invocations": [
//   { "outputs": { "o": [111,222,666,555] } }, { "outputs": { "o": [111,222,666,555] } },
//   { "outputs": { "o": [111,222,666,555] } }, { "outputs": { "o": [111,222,666,555] } } ] }
#version 450
layout(binding = 0) uniform sampler2D t;
layout(binding = 1) uniform B { ivec2 k; };
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 o;
void main() {
  // (i0, j1), (i1, j1), (i1, j0), (i0, j0), from texel (1, 0) on.
  o = textureGatherOffset(t, uv, k) * 100.0 + textureGatherOffset(t, uv, ivec2(3, -5)) * 10.0 + textureGatherOffset(t, uv, ivec2(-29, 19));
}
