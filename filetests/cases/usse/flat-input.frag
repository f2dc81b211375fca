// What the iterators cannot do is refused by its name.
// test compile(expect-fail)
// target usse
#version 450
layout(location = 0) flat in vec4 shade; // error: U0100 `shade`: `flat`: the iterators always interpolate
layout(location = 0) out vec4 result;
void main() { result = shade; }
