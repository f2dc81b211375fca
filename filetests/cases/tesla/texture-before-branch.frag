// Texture reads that only one side of a branch uses stay before it, whatever that costs in registers: there all lanes of the
// quad have their coordinates.
// test emit
// target tesla chip=g80
// not: bra
// check: texauto
// not: bra
// check: texauto
// not: bra
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
float f(vec4 x) {
    return exp2(x.x) + log2(x.y) * sqrt(x.z) + sin(x.w) + exp2(x.w * x.y);
}
void main() {
    vec4 x = texture(t, a.xy);
    vec4 y = texture(t, a.zw);
    vec4 z = texture(t, b.xy);
    float s = k;
    if (k > a.x) {
        s = f(x) * s;
        s = f(y) * s;
        s = f(z) * s;
    }
    o = (b + c) * s;
}
