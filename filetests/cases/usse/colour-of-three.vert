// Published fragment programs read all four components of a colour: the one that the source does not have is 1.
// test emit
// test run
// target usse
// check: VMOV.f32 o6.-y c1.-y
// check: EMIT
#version 450
layout(location = 0) in vec4 p;
layout(location = 10) out vec3 colour;
void main() {
    gl_Position = p;
    colour = p.xyz;
}
// run: {"p": [0.5, 0.25, 2, 3]} => {"colour": [0.5, 0.25, 2]}
