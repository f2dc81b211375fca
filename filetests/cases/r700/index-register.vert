// What uses an index register names AR.x: the move to it runs in unit X even where other operations want that unit.
// test run
// target r700
#version 450
layout(location = 0) in vec4 p;
layout(location = 1) in ivec4 id;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform U { mat4 bones[4]; } u;
struct S { vec3 v; float w; };
void main() {
    S st[12];
    for (int i = 0; i < 12; i++) { st[i].v = p.xyz * float(i); st[i].w = float(i) - p.w; }
    int j = id.y & 7;
    st[j].v.y = 7.0;
    gl_Position = (u.bones[id.x & 3] * p.x + u.bones[(id.y + 5) & 3] * p.y) * p;
    o = vec4(st[id.z & 7].v, st[id.w & 7].w);
}
// env: {"uniforms": {"u.bones": [[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]],[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]],[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]],[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]]}}
// run: {"p": [1, 0, 2, 3], "id": [1, 2, 5, 3]} => {"o": [5, 0, 10, 0]}
