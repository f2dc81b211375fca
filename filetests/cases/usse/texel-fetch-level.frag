// Other levels are smaller by powers of two, down to one texel.
// test run
// target usse
// target usse opt=0
#version 450
layout(location = 0) in vec3 at;
layout(location = 0) out vec4 result;
layout(binding = 0) uniform sampler2D image;
void main() {
    int level = int(at.z);
    vec4 texel = texelFetch(image, ivec2(at), level);
    result = vec4(texel.x, textureSize(image, level), textureQueryLevels(image));
}
// env: {"textures": {"image": {"size": [5, 2], "levels": 3, "texels": [[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11], [12]]}}}
// run: {"at": [4, 1, 0]} => {"result": [9, 5, 2, 3]}
// run: {"at": [1, 0, 1]} => {"result": [11, 2, 1, 3]}
// run: {"at": [0, 0, 2]} => {"result": [12, 1, 1, 3]}
// run: {"at": [2, 0, 1]} => {"result": [0, 2, 1, 3]}
