// What sums more than squares is no length: a factor that the squared lanes share does not go.
// test run
// target r700
#version 450
layout(location = 0) in vec3 view;
layout(location = 1) in vec2 more;
layout(location = 0) out vec2 o;

void main() {
    float len = inversesqrt(dot(view, view));
    float x = view.x * len, y = view.y * len;
    float r = inversesqrt(x * x + (y * y + more.x * more.y));
    o = vec2(x * r, y * r);
}
// run: {"view": [3, 4, 0], "more": [1, 3]} => {"o": [0.3, 0.4]}
