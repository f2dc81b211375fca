// A break inside ifs of a counted loop: the ifs around it are jumps, so that BREAKC stands at the loop's own level.
// test emit
// test run
// target pica
// check: for i3
// check: jmpc
// check: breakc
// check: jmpu
// check: breakc
// check: .end
#version 450
layout(location = 0) in vec4 a;
layout(std140, binding = 0) uniform U { vec4 table[4]; bool stop; };
layout(location = 2) out vec4 color;
void main() {
    vec4 sum = a;
    for (int i = 0; i < 40; i++) {
        sum.xy += table[i & 3].xy;
        if (sum.x > 2.0) {
            sum.z += 1.0;
            if (sum.y > 3.0) { sum.w += 2.0; break; }
            if (stop) break;
            sum.x *= 0.5;
        } else if (sum.y < -3.0) break;
        sum.z += 1.0;
    }
    color = sum;
    gl_Position = a;
}
// env: {"uniforms": {"table": [[1, 1, 0, 0], [1, 0, 0, 0], [1, -1, 0, 0], [1, 1, 0, 0]], "stop": false}}
// run: {"a": [0, 0, 0, 0]} => {"color": [2.0009765625, 4, 23, 2], "position": [0, 0, 0, 0]}
// run: {"a": [2, 3, 0, 1]} => {"color": [3, 4, 1, 3], "position": [2, 3, 0, 1]}
// run: {"a": [-9, -4, 0, 1]} => {"color": [-6, -4, 2, 1], "position": [-9, -4, 0, 1]}
// env: {"uniforms": {"table": [[1, 1, 0, 0], [1, 0, 0, 0], [1, -1, 0, 0], [1, 1, 0, 0]], "stop": true}}
// run: {"a": [0, 0, 0, 0]} => {"color": [3, 0, 3, 0], "position": [0, 0, 0, 0]}
