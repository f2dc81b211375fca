// An arm that ends the program must not run into an endless loop to which several ways lead.
// test run
// target tesla
// target r700
// target usse
// target pica
// target tesla opt=0
// target r700 opt=0
// target usse opt=0
// target pica opt=0
#version 450
layout(location = 0) in vec4 v;
void main() {
    if (v.x > 0.0) {
        if (v.y > 0.0) {
            gl_Position = v;
            return;
        }
    }
    for (;;) {}
}
// run: {"v": [1, 2, 3, 4]} => {"position": [1, 2, 3, 4]}
