// The address of a matrix of an array is one product and sum, whatever the number of its columns.
// test emit
// test run
// target usse color=f32
// not: SHL
// check: IMAD
// not: IMAD
// check: LDR
#version 450
layout(location = 0) in vec4 p;
layout(location = 1) in int bone;
layout(std140, binding = 0) uniform B { mat4 palette[3]; };
void main() {
    gl_Position = palette[bone] * p;
}
// env: {"uniforms": {"palette": [[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2]], [[3, 0, 0, 0], [0, 3, 0, 0], [0, 0, 3, 0], [1, 0, 0, 3]]]}}
// run: {"p": [1, 2, 3, 1], "bone": 1} => {"position": [2, 4, 6, 2]}
// run: {"p": [1, 2, 3, 1], "bone": 2} => {"position": [4, 6, 9, 3]}
// run: {"p": [1, 2, 3, 1], "bone": -1} => {"position": [4, 6, 9, 3]}
