// The derivatives of a vector are one fetch along each axis.
// test emit
// test run
// target r700
// check: TEX 1 @
// check: TEX_GET_GRADIENTS_H T$(r=\d+).XYZW
// check: TEX_GET_GRADIENTS_V
// not: TEX_GET
#version 450
layout(location = 0) in vec4 v;
layout(location = 0) out vec4 o;
void main() {
    o = fwidth(v);
}
// run: [{"v": [0, 1, 2, 3]}, {"v": [1, 3, 5, 7]}, {"v": [4, 4, 4, 4]}, {"v": [5, 6, 7, 8]}] => [{"o": [5, 5, 5, 5]}, {"o": [5, 5, 5, 5]}, {"o": [5, 5, 5, 5]}, {"o": [5, 5, 5, 5]}]
