// One texel is read as f16 on one way and as f32 on the other: two reads before the start.
// test run
// target usse relaxed=on
#version 450
layout(location = 0) in vec2 uv;
layout(location = 1) in float k;
layout(location = 0) out vec4 result;
layout(binding = 0) uniform sampler2D image;
void main() {
    if (k > 0.0)
        result = texture(image, uv) * vec4(0.5);
    else
        result = vec4(exp2(texture(image, uv).x));
}
// env: {"textures": {"image": {"size": [1, 1], "texels": [[2, 4, 8, 1]]}}}
// run: {"uv": [0.5, 0.5], "k": 1} => {"result": [1, 2, 4, 0.5]}
// run: {"uv": [0.5, 0.5], "k": -1} => {"result": [4, 4, 4, 4]}
