// Of a cube map, too, the unit tells the level, of the place on the face.
// test emit
// test run
// target r700
// check: TEX_GET_LOD
// check: CUBE
#version 450
layout(location = 0) in vec3 direction;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform samplerCube t;
void main() {
    o = textureQueryLod(t, direction).xyxy;
}
// env: {"textures": {"t": {"dim": "cube", "size": [4, 4], "levels": 2, "texels": [[0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0]]}}}
// run: [{"direction": [8, -4, -4]}, {"direction": [8, 4, -4]}, {"direction": [8, -4, 4]}, {"direction": [8, 4, 4]}] => [{"o": [1, 1, 1, 1]}, {"o": [1, 1, 1, 1]}, {"o": [1, 1, 1, 1]}, {"o": [1, 1, 1, 1]}]
