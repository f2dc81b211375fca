// Cull distances stand behind the clip distances, in the same vectors: two targets for five and two of them.
// test disasm
// target r700
// check: ARRAY_BASE=60
// check: ARRAY_BASE=61
// not: ARRAY_BASE=63
// test run
// run: {"p": [2, 3, 4, 5]} => {"clip_distances": [0, 3, 8, 15, 8], "cull_distances": [1, 2]}
#version 450
layout(location = 0) in vec4 p;
out float gl_ClipDistance[5];
out float gl_CullDistance[2];
void main() {
    gl_Position = p;
    for (int k = 0; k < 5; k++) gl_ClipDistance[k] = p[k & 3] * float(k);
    gl_CullDistance[0] = p.x - 1.0;
    gl_CullDistance[1] = p.y - 1.0;
}
