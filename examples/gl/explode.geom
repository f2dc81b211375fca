#version 330 core
// Moves every triangle along its normal and hands its corners on.
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
in Corner { vec4 color; vec2 uv; } corners[];
uniform mat4 projection;
uniform float distance_moved;
layout(location = 2) out vec4 color;
layout(location = 3) out vec2 uv;

vec3 normal() {
    vec3 a = gl_in[1].gl_Position.xyz - gl_in[0].gl_Position.xyz;
    vec3 b = gl_in[2].gl_Position.xyz - gl_in[0].gl_Position.xyz;
    return cross(a, b);
}

void main() {
    vec4 offset = vec4(normal() * distance_moved, 0.0);
    for (int i = 0; i < gl_in.length(); i++) {
        gl_Position = projection * (gl_in[i].gl_Position + offset);
        color = corners[i].color;
        uv = corners[i].uv;
        EmitVertex();
    }
    EndPrimitive();
}
