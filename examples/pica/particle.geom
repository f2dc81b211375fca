#version 450
layout(points) in;
layout(triangle_strip, max_vertices = 4) out;
layout(location = 2) in vec4 color[];
layout(location = 9) in vec2 size[];
layout(std140, binding = 0) uniform Scene { mat4 projection; };
layout(location = 2) out vec4 vertexColor;
layout(location = 3) out vec2 texcoord;
void corner(vec2 at, vec2 turn) {
    vec2 p = vec2(at.x * turn.x - at.y * turn.y, at.x * turn.y + at.y * turn.x) * size[0].x;
    gl_Position = (gl_in[0].gl_Position + vec4(p, 0.0, 0.0)) * projection;
    vertexColor = color[0];
    texcoord = at * 0.5 + 0.5;
    EmitVertex();
}
void main() {
    vec2 turn = vec2(cos(size[0].y), sin(size[0].y));
    corner(vec2(-1.0, -1.0), turn);
    corner(vec2(1.0, -1.0), turn);
    corner(vec2(-1.0, 1.0), turn);
    corner(vec2(1.0, 1.0), turn);
    EndPrimitive();
}
