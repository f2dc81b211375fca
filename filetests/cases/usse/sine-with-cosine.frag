// A sine and a cosine are one computation on two lanes: what differs between them is a constant.
// test emit
// test run
// target usse
// check: VFRC pa0.xy
// not: VFRC
#version 450
layout(location = 0) in float angle;
layout(location = 1) in vec2 p;
layout(location = 0) out vec4 color;
void main() {
    float s = sin(angle), c = cos(angle);
    color = vec4(mat2(c, s, -s, c) * p, 0.0, 1.0);
}
// run: {"angle": 0, "p": [0.25, 0.5]} => {"color": [0.25, 0.5, 0, 1]}
// tolerance: 0.004
// run: {"angle": 1.5707963, "p": [0.25, -0.5]} => {"color": [0.5, 0.25, 0, 1]}
