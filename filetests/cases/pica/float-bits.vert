// Refused: what cannot be expressed is said, not that a range would help.
// test compile(expect-fail)
// target pica
#version 450
layout(location=0) in vec4 p; layout(location=1) in vec4 b;
layout(location=2) out vec4 color;
void main(){
    gl_Position = p;
    color = vec4(floatBitsToInt(b.x)); // error: P0005 the bits of a float cannot be read
}
