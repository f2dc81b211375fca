// The columns of a matrix in memory have one address; the load's own offset tells them apart.
// test emit
// test run
// target usse
// check: IMAD
// nextln: LDR
// nextln: LDR
// nextln: LDR
// nextln: LDR
// nextln: WDF
#version 450
layout(location = 0) in vec4 p;
layout(location = 1) in int bone;
layout(std140, binding = 0) uniform U { mat4 bones[3]; };
void main() { gl_Position = bones[bone] * p; }
// env: {"uniforms": {"bones": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}}
// run: {"p": [1, 2, 3, 1], "bone": 1} => {"position": [3, 7, 13, 1]}
