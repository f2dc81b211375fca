// What covers the screen without attributes: numbers of vertices that are shifted and summed come near to 2^17, which a float24 still has.
// test run
// target pica
#version 450
layout(location = 0) out vec2 corner;
layout(location = 1) out vec2 quad;
void main() {
    corner = vec2((gl_VertexIndex << 1) & 2, gl_VertexIndex & 2);
    quad = vec2(((gl_VertexIndex + 2) / 3) % 2, ((gl_VertexIndex + 33000) / 5) % 7);
    gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0);
}
// run: {"vertex_index": 0} => {"corner": [0, 0], "quad": [0, 6], "position": [-1, -1, 0, 1]}
// run: {"vertex_index": 1} => {"corner": [2, 0], "quad": [1, 6], "position": [3, -1, 0, 1]}
// run: {"vertex_index": 2} => {"corner": [0, 2], "quad": [1, 6], "position": [-1, 3, 0, 1]}
// run: {"vertex_index": 65535} => {"corner": [2, 2], "quad": [1, 2], "position": [3, 3, 0, 1]}
