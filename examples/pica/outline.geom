#version 450
layout(triangles) in;
layout(triangle_strip, max_vertices = 6) out;
layout(location = 2) in vec4 color[];
layout(std140, binding = 0) uniform Scene { mat4 projection; vec4 edge; };
layout(location = 2) out vec4 vertexColor;
void main() {
    for (int i = 0; i < 3; i++) {
        gl_Position = gl_in[i].gl_Position * projection;
        vertexColor = color[i];
        EmitVertex();
    }
    EndPrimitive();
    vec3 c = (gl_in[0].gl_Position.xyz + gl_in[1].gl_Position.xyz + gl_in[2].gl_Position.xyz) / 3.0;
    for (int i = 2; i >= 0; i--) {
        vec3 p = gl_in[i].gl_Position.xyz;
        gl_Position = vec4(p + normalize(p - c) * edge.w, 1.0) * projection;
        vertexColor = vec4(edge.rgb, 1.0);
        EmitVertex();
    }
    EndPrimitive();
}
