// Refused: the message names what the source has, and what `--range` takes.
// test compile(expect-fail)
// target pica
#version 450
layout(location=0) in vec4 p;
uniform int count; uniform vec4 k;
layout(location=2) out vec4 color;
void main(){
    gl_Position = p;
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += i * i; // error: P0201 as with `--range count=0..19`
    color = k * float(sum);
}
