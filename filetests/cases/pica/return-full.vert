// Three outputs of values with several definitions, one of them changed between two returns.
// test run
// target pica
#version 450
layout(std140,binding=0) uniform U { vec4 ua[4]; mat4 um; vec3 ub; };
layout(location=0) in vec4 a;
layout(location=1) in vec4 b;
layout(location=0) out vec4 o0;
layout(location=4) out vec4 o1;
layout(location=7) out vec4 o2;
void main() {
 vec4 acc0 = vec4(1.0,2.0,1.0,2.0);
 vec4 acc1 = vec4(0.25,-15.25,-6.5,2.0);
 vec4 acc2 = vec4(0.0,-1.0,2.0,0.5);
 if ((1!=int(clamp(um[1][1],-16.0,16.0)))) {
  if ((1.0>=ub.g)) {
   gl_Position=vec4(0.0,0.0,0.0,1.0); o0=acc0; o1=acc1; o2=acc2; return;
  }
  acc2.yz = vec2(1.0,1.0);
 }
 acc0 = vec4(1.0,1.0,1.0,1.0);
 gl_Position=vec4(0.0,0.0,0.0,1.0);
 o0=acc0;
 o1=acc1;
 o2=acc2;
}
// env: {"uniforms": {"um": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "ub": [0, 2, 0]}}
// run: {} => {"position": [0, 0, 0, 1], "o0": [1, 1, 1, 1], "o1": [0.25, -15.25, -6.5, 2], "o2": [0, 1, 1, 0.5]}
// env: {"uniforms": {"um": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "ub": [0, 1, 0]}}
// run: {} => {"o0": [1, 2, 1, 2], "o2": [0, -1, 2, 0.5]}
