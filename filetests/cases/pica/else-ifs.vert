// A chain of comparisons with numbers: the numbers are copied four at a time, also those that only later tests read; what the arms have in
// common is a procedure; and since calls and branches must not end a part, jumps take fewer words than IFC with its NOPs.
// test emit
// test run
// target pica
// check: mov r0, c95
// check: jmpc
// check: call
// nextln: jmpu
// check: mov r0.xy, c94
// not: nop
#version 450
layout(location = 0) in vec4 a;
layout(std140, binding = 0) uniform U { vec4 table[12]; int which; int m; ivec4 n; };
layout(location = 2) out vec4 color;
void main() {
    if (which == 0) color = table[m];
    else if (which == 3) color = table[n.x];
    else if (which == 4) color = table[n.y];
    else if (which == 5) color = table[n.z];
    else if (which == 7) color = table[n.w];
    else if (which == 8) color = vec4(which);
    gl_Position = a;
    if (which == 8) color = vec4(1.0);
}
// env: {"uniforms": {"table": [[0,0,0,0],[1,1,1,1],[2,2,2,2],[3,3,3,3],[4,4,4,4],[5,5,5,5],[6,6,6,6],[7,7,7,7],[8,8,8,8],[9,9,9,9],[10,10,10,10],[11,11,11,11]], "which": 5, "m": 1, "n": [2, 3, 4, 11]}}
// run: {"a": [1, 2, 3, 4]} => {"color": [4, 4, 4, 4], "position": [1, 2, 3, 4]}
// env: {"uniforms": {"table": [[0,0,0,0],[1,1,1,1],[2,2,2,2],[3,3,3,3],[4,4,4,4],[5,5,5,5],[6,6,6,6],[7,7,7,7],[8,8,8,8],[9,9,9,9],[10,10,10,10],[11,11,11,11]], "which": 7, "m": 1, "n": [2, 3, 4, 11]}}
// run: {"a": [1, 2, 3, 4]} => {"color": [11, 11, 11, 11]}
// env: {"uniforms": {"table": [[0,0,0,0],[1,1,1,1],[2,2,2,2],[3,3,3,3],[4,4,4,4],[5,5,5,5],[6,6,6,6],[7,7,7,7],[8,8,8,8],[9,9,9,9],[10,10,10,10],[11,11,11,11]], "which": 8, "m": 1, "n": [2, 3, 4, 11]}}
// run: {"a": [1, 2, 3, 4]} => {"color": [1, 1, 1, 1]}
