// Indices made of several integers: what is far beyond the array is no longer exact, and still lies beyond it. No proof is asked for.
// test emit
// test run
// target pica
// check: mad r0.x, v1.y, c5, v1
// check: max r0.xyz
// check: mova
#version 450
layout(location=0) in vec4 p; layout(location=1) in ivec3 b; layout(location=2) in uvec2 u;
layout(std140,binding=0) uniform U { vec4 k[5]; int w; int n; };
layout(location=2) out vec4 color; layout(location=1) out vec4 quat; layout(location=8) out vec3 v;
void main(){
    gl_Position = p;
    color = vec4(k[b.y * w + b.x].x, k[gl_InstanceIndex * 2 + b.z].x, k[b.x * 3 + b.z * 4].x, k[u.x << 1 | 1u].x);
    vec4 s = vec4(0);
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s += k[i * 3 + j];
    quat = s;
    int j = 1;
    for (int i = 0; i < 3; i++) { j = clamp(j * 2 + b.x, 0, 4); }
    switch (b.z) { case 1: j = clamp(b.y, 0, 3); case 0: j = clamp(j, 0, 2); break; default: j = 4; }
    v = k[j].xyz;
}
// env: {"uniforms": {"k": [1,10,100,0, 2,20,200,0, 3,30,300,0, 4,40,400,0, 5,50,500,0], "w": 2, "n": 2}}
// run: {"p": [0,0,0,1], "b": [1, 1, 0], "u": [0, 0], "instance_index": 1} => {"position": [0,0,0,1], "color": [4, 3, 4, 2], "quat": [12, 120, 1200, 0], "v": [3, 30, 300]}
// run: {"p": [0,0,0,1], "b": [-32000, 16001, -32000], "u": [65535, 0], "instance_index": 16001} => {"position": [0,0,0,1], "color": [3, 3, 1, 4], "quat": [12, 120, 1200, 0], "v": [5, 50, 500]}
// run: {"p": [0,0,0,1], "b": [32767, -16383, 1], "u": [1, 0], "instance_index": 65535} => {"position": [0,0,0,1], "color": [2, 5, 5, 4], "quat": [12, 120, 1200, 0], "v": [1, 10, 100]}
// run: {"p": [0,0,0,1], "b": [2, -32768, 1], "u": [0, 0], "instance_index": 0} => {"position": [0,0,0,1], "color": [1, 2, 5, 2], "quat": [12, 120, 1200, 0], "v": [1, 10, 100]}
