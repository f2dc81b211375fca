// An integer comes to a fragment program as two floats, whose fractions are rounding of the iterators.
// test emit
// test run
// target usse
// check: texcoord1 f32x2
// check: VADD
// check: VPCKU16F32
#version 450
layout(location = 1) flat in uint id;
layout(location = 0) out vec4 colour;
void main() {
    colour = vec4(float(id & 255u), float(id >> 8 & 255u), float(id >> 16 & 255u), float(id >> 24));
}
// run: {"id": 0} => {"colour": [0, 0, 0, 0]}
// run: {"id": 4294967295} => {"colour": [255, 255, 255, 255]}
// run: {"id": 16909060} => {"colour": [4, 3, 2, 1]}
// run: {"id": 65535} => {"colour": [255, 255, 0, 0]}
// run: {"id": 2147483648} => {"colour": [0, 0, 0, 128]}
