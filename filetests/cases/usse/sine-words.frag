// The turns of an angle and their start are one multiply-add; what is added before a factor joins it.
// test emit
// test run
// target usse
// not: VADD pa0.x pa0.x c12
// check: VMAD2
// check: VFRC
#version 450
layout(location = 0) in vec4 angle;
layout(location = 0) out vec4 colour;
void main() {
    colour = vec4((1.0 - cos(angle.x)) / 4.0);
}
// run: {"angle": [0, 0, 0, 0]} => {"colour": [0, 0, 0, 0]}
