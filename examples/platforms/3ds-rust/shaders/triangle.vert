#version 450
// Coloured vertices under one matrix.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 shade;
layout(location = 0) uniform mat4 projection;
layout(location = 2) out vec4 color;        // location 2 is the vertex colour

void main() {
    gl_Position = projection * vec4(position, 1.0);
    color = vec4(shade, 1.0);
}
