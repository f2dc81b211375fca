// A read with gradients is three fetches that belong together: they do not fit behind fourteen others in a clause of sixteen.
// test run
// test emit
// target r700
// check: TEX 13
// check: TEX 2
#version 450
layout(location = 0) in vec4 uv;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
void main() {
    vec4 sum = vec4(0.0);
    sum += textureLod(t, uv.xy * 0.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 1.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 2.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 3.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 4.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 5.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 6.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 7.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 8.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 9.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 10.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 11.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 12.5 + uv.zw, 0.0);
    sum += textureLod(t, uv.xy * 13.5 + uv.zw, 0.0);
    sum += textureGrad(t, uv.xy, uv.zw, uv.xw);
    o = sum;
}
// env: {"textures": {"t": {"size": [1, 1], "texels": [[1, 2, 3, 4]]}}}
// run: {"uv": [0.5, 0.25, 0.125, 1]} => {"o": [15, 30, 45, 60]}
