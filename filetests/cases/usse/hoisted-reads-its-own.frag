// test run
// target usse
// A negated uniform whose bits are taken: the whole chain belongs to the secondary program, copy included.
#version 450
layout(std140, binding = 0) uniform U { vec4 u; };
layout(location = 0) in vec4 a;
layout(location = 0) out vec4 o0;
void main() { o0 = a * float(int(a.z)) * float(int(-u.x)); }
// env: {"uniforms": {"u": [-3, 0, 0, 0]}}
// run: {"a": [0.5, 0.25, 2, 1]} => {"o0": [3, 1.5, 12, 6]}
