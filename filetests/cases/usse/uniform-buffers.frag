// Blocks as uniform buffers of their own: one in attributes, one read from memory with a computed index.
// test emit
// test run
// target usse buffers=own
// check: # parameter uniform a f32x4[1] container 0 resource 0
// check: # parameter uniform b f32x4[8] container 3 resource 0
// check: # parameter uniform_buffer A aggregatex0[16] container 0 resource 0
// check: # parameter uniform_buffer B aggregatex0[132] container 3 resource 3
// check: # container 0 (uniform buffer 0) sa0 size 4
// check: # uniform buffer 3 address
// check: LDR
#version 450
layout(location = 0) out vec4 result;
layout(std140, binding = 0) uniform A { vec4 a; };
layout(std140, binding = 3) uniform B { vec4 b[8]; int i; };
void main() { result = a * b[i]; }
// env: {"uniforms": {"a": [1, 2, 3, 4], "b": [[1, 1, 1, 1], [2, 3, 4, 5], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], "i": 1}}
// run: {} => {"result": [2, 6, 12, 20]}
