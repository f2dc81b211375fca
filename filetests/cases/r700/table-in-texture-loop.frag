// A table read by the counter of a loop that fetches: the index register lives in one clause, so what uses it stays there too.
// test run
// target r700
#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
layout(binding = 1) uniform U { int n; };
const float w[9] = float[9](1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0);
void main() {
    vec4 c = vec4(0);
    for (int i = 0; i < n; i++) c += texture(t, uv + vec2(0, float(i) * 0.003)) * w[i];
    o = c;
}
// env: {"uniforms": {"n": 5}, "textures": {"t": {"size": [1, 1], "texels": [[1, 0.5, 0, 2]]}}}
// run: {"uv": [0.25, 0.5]} => {"o": [31, 15.5, 0, 62]}
