// The length of what stands across a normalised vector does not wait for that vector's length: both reciprocals are there after one sum of squares.
// test emit
// test run
// target r700
// check: RECIPSQRT_IEEE
// nextln: MUL_IEEE
// nextln: MUL_IEEE
// nextln: RECIPSQRT_IEEE
#version 450
layout(location = 0) in vec3 view;
layout(location = 0) out vec3 forward;
layout(location = 1) out vec3 right;

void main() {
    forward = normalize(view);
    right = normalize(cross(forward, vec3(0.0, 1.0, 0.0)));
}
// run: {"view": [3, 4, 0]} => {"forward": [0.6, 0.8, 0], "right": [0, 0, 1]}
// run: {"view": [0, 0, -2]} => {"forward": [0, 0, -1], "right": [1, 0, 0]}
