// What several cases give to all lanes is chosen among single numbers: the vector is chosen once.
// test emit
// test run
// target r700
// check: CNDE_INT
// check: CNDE_INT
// check: CNDE_INT
// check: CNDE_INT
// check: CNDE_INT
// check: CNDE_INT
// not: CNDE_INT
#version 450
layout(location = 0) in flat int which;
layout(location = 1) in vec4 other;
layout(location = 0) out vec4 colour;

void main() {
    switch (which) {
    case 3: colour = vec4(5.0); break;
    case 7: colour = vec4(6.0); break;
    case 12: colour = vec4(7.0); break;
    default: colour = other;
    }
}
// run: [{"which": 3, "other": [1, 2, 3, 4]}, {"which": 7, "other": [1, 2, 3, 4]}, {"which": 12, "other": [1, 2, 3, 4]}, {"which": 8, "other": [1, 2, 3, 4]}] => [{"colour": [5, 5, 5, 5]}, {"colour": [6, 6, 6, 6]}, {"colour": [7, 7, 7, 7]}, {"colour": [1, 2, 3, 4]}]
