// Loose uniforms stay in the default buffer where blocks have buffers of their own.
// test emit
// test run
// target usse buffers=own
// check: # parameter uniform k f32x4[1] container 14 resource 0
// check: # parameter uniform arr f32x4[2] container 3 resource 0
// check: # parameter uniform_buffer Blk aggregatex0[32] container 3 resource 3
// not: uniform_buffer
// check: # container 14 (default uniform buffer)
#version 310 es
precision highp float;
layout(location = 0) in vec4 c;
layout(location = 0) out vec4 result;
uniform vec4 k;
layout(std140, binding = 3) uniform Blk { vec4 arr[2]; };
void main() { result = c * k + arr[1]; }
// env: {"uniforms": {"k": [1, 2, 3, 4], "arr": [[0, 0, 0, 0], [1, 1, 0, 0.5]]}}
// run: {"c": [1, 1, 1, 1]} => {"result": [2, 3, 3, 4.5]}
