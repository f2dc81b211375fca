// A texel of a level that the unit chooses is as large as that level says, which no program can ask.
// test compile(expect-fail)
// target usse
#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 result;
layout(binding = 0) uniform sampler2D image;
void main() {
    result = textureOffset(image, at, ivec2(1, 0)); // error: U0110 `image`: SMP has no texel offsets
}
