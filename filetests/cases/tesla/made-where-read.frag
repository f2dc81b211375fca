// What is read behind an `if` only is made there, varyings and a texel: nothing but their factor is kept over it.
// test regalloc
// test run
// target tesla chip=g80
// check: registers [1, $(n=[0-9]), 0]
#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(location = 2) in vec4 c;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
layout(binding = 1) uniform U { float k; };
void main() {
    vec4 texel = texture(t, a.zw);
    float s = k;
    if (k > a.x) {
        vec4 x = texture(t, a.xy);
        s = exp2(x.x) + log2(x.y) * sqrt(x.z) + sin(x.w) + exp2(x.w * x.y);
    }
    o = (texel * b + c) * s;
}
// env: {"textures": {"t": {"dim": "2d", "size": [1, 1], "texels": [[1, 2, 4, 0]]}}, "uniforms": {"k": 1}}
// run: {"a": [0, 0, 0, 0], "b": [1, 2, 3, 4], "c": [1, 1, 1, 1]} => {"o": [10, 25, 65, 5]}
