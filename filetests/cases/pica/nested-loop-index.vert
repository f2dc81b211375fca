// A LOOP inside: whether aL survives it is not known, so the outer loop's rows are read by a0.
// test emit
// test run
// target pica
// check: mova
#version 450
layout(location=0) in vec4 p;
layout(std140,binding=0) uniform U { vec4 row[8]; vec4 w; };
void main() {
  vec4 s = p, t = p;
  for (int i = 0; i < 4; i++) {
    s = s * 0.5 + row[i];
    for (int j = 0; j < 6; j++) t = max(t * w, row[j + 2].wzyx);
    s = max(s, row[i + 1] * t);
  }
  gl_Position = s;
}
// env: {"uniforms": {"row": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1], "w": [1, 1, 1, 1]}}
// run: {"p": [0, 0, 0, 0]} => {"position": [1, 1, 0.75, 1.5]}
