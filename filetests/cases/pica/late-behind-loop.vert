// Sums before a loop that only the end reads are made there: with them around it too much would be alive.
// test run
// target pica
#version 330
in vec4 a; in vec4 b;
uniform vec4 u[12];
out vec4 col;
void main() {
  float s = a.x;
  vec4 v0 = a * s + u[0];
  s = s * u[0].x + b.y;
  vec4 v1 = a * s + u[1];
  s = s * u[1].y + b.z;
  vec4 v2 = a * s + u[2];
  s = s * u[2].z + b.w;
  vec4 v3 = a * s + u[3];
  s = s * u[3].w + b.x;
  vec4 v4 = a * s + u[4];
  s = s * u[4].x + b.y;
  vec4 v5 = a * s + u[5];
  s = s * u[5].y + b.z;
  vec4 v6 = a * s + u[6];
  s = s * u[6].z + b.w;
  vec4 v7 = a * s + u[7];
  s = s * u[7].w + b.x;
  vec4 v8 = a * s + u[8];
  s = s * u[8].x + b.y;
  vec4 v9 = a * s + u[9];
  s = s * u[9].y + b.z;
  vec4 v10 = a * s + u[10];
  s = s * u[10].z + b.w;
  vec4 v11 = a * s + u[11];
  s = s * u[11].w + b.x;
  vec4 p = a * b; vec4 q = p * b + a; vec4 r = q * b + p; vec4 t = r * a + q; vec4 w = t * b + r;
  for (int i = 0; i < 5; i++) {
    if (p.x > w.y) break;
    vec4 o = p; p = q * a + r; q = r; r = t; t = w; w = o;
  }
  p = p + q * r; p = p * t + w;
  p = p * b + v5;
  p = p * b + v2;
  p = p * b + v9;
  p = p * b + v0;
  p = p * b + v11;
  p = p * b + v7;
  p = p * b + v3;
  p = p * b + v10;
  p = p * b + v1;
  p = p * b + v6;
  p = p * b + v4;
  p = p * b + v8;
  gl_Position = p; col = p;
}
// env: {"uniforms": {"u": [[-0.5, -0.125, 0.25, -0.5], [0.375, -0.375, 0.0, 0.375], [0.125, 0.5, -0.25, 0.125], [-0.125, 0.25, -0.5, -0.125], [-0.375, 0.0, 0.375, -0.375], [0.5, -0.25, 0.125, 0.5], [0.25, -0.5, -0.125, 0.25], [0.0, 0.375, -0.375, 0.0], [-0.25, 0.125, 0.5, -0.25], [-0.5, -0.125, 0.25, -0.5], [0.375, -0.375, 0.0, 0.375], [0.125, 0.5, -0.25, 0.125]]}}
// run: {"a": [0.5, -0.25, 0.75, -1], "b": [-0.5, 0.5, 0.25, -0.75]} => {"position": [-0.16122907, 0.11570622, 0.14187562, 0.57555544]}
