// A storage buffer that a vertex program reads, std430: arrays without padding.
// @refused pica: storage buffers
// @refused r700: how long a storage buffer is
// @refused usse: storage_load
// @bind { "storage": { "b": [2,1,2,3,4,5,6,7,8] }, "invocations": [ { "inputs": { "vertex_index": 0 } }, { "inputs": { "vertex_index": 1 } } ] }
// @expect { "invocations": [ { "outputs": { "position": [4,6,0,7] } }, { "outputs": { "position": [8,10,0,7] } } ] }
#version 450
layout(std430, set = 0, binding = 0) readonly buffer B { float scale; float pad; vec2 v[]; } b;
void main() { gl_Position = vec4(b.v[gl_VertexIndex] * b.scale, 0.0, float(b.v.length() + 4)); }
