// A chain of vector sums stays in an internal register: four lanes a word until the result is stored by pairs.
// test emit
// test run
// target usse
// check: VMAD2 i0.xyzw pa0.yyyy
// check: VMAD2 i0.xyzw pa2.xxxx sa8.xyzw i0.xyzw
#version 450
layout(location = 0) in vec3 place;
layout(std140, binding = 0) uniform View { mat4 to_clip; };
void main() {
    gl_Position = to_clip * vec4(place, 1.0);
}
// env: {"uniforms": {"to_clip": [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [4, 5, 6, 1]]}}
// run: {"place": [1, 1, 1]} => {"position": [5, 7, 9, 1]}
