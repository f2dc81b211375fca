// A counted loop that may end early: LOOP with BREAKC, and what it found is passed on.
// test emit
// test run
// target pica
// check: for i3
// check: cmp
// check: breakc
// check: .end
// not: jmpu
#version 450
layout(location = 0) in vec4 a;
layout(std140, binding = 0) uniform U { vec4 table[40]; };
layout(location = 2) out vec4 color;
void main() {
    vec4 sum = a;
    float found = -1.0;
    for (int i = 0; i < 40; i++) {
        sum += table[i] * a.x;
        if (sum.y > 3.0) { found = float(i); break; }
        sum.z += 1.0;
    }
    color = vec4(found, sum.yzw);
    gl_Position = a;
}
// env: {"uniforms": {"table": [[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]}}
// run: {"a": [1, 0, 0, 2]} => {"color": [3, 4, 3, 2], "position": [1, 0, 0, 2]}
// run: {"a": [1, 2.5, 0, 2]} => {"color": [0, 3.5, 0, 2], "position": [1, 2.5, 0, 2]}
// run: {"a": [0, 1, 0, 2]} => {"color": [-1, 1, 40, 2], "position": [0, 1, 0, 2]}
