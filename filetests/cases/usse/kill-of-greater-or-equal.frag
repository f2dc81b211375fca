// Numbers from 3 on are not all other than 3: what keeps the pixel there is both conditions.
// test run
// target usse
#version 450
layout(location = 0) in float a;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform U { uint x; };
void main() {
    if (x == 3u && a >= 0.5) discard;
    if (x >= 3u && a < 0.25) discard;
    o = vec4(a);
}
// env: {"uniforms": {"x": 3}}
// run: {"a": 0.75} => {"discarded": true}
// run: {"a": 0.125} => {"discarded": true}
// run: {"a": 0.375} => {"o": [0.375, 0.375, 0.375, 0.375]}
