// Texture reads that only one side of a branch uses stay before it, whatever that costs in registers: there all lanes of the
// quad have their coordinates.
// test emit
// target tesla chip=g80
// check: texauto
// check: texauto
// check: texauto
// check: bra
// not: tex
// check: exit
#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(location = 2) in vec4 c;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
layout(binding = 1) uniform U { float k; };
void main() {
    vec4 x = texture(t, a.xy);
    vec4 y = texture(t, a.zw);
    vec4 z = texture(t, b.xy);
    float s = k;
    if (k > a.x) {
        s = exp2(x.x) + log2(x.y) * sqrt(x.z) + sin(x.w) + exp2(x.w * x.y) + exp2(y.x + z.x) * log2(y.y * z.y) * sqrt(y.z + z.z) + sin(y.w * z.w);
    }
    o = (b + c) * s;
}
