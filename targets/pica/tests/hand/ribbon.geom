#version 450
// A line becomes a ribbon of its width, across the direction that both ends share.
layout(lines) in;
layout(triangle_strip, max_vertices = 4) out;
uniform mat4 projection;
uniform vec4 widths; // at the first end, at the second
layout(location = 2) in vec4 colour[];
layout(location = 2) out vec4 v_color;
void corner(vec4 p, vec2 across, vec4 c) {
    gl_Position = projection * vec4(p.xy + across, p.zw);
    v_color = c;
    EmitVertex();
}
void main() {
    vec2 d = normalize(gl_in[1].gl_Position.xy - gl_in[0].gl_Position.xy);
    vec2 across = vec2(-d.y, d.x);
    corner(gl_in[0].gl_Position, across * widths.x, colour[0]);
    corner(gl_in[0].gl_Position, -across * widths.x, colour[0]);
    corner(gl_in[1].gl_Position, across * widths.y, colour[1]);
    corner(gl_in[1].gl_Position, -across * widths.y, colour[1]);
    EndPrimitive();
}
