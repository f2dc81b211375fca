// Several primitives of a warp go through the instances together, with strips and rounds of their own.
// test interpret
// test run
// test emit
// target tesla
// target tesla chip=gt215
// target tesla opt=s
// target tesla opt=0
// check: emit
#version 450
layout(points, invocations = 4) in;
layout(line_strip, max_vertices = 6) out;
layout(location = 0) in float n[];
layout(location = 0) out float o;
void main() {
    int count = int(n[0]) - gl_InvocationID;
    for (int i = 0; i < count; i++) {
        if (i == 2 && gl_InvocationID == 1) {
            EndPrimitive();
            continue;
        }
        if (i > 3) break;
        gl_Position = vec4(i, gl_InvocationID, n[0], 1.0);
        o = float(10 * gl_InvocationID + i);
        EmitVertex();
    }
}
// run: [{"n": [3]}, {"n": [0]}, {"n": [5]}] => [{"primitives": [[{"position": [0, 0, 3, 1], "o": 0}, {"position": [1, 0, 3, 1], "o": 1}, {"position": [2, 0, 3, 1], "o": 2}], [{"position": [0, 1, 3, 1], "o": 10}, {"position": [1, 1, 3, 1], "o": 11}], [{"position": [0, 2, 3, 1], "o": 20}]]}, {"primitives": []}, {"primitives": [[{"position": [0, 0, 5, 1], "o": 0}, {"position": [1, 0, 5, 1], "o": 1}, {"position": [2, 0, 5, 1], "o": 2}, {"position": [3, 0, 5, 1], "o": 3}], [{"position": [0, 1, 5, 1], "o": 10}, {"position": [1, 1, 5, 1], "o": 11}], [{"position": [3, 1, 5, 1], "o": 13}], [{"position": [0, 2, 5, 1], "o": 20}, {"position": [1, 2, 5, 1], "o": 21}, {"position": [2, 2, 5, 1], "o": 22}], [{"position": [0, 3, 5, 1], "o": 30}, {"position": [1, 3, 5, 1], "o": 31}]]}]
