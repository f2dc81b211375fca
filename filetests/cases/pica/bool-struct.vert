// A truth value in an array of structures is indexed as its other members are.
// test run
// target pica
#version 450
layout(location=0) in vec4 p;
struct L { vec4 d; bool on; };
layout(std140,binding=0) uniform U { L l[4]; };
void main(){ vec4 s=p; for(int i=0;i<4;i++) if(l[i].on) s+=l[i].d; gl_Position = s; }
// env: {"uniforms": {"l[0].d": [1, 0, 0, 0], "l[1].d": [0, 1, 0, 0], "l[2].d": [0, 0, 1, 0], "l[3].d": [0, 0, 0, 1], "l[0].on": true, "l[1].on": false, "l[2].on": false, "l[3].on": true}}
// run: {"p": [1, 2, 3, 4]} => {"position": [2, 2, 3, 5]}
