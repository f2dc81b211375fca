// Sizes, gathers and offsets of level 0 come of what the application sets `map.size` and `volume.size` to.
// test run
// test compile
// target usse
// target usse opt=0
// check@compile: map.size
// check@compile: volume.size
#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 sizes;
layout(location = 1) out vec4 around;
layout(location = 2) out vec2 beside;
layout(binding = 0) uniform sampler2D map;
layout(binding = 1) uniform sampler3D volume;
void main() {
    gl_Position = vec4(at, 0.0, 1.0);
    sizes = vec4(textureSize(map, 0).y, textureSize(volume, 0));
    around = textureGather(map, at, 1);
    beside = textureLodOffset(map, at, 0.0, ivec2(1, -1)).xy;
}
// env: {"textures": {"map": {"size": [3, 2], "texels": [[0, 0], [1, 0.5], [2, 1], [3, 1.5], [4, 2], [5, 2.5]]}, "volume": {"dim": "3d", "size": [1, 2, 3], "texels": [[0], [0], [0], [0], [0], [0]]}}}
// run: {"at": [0.5, 0.75]} => {"sizes": [2, 1, 2, 3], "around": [0.5, 1, 2.5, 2], "beside": [2, 1]}
