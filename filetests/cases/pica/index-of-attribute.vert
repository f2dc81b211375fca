// An integer attribute names a matrix: what lies beyond the array is clamped, nothing needs a proof.
// test run
// target pica
#version 450
layout(location=0) in vec4 p; layout(location=1) in ivec4 bone;
layout(std140,binding=0) uniform U { vec4 m[20]; vec4 k[3]; };
layout(location=2) out vec4 color;
void main(){ gl_Position = m[bone.x * 4] + p; color = k[bone.y * bone.z]; }
// env: {"uniforms": {"m": [0,0,0,0, 1,1,1,1, 2,2,2,2, 3,3,3,3, 4,4,4,4, 5,5,5,5, 6,6,6,6, 7,7,7,7, 8,8,8,8, 9,9,9,9, 10,10,10,10, 11,11,11,11, 12,12,12,12, 13,13,13,13, 14,14,14,14, 15,15,15,15, 16,16,16,16, 17,17,17,17, 18,18,18,18, 19,19,19,19], "k": [1,2,3,4, 5,6,7,8, 9,10,11,12]}}
// run: {"p": [0, 0, 0, 1], "bone": [2, 1, 1, 0]} => {"position": [8, 8, 8, 9], "color": [5, 6, 7, 8]}
// run: {"p": [0, 0, 0, 1], "bone": [0, 30000, 30000, 0]} => {"position": [0, 0, 0, 1], "color": [9, 10, 11, 12]}
