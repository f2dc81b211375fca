// Position vectors have no holes: clip distances stand at 61 where nothing stands between.
// test disasm
// target r700
// check: ARRAY_BASE=60
// not: ARRAY_BASE=62
#version 450
layout(location = 0) in vec4 p;
void main() {
    gl_Position = p;
    gl_ClipDistance[0] = p.x;
}
