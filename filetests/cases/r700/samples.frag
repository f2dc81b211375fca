// A sample of a texel is fetched by its number in W: there is one level, and no layer.
// test run
// target r700
// env: {"textures": {"t": {"size": [2, 1], "layers": 2, "texels": [[1], [2], [3], [4]]}}}
// run: {"at": [1, 0]} => {"colour": [2, 4, 0, 0]}
// run: {"at": [0, 0]} => {"colour": [1, 3, 0, 0]}
#version 450
layout(binding = 0) uniform sampler2DMS t;
layout(location = 0) flat in ivec2 at;
layout(location = 0) out vec4 colour;
void main() {
    colour = vec4(texelFetch(t, at, 0).x, texelFetch(t, at, 1).x, 0.0, 0.0);
}
