// A clause of vertex fetches takes no texels: these have one of their own.
// test run
// test emit
// target r700
// check: VTX 0
// check: TEX 1
#version 450
layout(points) in;
layout(points, max_vertices = 1) out;
layout(location = 0) in vec4 a[];
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
layout(binding = 1) uniform U { vec4 at; };
void main() {
    gl_Position = a[0];
    o = textureLod(t, at.xy, 0.0) + a[0] + textureLod(t, at.zw, 0.0);
    EmitVertex();
    EndPrimitive();
}
// env: {"textures": {"t": {"size": [1, 1], "texels": [[1, 2, 3, 4]]}}, "uniforms": {"at": [0, 0, 0.5, 0.5]}}
// run: {"a": [[5, 6, 7, 8]]} => {"primitives": [[{"position": [5, 6, 7, 8], "o": [7, 10, 13, 16]}]]}
