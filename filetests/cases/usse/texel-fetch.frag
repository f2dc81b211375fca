// SMP takes normalised coordinates: texels are read at their centres, by the size that the application sets `image.size` to.
// test run
// test legalise
// target usse
// target usse opt=0
// check: uniform %image.size : f32x4
// check: @size_of(%image)
// check: frcp
// check: tex.f32x4 sample zero %image
#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 result;
layout(binding = 0) uniform sampler2D image;
void main() {
    result = texelFetch(image, ivec2(at), 0) + 10.0 * texelFetchOffset(image, ivec2(at), 0, ivec2(-1, 1));
}
// env: {"textures": {"image": {"size": [3, 2], "texels": [[0, 0, 1, 1], [1, 0, 2, 1], [2, 0, 3, 1], [0, 1, 4, 1], [1, 1, 5, 1], [2, 1, 6, 1]]}}}
// run: {"at": [2, 0]} => {"result": [12, 10, 53, 11]}
// Outside there is nothing.
// run: {"at": [0, 0]} => {"result": [0, 0, 1, 1]}
// run: {"at": [2, 1]} => {"result": [2, 1, 6, 1]}
// run: {"at": [-1, 0]} => {"result": [0, 0, 0, 0]}
// run: {"at": [1e30, 3]} => {"result": [0, 0, 0, 0]}
// run: {"at": [1, 0]} => {"result": [1, 10, 42, 11]}
