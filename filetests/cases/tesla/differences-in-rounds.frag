// Lanes that skip a part of a round, or leave, do not part from their neighbours: differences of the next round are taken together.
// test interpret
// test run
// target tesla
// target tesla opt=0
// target tesla opt=s
#version 450
layout(location = 0) in vec3 c;
layout(location = 0) out vec4 o;
void main() {
    vec4 s = vec4(0.0);
    for (int i = 0; i < int(c.z); i++) {
        s.w += dFdy(c.x);
        s.x += dFdx(c.x * float(i + 1));
        if (c.y == float(i)) continue;
        s.y += dFdx(c.x);
        if (s.y > 3.0) break;
        s.z += 1.0;
    }
    o = s;
}
// run: [{"c": [1, 9, 3]}, {"c": [2, 0, 3]}, {"c": [4, 9, 3]}, {"c": [8, 1, 1]}] => [{"o": [6, 2, 3, 3]}, {"o": [6, 2, 2, 6]}, {"o": [4, 4, 0, 3]}, {"o": [4, 4, 0, 6]}]
