// What travels as a colour takes no coordinate: with ten of these in use it chooses its location last.
// test run
// target usse
#version 300 es
in vec4 p;
in vec4 c;
out vec4 vColor;
out vec2 v0, v1, v2, v3, v4, v5, v6, v7, v8, v9;
void main() {
    gl_Position = p;
    v0 = v1 = v2 = v3 = v4 = v5 = v6 = v7 = v8 = p.xy;
    v9 = p.zw;
    vColor = c;
}
// run: {"p": [1, 2, 3, 4], "c": [0.5, 0.25, 0, 1]} => {"vColor": [0.5, 0.25, 0, 1], "v8": [1, 2], "v9": [3, 4], "position": [1, 2, 3, 4]}
