// Integers travel as texture coordinates only.
// test compile(expect-fail)
// target usse
#version 450
layout(location = 10) flat in int id; // error: U0100 `id`: integers travel as texture coordinates
layout(location = 0) out vec4 colour;
void main() { colour = vec4(id); }
