// A uniform vector by a uniform matrix: the vector is copied once, and each row is a dot product.
// test emit
// test run
// target pica
// check: mov r0.xyz, c4
// nextln: dp3 o1.x, c0, r0
// nextln: dp3 o1.y, c1, r0
// nextln: dp3 o1.z, c2, r0
#version 450
layout(location = 0) in vec4 a;
layout(std140, binding = 0) uniform U { mat4 view; vec4 light; };
layout(location = 2) out vec4 color;
void main() {
    color = vec4(mat3(view) * light.xyz, 1.0);
    gl_Position = a;
}
// env: {"uniforms": {"view": [[1, 2, 3, 0], [4, 5, 6, 0], [7, 8, 10, 0], [0, 0, 0, 1]], "light": [1, 2, 3, 4]}}
// run: {"a": [0, 0, 0, 1]} => {"color": [30, 36, 45, 1]}
