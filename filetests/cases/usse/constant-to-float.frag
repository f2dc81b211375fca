// test run
// target usse
// An integer that is constant only after everything was taken apart is converted from a literal.
#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 colour;
void main() {
    int n = 0;
    vec2 z = at;
    for (int k = 0; k < 3; k++) {
        if (dot(z, z) > 4.0) break;
        z = z * z + at;
        n++;
    }
    colour = vec4(float(n), float(n % 2), 0.0, 1.0);
}
// run: {"at": [0.25, 0.25]} => {"colour": [3, 1, 0, 1]}
