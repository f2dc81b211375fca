// The product with a transposed matrix is a dot product for each of its rows.
// test emit
// test run
// target pica
// check: dp3 o1.x
// check: dp3 o1.y
// check: dp3 o1.z
#version 450
layout(location = 0) in vec3 a;
layout(location = 1) in vec3 n;
layout(location = 2) in vec3 t;
layout(std140, binding = 0) uniform U { vec4 light; };
layout(location = 2) out vec4 color;
void main() {
    vec3 b = cross(n, t);
    color = vec4(transpose(mat3(t, b, n)) * (light.xyz - a), 1.0);
    gl_Position = vec4(a, 1.0);
}
// env: {"uniforms": {"light": [3, 4, 5, 0]}}
// run: {"a": [1, 1, 1], "n": [0, 0, 1], "t": [1, 0, 0]} => {"color": [2, 3, 4, 1]}
// run: {"a": [1, 1, 1], "n": [1, 0, 0], "t": [0, 1, 0]} => {"color": [3, 4, 2, 1]}
