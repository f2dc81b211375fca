// A location has four components, an integer takes two of them.
// test compile(expect-fail)
// target usse
#version 450
layout(location = 1) flat in ivec3 ids; // error: U0100 `ids`: an integer travels as two floats
layout(location = 0) out vec4 colour;
void main() { colour = vec4(ids, 1.0); }
