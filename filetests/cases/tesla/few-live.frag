// Twelve results take twelve registers: what takes most on the way comes first, texels wait where they are results, varyings that are
// results come last.
// test regalloc
// test run
// target tesla chip=g80
// check: registers [0, 12, 0]
#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 uv;
layout(location = 3) in vec3 tint;
layout(location = 0) out vec4 o0;
layout(location = 1) out vec4 o1;
layout(location = 2) out vec4 o2;
layout(binding = 0) uniform sampler2D t;
void main() {
    o0 = vec4(position, 2.0);
    o1 = vec4(normalize(normal) * 0.5 + 0.5, 1.0);
    o2 = texture(t, uv) * vec4(tint, 1.0);
}
// env: {"textures": {"t": {"dim": "2d", "size": [1, 1], "texels": [[1, 2, 4, 8]]}}}
// run: {"position": [1, 2, 3], "normal": [0, 4, 0], "uv": [0.5, 0.5], "tint": [1, 2, 3]} => {"o0": [1, 2, 3, 2], "o1": [0.5, 1, 0.5, 1], "o2": [1, 4, 12, 8]}
