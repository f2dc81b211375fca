// Each question to a texture that the machine cannot answer has a text of its own.
// test compile(expect-fail)
// target usse
#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 result;
layout(binding = 0) uniform sampler2D image;
void main() {
    result = texture(image, at / vec2(textureSize(image, 0))); // error: U0110 `image`: texture size: nothing tells a program how large a texture is
}
