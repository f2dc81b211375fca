// What all lanes add is added once: three sums of single numbers and one for each lane.
// test compile
// target r700
// check: ADD
// check: ADD
// check: ADD
// check: ADD
// check: ADD
// check: ADD
// not: ADD
#version 450
layout(location = 0) in vec3 v;
layout(location = 1) in float a;
layout(location = 2) in float b;
layout(location = 3) in float c;
layout(location = 4) in float d;
layout(location = 0) out vec4 colour;
void main() {
    colour = vec4(a + v + b + c + d, 1.0);
}
