// There are fourteen uniform buffers beside the default one.
// test compile(expect-fail)
// target usse buffers=own
#version 450
layout(location = 0) out vec4 result;
layout(std140, binding = 14) uniform A { vec4 a; }; // error: U0106 the block `A` is at binding 14
void main() { result = a; }
