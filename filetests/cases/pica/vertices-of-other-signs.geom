// What one vertex adds the other takes away: the difference is no part of what both have in common.
// test run
// target pica
#version 450
layout(lines) in;
layout(triangle_strip, max_vertices = 4) out;
layout(std140, binding = 0) uniform U { mat4 projection; vec4 widths; };
layout(location = 1) out vec2 side;
void corner(vec4 p, vec2 across) {
    gl_Position = projection * vec4(p.xy + across, p.zw);
    side = across;
    EmitVertex();
}
void main() {
    vec2 d = normalize(gl_in[1].gl_Position.xy - gl_in[0].gl_Position.xy);
    vec2 across = vec2(-d.y, d.x);
    corner(gl_in[0].gl_Position, across * widths.x);
    corner(gl_in[0].gl_Position, -across * widths.x);
    corner(gl_in[1].gl_Position, across * widths.y);
    corner(gl_in[1].gl_Position, -across * widths.y);
    EndPrimitive();
}
// env: {"uniforms": {"projection": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], "widths": [1, 2, 3, 4]}}
// run: {"position": [[10, 20, 30, 40], [10, 24, 7, 1]]} => {}
