// A loop loads the index that was loaded before it again, since its later rounds find another one in the register.
// test run
// target pica
#version 450
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 which;
layout(location = 0) out vec4 seen;
layout(std140, binding = 0) uniform U {
    vec4 table[8];
    int rounds;
};
void main() {
    int a = int(which.x);
    vec4 s = table[a];
    for (int i = 0; i < rounds; i++) {
        s = s * table[a] + place;
        s = s * 0.5 + table[i + 1];
        s = s * s + table[i * 2];
    }
    gl_Position = s;
    seen = s;
}
// env: {"uniforms": {"table": [1, 1, 1, 1, 2, 0, 1, 3, 0, 1, 2, 0, 1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1], "rounds": 3}}
// run: {"place": [1, 0, 2, 1], "which": [1, 0, 0, 0]} => {}
