// An array that only an unrolled loop reads is read at constant places: its elements stand in registers, nothing is loaded.
// test emit
// test run
// target usse color=f32
// not: LDR
// check: VMAD2
#version 450
layout(location = 0) in vec4 c;
layout(std140, binding = 0) uniform B { vec4 weight[4]; };
layout(location = 0) out vec4 result;
void main() {
    vec4 sum = c;
    for (int i = 0; i < 4; i++) sum = sum * c.x + weight[i];
    result = sum;
}
// env: {"uniforms": {"weight": [[1, 2, 3, 4], [5, 6, 7, 8], [0, 0, 1, 1], [1, 0, 0, 0.5]]}}
// run: {"c": [0.5, 1, 0, 2]} => {"result": [2.40625, 1.8125, 2.625, 3.625]}
