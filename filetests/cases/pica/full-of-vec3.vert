// 19 vectors of three components live at once, more than there are registers: the fourth components hold them too.
// test run
// target pica
// target pica opt=0
#version 330
in vec4 a; in vec4 b;
uniform vec4 u[8];
out vec4 col;
void main() {
  float s = a.x;
  vec3 v0 = a.xyz * s + u[6].xyz;
  s = s * u[5].x + a.w;
  vec3 v1 = a.xyz * s + u[2].xyz;
  s = s * u[0].z + a.w;
  vec3 v2 = a.xyz * s + u[1].zxy;
  s = s * u[7].x + a.z;
  vec3 v3 = max(a.xyz * u[2].yzx, s * u[5].xyz);
  s = s * u[5].w + a.z;
  vec3 v4 = b.xyz * s + u[0].xyz;
  s = s * u[7].x + a.x;
  vec3 v5 = v3.xyz * u[6].xyz + s;
  s = s * u[5].x + a.w;
  vec3 v6 = vec3(s * u[6].z + a.x, s * u[1].x + a.z, s * u[6].w + a.x);
  s = s * u[5].w + a.y;
  vec3 v7 = v6.yxz * u[6].xyz + s;
  s = s * u[2].z + a.w;
  vec3 v8 = v1.xyz * u[2].xyz + s;
  s = s * u[0].w + a.z;
  vec3 v9 = vec3(s * u[0].x + a.w, s * u[0].z + a.y, s * u[7].y + a.w);
  s = s * u[5].z + a.x;
  vec3 v10 = max(a.xyz * u[5].xyz, s * u[1].xyz);
  s = s * u[0].x + a.x;
  vec3 v11 = a.xyz * s + u[4].xyz;
  s = s * u[1].w + a.y;
  vec3 v12 = vec3(s * u[2].z + a.w, s * u[0].x + a.z, s * u[7].y + a.x);
  s = s * u[1].y + a.x;
  vec3 v13 = max(a.xyz * u[1].wxz, s * u[5].zxw);
  s = s * u[2].z + a.x;
  vec3 v14 = a.xyz * s + u[3].xyz;
  s = s * u[4].y + a.y;
  vec3 v15 = max(a.xyz * u[6].xyz, s * u[0].xyz);
  s = s * u[2].z + a.z;
  vec3 v16 = max(a.xyz * u[7].xyz, s * u[4].xyz);
  s = s * u[4].y + a.w;
  vec3 v17 = max(a.xyz * u[7].xyz, s * u[5].xyz);
  s = s * u[3].w + a.y;
  v4 *= v2;
  v14 *= v7;
  s = s * a.y + v17.x * v17.y * v17.z;
  s = s * a.y + dot(v1, u[0].xyz);
  s = s * u[1].x + v3.x * v3.y * v3.z;
  s = s * u[1].x + v5.x * v5.y * v5.z;
  s = s * a.y + v16.x * v16.y * v16.z;
  v0 = max(v0, v8);
  s = s * a.y + dot(v15, u[7].xyz);
  v9 = max(v9, v4);
  s = s * a.y + dot(v12, u[0].zwy);
  s = s * u[2].z + dot(v0, u[4].xyz);
  v14 *= v13;
  s = s * u[2].z + dot(v6, u[4].xyz);
  v11 *= v14;
  s = s * u[1].x + v10.x * v10.y * v10.z;
  s = s * a.y + dot(v11, u[6].xyz);
  s += dot(v9, u[6].xyz);
  gl_Position = s * u[0] + b;
  col = vec4(s, a.yzw);
}
// env: {"uniforms": {"u": [[0.5, 0.25, -0.5, 0.75], [0.25, 0.5, 0.75, -0.25], [-0.75, 0.5, 0.25, 1.0], [0.5, -0.25, 0.75, 0.5], [0.25, 1.0, -0.5, 0.5], [-0.5, 0.75, 0.5, 0.25], [0.75, -0.5, 0.25, 0.5], [0.5, 0.25, 0.75, 2.0]]}}
// run: {"a": [0.5, -0.25, 0.75, 1.0], "b": [1.0, 0.5, -0.5, 0.25]} => {"col": [1.5485992, -0.25, 0.75, 1.0], "position": [1.774292, 0.887146, -1.274292, 1.4114532]}
// run: {"a": [-1.0, 0.75, 0.25, 0.5], "b": [0.25, -0.75, 1.0, 0.5]} => {"col": [1.49469, 0.75, 0.25, 0.5], "position": [0.997345, -0.3763275, 0.25265503, 1.6210175]}
