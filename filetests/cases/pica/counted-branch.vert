// A counted loop that contains branches of a function: LOOP with IFC inside, no jump.
// test emit
// test run
// target pica opt=s
// check: for i3
// check: ifc
// check: .else
// not: jmp
#version 450
layout(location = 0) in vec4 n;
layout(std140, binding = 0) uniform U { vec4 light[4]; };
layout(location = 2) out vec4 color;
float shade(vec4 l) {
    float d = dot(n.xyz, l.xyz);
    if (l.w > 0.0) d = d * 0.5 + 0.5;
    else if (d < 0.0) d = n.w;
    return d;
}
void main() {
    float c = 0.0;
    for (int i = 0; i < 4; i++) c += shade(light[i]);
    color = vec4(c);
    gl_Position = n;
}
// env: {"uniforms": {"light": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, -1]]}}
// run: {"n": [1, 2, 4, 0.25]} => {"color": [12.5, 12.5, 12.5, 12.5], "position": [1, 2, 4, 0.25]}
// run: {"n": [-1, 2, -4, 0.25]} => {"color": [1, 1, 1, 1], "position": [-1, 2, -4, 0.25]}
