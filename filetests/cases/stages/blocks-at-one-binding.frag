// The blocks share their memory: the inputs on which finished code is run beside its meaning have one value at each place.
// test compile
// target tesla
// target r700
#version 450
layout(std140, binding = 2) uniform Colours { vec4 base; vec4 lit; };
layout(std140, binding = 2) uniform Codes { ivec3 kind; bool flag; };
layout(location = 0) out vec4 colour;
void main() { colour = base * lit + vec4(kind & 1, flag ? 1.0 : 0.0); }
