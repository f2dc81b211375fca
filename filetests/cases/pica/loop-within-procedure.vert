// A function with a loop that a loop calls is no procedure: the machine counts LOOPs across calls, what emulators make of them does not.
// test emit
// target pica
// check: for i3
// check: for i3
// not: call
#version 450
layout(location = 0) in vec4 p;
layout(std140, binding = 0) uniform U { vec4 u[8]; vec4 w[8]; int n; };
layout(location = 2) out vec4 color;
vec4 f(vec4 a) {
  vec4 r = a;
  for (int j = 0; j < 5; j++) { r = max(r * w[j] - u[j], a) + r.yzwx; r = min(r * w[j].yzwx + u[j], a + r.wxyz); }
  return r;
}
void main() {
  vec4 r = f(p);
  for (int i = 0; i < n; i++) r += f(r + u[i]);
  gl_Position = f(r.yxwz);
  color = r;
}
