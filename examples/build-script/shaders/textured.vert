#version 450
layout(location = 0) in vec4 position;
layout(location = 1) in vec2 coordinate;
layout(std140, binding = 0) uniform Matrices {
    mat4 projection;
    mat4 modelview;
};
// On PICA200 a location names the kind of output: 3 is texcoord0.
layout(location = 3) out vec2 texcoord;

void main() {
    gl_Position = projection * (modelview * position);
    texcoord = coordinate;
}
