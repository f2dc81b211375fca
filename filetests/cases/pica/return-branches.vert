// A colour that is written before and inside of branches around a return: on every way it is written once.
// test run
// target pica
#version 450
layout(std140, binding=0) uniform U { vec4 u; vec4 w; };
layout(location=0) in vec4 a;
layout(location=2) out vec4 color;
layout(location=3) out vec2 uv;
void main() {
  gl_Position = a;
  color = w;
  uv = a.xy;
  if (u.x > 0.0) {
    if (u.y > 0.0) return;
    color = vec4(0.0, 0.0, 0.0, 1.0);
  }
  uv = a.zw;
}
// env: {"uniforms": {"u": [0, 0, 0, 0], "w": [5, 6, 7, 8]}}
// run: {"a": [1, 2, 3, 4]} => {"color": [5, 6, 7, 8], "uv": [3, 4]}
// env: {"uniforms": {"u": [1, 0, 0, 0], "w": [5, 6, 7, 8]}}
// run: {"a": [1, 2, 3, 4]} => {"color": [0, 0, 0, 1], "uv": [3, 4]}
// env: {"uniforms": {"u": [1, 1, 0, 0], "w": [5, 6, 7, 8]}}
// run: {"a": [1, 2, 3, 4]} => {"color": [5, 6, 7, 8], "uv": [1, 2]}
