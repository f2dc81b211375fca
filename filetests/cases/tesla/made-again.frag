// Of what waits over a loop's rounds, that which follows from other things that wait is made again where it is read: here twice `b`.
// test regalloc
// test run
// target tesla chip=g80
// check: registers [1, 1$(n=[0-8]), 0]
#version 450
layout(location = 0) in vec3 a;
layout(location = 1) in vec2 b;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform U { int n; };
void main() {
    vec3 p = a * a;
    vec3 r = 1.0 - p;
    vec2 q = 2.0 * b;
    vec3 s = vec3(0);
    vec2 u = b;
    for (int i = 0; i < n; i++) {
        if (s.x > b.x) {
            u = u * q + b;
            s = s * s + u.x;
        } else {
            s = s * p + r;
            u = exp2(u);
        }
    }
    o = vec4(dot(s, a), u.x, u.y, dot(r, p));
}
// env: {"uniforms": {"n": 3}}
// run: {"a": [0.5, 0.25, 1], "b": [0.5, 2]} => {"o": [12.906523, 2.4142137, 74, 0.24609375]}
