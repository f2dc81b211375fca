// Builtins of vertices in GLSL's Vulkan names.
// @bind { "invocations": [ { "inputs": { "vertex_index": 0, "instance_index": 3 } }, { "inputs": { "vertex_index": 1, "instance_index": 4 } }, { "inputs": { "vertex_index": 2, "instance_index": 5 } } ] }
// @expect { "invocations": [ { "outputs": { "position": [-1,-1,0,1], "k": 3 } }, { "outputs": { "position": [3,-1,0,1], "k": 4 } }, { "outputs": { "position": [-1,3,0,1], "k": 5 } } ] }
#version 450
layout(location = 0) out float k;
void main() {
  vec2 corners[3] = vec2[](vec2(-1.0, -1.0), vec2(3.0, -1.0), vec2(-1.0, 3.0));
  gl_Position = vec4(corners[gl_VertexIndex], 0.0, 1.0);
  k = float(gl_InstanceIndex);
}
