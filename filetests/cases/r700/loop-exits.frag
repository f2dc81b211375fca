// Lanes leave a loop, and end its rounds, only where no branch is open within it: where the source leaves out of a branch, a flag
// says so until the branch is closed. What ELSE and POP do to lanes that have left then does not matter.
// test disasm
// test run
// target r700
// check@disasm: ALU_BREAK
// not: LOOP_BREAK
// not: CONTINUE
#version 450
layout(location = 0) flat in ivec4 a;
layout(location = 0) out vec4 o;
void main() {
    int s = 0;
    for (int i = 0; i < a.x; i++) {
        if ((i & 1) == a.y) {
            if (i == a.z) break;
            continue;
        }
        s += i * a.w;
        if (s > 100) {
            if (a.w > 3) break;
            s -= 7;
        }
    }
    o = vec4(float(s));
}
// run: [{"a": [6, 1, 3, 2]}, {"a": [10, 1, 99, 5]}, {"a": [12, 1, 99, 5]}, {"a": [14, 1, 99, 3]}] => [{"o": [4, 4, 4, 4]}, {"o": [100, 100, 100, 100]}, {"o": [150, 150, 150, 150]}, {"o": [119, 119, 119, 119]}]
