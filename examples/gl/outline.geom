#version 330 core
// Each triangle becomes its outline, moved towards its centre.
layout(triangles) in;
layout(line_strip, max_vertices = 4) out;
in vec3 color[];
uniform float shrink;
out vec3 tint;

vec4 centre() {
    return (gl_in[0].gl_Position + gl_in[1].gl_Position + gl_in[2].gl_Position) * 0.33333334;
}

void main() {
    vec4 middle = centre();
    for (int i = 0; i < 4; i++) {
        int corner = i == 3 ? 0 : i;
        gl_Position = mix(middle, gl_in[corner].gl_Position, shrink);
        tint = color[corner];
        EmitVertex();
    }
    EndPrimitive();
}
