// The same in half precision, where no word writes three lanes of a register that holds four.
// test emit
// test run
// target usse relaxed=on
// check: VF16MUL pa0.xyzw pa2.xxx1 pa0.xyzw
// not: VMOV
#version 450
layout(location = 0) in vec2 uv;
layout(location = 1) in float light;
layout(location = 0) out vec4 result;
layout(binding = 0) uniform sampler2D image;
void main() {
    vec4 c = texture(image, uv);
    result = vec4(c.rgb * light, c.a);
}
// env: {"textures": {"image": {"size": [1, 1], "texels": [[0.5, 0.25, 1, 0.75]]}}}
// run: {"uv": [0.5, 0.5], "light": 0.5} => {"result": [0.25, 0.125, 0.5, 0.75]}
