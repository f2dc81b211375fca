// A layer is the nearest whole number, halves upwards, clamped to the layers; whatever the machine does itself is not done twice.
// test interpret
// test run
// target tesla
// target r700
#version 450
layout(location = 0) in vec3 uv;
layout(binding = 0) uniform sampler2DArray ar;
layout(location = 0) out vec4 o;
void main() { o = vec4(texture(ar, uv).x, textureLod(ar, uv, 0.0).y, textureOffset(ar, uv, ivec2(1, 0)).x, 1.0); }
// env: {"textures": {"ar": {"size": [2, 1], "layers": 3, "filter": "nearest", "wrap": "clamp", "texels": [[0, 5, 0, 1], [0.5, 0, 0, 1], [1, 6, 0, 1], [1.5, 0, 0, 1], [2, 7, 0, 1], [2.5, 0, 0, 1]]}}}
// run: [{"uv": [0.25, 0.5, 0]}, {"uv": [0.25, 0.5, 0.4]}, {"uv": [0.25, 0.5, 0.5]}, {"uv": [0.25, 0.5, 0.6]}] => [{"o": [0, 5, 0.5, 1]}, {"o": [0, 5, 0.5, 1]}, {"o": [1, 6, 1.5, 1]}, {"o": [1, 6, 1.5, 1]}]
// run: [{"uv": [0.25, 0.5, 1.4999]}, {"uv": [0.25, 0.5, 1.5]}, {"uv": [0.25, 0.5, 1.9999999]}, {"uv": [0.25, 0.5, 2.5]}] => [{"o": [1, 6, 1.5, 1]}, {"o": [2, 7, 2.5, 1]}, {"o": [2, 7, 2.5, 1]}, {"o": [2, 7, 2.5, 1]}]
// run: [{"uv": [0.25, 0.5, -0.4]}, {"uv": [0.25, 0.5, -7]}, {"uv": [0.25, 0.5, 600]}, {"uv": [0.25, 0.5, 1e20]}] => [{"o": [0, 5, 0.5, 1]}, {"o": [0, 5, 0.5, 1]}, {"o": [2, 7, 2.5, 1]}, {"o": [2, 7, 2.5, 1]}]
