// Outside of the texture, above it, and below and behind its levels, texels are zero.
// test run
// target usse
// target usse opt=0
#version 450
layout(location = 0) in vec4 at;
layout(location = 0) out vec2 result;
layout(binding = 0) uniform sampler2D image;
layout(binding = 1) uniform sampler3D volume;
void main() {
    result = vec2(texelFetch(image, ivec2(at), int(at.z)).x, texelFetch(volume, ivec3(at.xyw), 0).x);
}
// env: {"textures": {"image": {"size": [5, 2], "levels": 3, "texels": [[1], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11], [12]]}, "volume": {"dim": "3d", "size": [1, 2, 2], "texels": [[1], [2], [3], [4]]}}}
// run: {"at": [0, 1, 0, 1]} => {"result": [5, 4]}
// run: {"at": [0, 0, 2, 0]} => {"result": [12, 1]}
// run: {"at": [0, 0, 3, 2]} => {"result": [0, 0]}
// run: {"at": [0, 0, -1, -1]} => {"result": [0, 0]}
// run: {"at": [0, 2, 0, 0]} => {"result": [0, 0]}
// run: {"at": [-1, 0, 0, 0]} => {"result": [0, 0]}
