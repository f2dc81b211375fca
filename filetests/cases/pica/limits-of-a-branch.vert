// What is read in a branch only says nothing of the index before it, beside it or behind it: element 3 has no next one.
// test run
// target pica
// target pica opt=0
#version 450
layout(location = 0) in vec3 a;
layout(location = 0) out vec4 o;
layout(location = 1) out vec4 p;
layout(location = 2) out vec4 q;
layout(binding = 0) uniform U { vec4 t[4]; };
layout(binding = 1) uniform V { vec4 u[4]; };
layout(binding = 2) uniform W { vec4 v[4]; };
void main() {
    int i = int(a.x);
    vec4 x = t[i], y = vec4(0.0);
    if (i < 3) y = t[i + 1] * a.y + t[i + 1].wzyx * t[i + 1];
    gl_Position = x;
    o = y;
    int k = int(a.y);
    vec4 r = vec4(0.0);
    if (a.y < 3.0) r = u[k + 1] * a.x + u[k + 1].wzyx * u[k + 1];
    p = u[k] + r;
    int n = int(a.z);
    q = v[n] + (a.z < 3.0 ? v[n + 1].x : 0.0);
}
// env: {"uniforms": {"t": [[1, 0, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0], [4, 0, 0, 0]], "u": [[5, 0, 0, 0], [6, 0, 0, 0], [7, 0, 0, 0], [8, 0, 0, 0]], "v": [[1, 2, 3, 4], [5, 6, 7, 8], [2, 2, 2, 2], [3, 3, 3, 3]]}}
// run: {"a": [3, 3, 3]} => {"position": [4, 0, 0, 0], "o": [0, 0, 0, 0], "p": [8, 0, 0, 0], "q": [3, 3, 3, 3]}
// run: {"a": [2, 1, 1]} => {"position": [3, 0, 0, 0], "o": [4, 0, 0, 0], "p": [20, 0, 0, 0], "q": [7, 8, 9, 10]}
// run: {"a": [0, 3, 0]} => {"position": [1, 0, 0, 0], "o": [6, 0, 0, 0], "p": [8, 0, 0, 0], "q": [6, 7, 8, 9]}
