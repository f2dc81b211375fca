// Lanes that are read leave no gap: what comes behind one has to be moved to its result.
// test run
// target tesla
#version 450
layout(location = 0) in vec4 c;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
void main() {
    vec4 x = textureLod(t, c.xy, 0.0);
    o = vec4(x.x, c.z, x.z, c.w);
}
// env: {"textures": {"t": {"size": [1, 1], "texels": [[1, 2, 3, 4]]}}}
// run: {"c": [0.5, 0.5, 0.25, 0.75]} => {"o": [1, 0.25, 3, 0.75]}
