// A product of matrices that is precise is neither contracted nor applied factor by factor: 4 products and 2 sums here, and the same for the vector.
// test emit
// target tesla
// not: (mul
// check: mul f32
// check: mul f32
// check: mul f32
// check: mul f32
// check: mul f32
// check: mul f32
// check: mul f32
// check: mul f32
// check: mul f32
// check: mul f32
// check: mul f32
// check: mul f32
// not: mul f32
#version 450
layout(std140, binding = 0) uniform U { mat2 a; mat2 b; };
layout(location = 0) in vec2 v;
void main() {
    precise mat2 m = a * b;
    precise vec2 r = m * v;
    gl_Position = vec4(r, 0.0, 1.0);
}
