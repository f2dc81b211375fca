// 54 components of all widths live at once; the descriptors of `mad` run out and no register is free for products.
// test run
// target pica
// target pica opt=0
#version 330
in vec4 a; in vec4 b;
uniform vec4 u[8];
out vec4 col;
void main() {
  float s = a.x;
  vec2 v0 = max(a.xy * u[5].xy, s * u[1].xy);
  s = s * u[1].z + a.z;
  vec2 v1 = vec2(s * u[5].x + a.w, s * u[1].w + a.x);
  s = s * u[6].w + a.y;
  vec2 v2 = vec2(s * u[0].z + a.y, s * u[4].z + a.z);
  s = s * u[5].x + a.y;
  vec4 v3 = b.xyzw * s + u[3].xyzw;
  s = s * u[4].w + a.x;
  vec3 v4 = vec3(s * u[1].y + a.x, s * u[7].z + a.y, s * u[0].w + a.x);
  s = s * u[5].y + a.z;
  vec4 v5 = v3.xyzw * u[3].xyzw + s;
  s = s * u[3].y + a.w;
  vec3 v6 = max(a.xyz * u[3].xwy, s * u[0].xyz);
  s = s * u[2].z + a.z;
  vec2 v7 = b.xy * s + u[6].zw;
  s = s * u[0].w + a.y;
  vec3 v8 = a.xyz * s + u[2].zxy;
  s = s * u[7].y + a.y;
  vec3 v9 = a.xyz * s + u[4].xyz;
  s = s * u[4].y + a.x;
  vec2 v10 = max(a.xy * u[4].xy, s * u[7].xy);
  s = s * u[3].x + a.x;
  vec3 v11 = vec3(s * u[2].w + a.w, s * u[2].z + a.x, s * u[7].y + a.z);
  s = s * u[3].y + a.y;
  vec2 v12 = vec2(s * u[3].z + a.z, s * u[3].z + a.x);
  s = s * u[6].y + a.z;
  vec4 v13 = b.xyzw * s + u[4].xyzw;
  s = s * u[6].w + a.x;
  float v14 = float(s * u[3].w + a.x);
  s = s * u[7].y + a.x;
  float v15 = v3.y * u[5].x + s;
  s = s * u[7].w + a.w;
  float v16 = v1.y * u[5].y + s;
  s = s * u[7].w + a.x;
  vec4 v17 = v13.wyxz * u[0].xyzw + s;
  s = s * u[6].z + a.w;
  vec4 v18 = max(a.xyzw * u[6].xyzw, s * u[5].xyzw);
  s = s * u[1].w + a.z;
  vec3 v19 = max(a.xyz * u[4].xyz, s * u[4].xyz);
  s = s * u[6].x + a.w;
  float v20 = float(s * u[1].y + a.z);
  s = s * u[1].w + a.w;
  v9 += v11 * u[4].ywx;
  s = s * u[2].z + dot(v5, u[6].yzwx);
  s = s * u[1].x + dot(v18, u[3].xwzy);
  s = s * a.y + v8.x * v8.y * v8.z;
  s = s * u[2].z + v7.x * v7.y;
  v6 = v6 * s + v19;
  v4 *= v6;
  s = s * u[1].x + dot(v4, u[7].xyz);
  s = s * u[1].x + dot(v13, u[5].xyzw);
  v1 *= v12;
  v10 = max(v10, v1);
  s = s * a.y + v20;
  s = s * a.y + v2.x * v2.y;
  s = s * a.y + v10.x * v10.y;
  v16 = max(v16, v15);
  s = s * u[1].x + v14;
  s = s * u[2].z + v16;
  s = s * a.y + v9.x * v9.y * v9.z;
  s = s * u[2].z + v0.x * v0.y;
  v3 += v17 * u[4].xyzw;
  s += dot(v3, u[3].zxwy);
  gl_Position = s * u[0] + b;
  col = vec4(s, a.yzw);
}
// env: {"uniforms": {"u": [[0.5, 0.25, -0.5, 0.75], [0.25, 0.5, 0.75, -0.25], [-0.75, 0.5, 0.25, 1.0], [0.5, -0.25, 0.75, 0.5], [0.25, 1.0, -0.5, 0.5], [-0.5, 0.75, 0.5, 0.25], [0.75, -0.5, 0.25, 0.5], [0.5, 0.25, 0.75, 2.0]]}}
// run: {"a": [0.5, -0.25, 0.75, 1.0], "b": [1.0, 0.5, -0.5, 0.25]} => {"col": [2.042633, -0.25, 0.75, 1.0], "position": [2.0213013, 1.0106506, -1.5213165, 1.7819824]}
// run: {"a": [-1.0, 0.75, 0.25, 0.5], "b": [0.25, -0.75, 1.0, 0.5]} => {"col": [-0.60250854, 0.75, 0.25, 0.5], "position": [-0.051254272, -0.90062714, 1.3012543, 0.04811859]}
