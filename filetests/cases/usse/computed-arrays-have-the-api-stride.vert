// test emit
// test run
// target usse
// Arrays that are read with a computed index are one parameter each, in the layout in which the Vita API writes them.
// check: # parameter uniform pal f32x1[8] container 14 resource
// check: # parameter uniform q f32x2[8] container 14 resource
// check: # parameter uniform t s32x3[4] container 14 resource
#version 450
layout(location = 0) in vec4 p;
layout(location = 0) out vec4 o;
layout(location = 1) out vec4 s;
layout(std140, binding = 0) uniform U { float pal[8]; vec2 q[8]; ivec3 t[4]; int k; };
void main() {
    gl_Position = p;
    o = vec4(pal[k], q[k], 1.0);
    s = vec4(t[k], 1);
}
// env: {"uniforms": {"pal": [0, 1, 2, 3, 4, 5, 6, 7], "q": [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [1, 1], [1, 1], [1, 1]], "t": [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]], "k": 2}}
// run: {"p": [1, 2, 3, 4]} => {"position": [1, 2, 3, 4], "o": [2, 4, 5, 1], "s": [7, 8, 9, 1]}
