// Where either the sine or the cosine of an angle is wanted, a quarter turn is chosen and T makes one of them.
// test emit
// test run
// target r700
// check: SIN
// not: COS
#version 450
layout(location = 0) in vec2 angle;
layout(location = 0) out float o;

void main() {
    o = angle.y > 0.0 ? sin(angle.x) : cos(angle.x);
}
// run: [{"angle": [1, 1]}, {"angle": [1, -1]}, {"angle": [-2.5, 1]}, {"angle": [-2.5, -1]}] => [{"o": 0.841471}, {"o": 0.540302}, {"o": -0.598472}, {"o": -0.801144}]
