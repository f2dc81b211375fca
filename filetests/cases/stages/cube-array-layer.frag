// The layer of an array of cubes is rounded and clamped like any other.
// test interpret
// test run
// target tesla chip=gt215
// target r700
#version 450
layout(location = 0) in vec4 d;
layout(binding = 0) uniform samplerCubeArray ar;
layout(location = 0) out vec4 o;
void main() { o = vec4(texture(ar, d).xy, textureLod(ar, d, 0.0).xy); }
// env: {"textures": {"ar": {"dim": "cube", "size": [1, 1], "layers": 2, "filter": "nearest", "wrap": "clamp", "texels": [[0, 0, 0, 1], [1, 0, 0, 1], [2, 0, 0, 1], [3, 0, 0, 1], [4, 0, 0, 1], [5, 0, 0, 1], [0, 1, 0, 1], [1, 1, 0, 1], [2, 1, 0, 1], [3, 1, 0, 1], [4, 1, 0, 1], [5, 1, 0, 1]]}}}
// run: [{"d": [1, 0, 0, 0.49]}, {"d": [-1, 0, 0, 0.5]}, {"d": [0, 1, 0, -3]}, {"d": [0, 0, -1, 9.6]}] => [{"o": [0, 0, 0, 0]}, {"o": [1, 1, 1, 1]}, {"o": [2, 0, 2, 0]}, {"o": [5, 1, 5, 1]}]
