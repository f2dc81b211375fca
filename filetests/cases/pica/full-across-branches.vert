// 52 components of all widths live across conditions that change some of them.
// test run
// target pica
// target pica opt=0
#version 330
in vec4 a; in vec4 b;
uniform vec4 u[8];
out vec4 col;
void main() {
  float s = a.x;
  float v0 = float(s * u[3].z + a.y);
  s = s * u[5].y + a.w;
  vec4 v1 = b.xyzw * s + u[1].xyzw;
  s = s * u[6].y + a.w;
  vec4 v2 = a.xyzw * s + u[4].xyzw;
  s = s * u[4].w + a.y;
  float v3 = b.w * s + u[1].z;
  s = s * u[2].z + a.z;
  vec4 v4 = b.xyzw * s + u[7].xyzw;
  s = s * u[7].w + a.w;
  vec2 v5 = max(a.xy * u[4].xw, s * u[3].xy);
  s = s * u[6].w + a.y;
  vec4 v6 = a.xyzw * s + u[0].xyzw;
  s = s * u[1].w + a.y;
  vec4 v7 = vec4(s * u[2].z + a.z, s * u[7].w + a.z, s * u[4].w + a.x, s * u[3].z + a.z);
  s = s * u[6].x + a.x;
  vec3 v8 = b.xyz * s + u[5].xyz;
  s = s * u[0].y + a.x;
  vec3 v9 = b.yxz * s + u[2].xyz;
  s = s * u[2].w + a.z;
  vec3 v10 = v4.xyz * u[1].xyz + s;
  s = s * u[3].w + a.z;
  vec3 v11 = max(a.xyz * u[3].xyz, s * u[6].xyz);
  s = s * u[1].y + a.z;
  vec2 v12 = max(a.xy * u[1].xy, s * u[6].xy);
  s = s * u[4].y + a.z;
  vec4 v13 = vec4(s * u[7].z + a.z, s * u[2].x + a.y, s * u[5].w + a.w, s * u[7].y + a.x);
  s = s * u[2].x + a.z;
  vec2 v14 = v2.xy * u[3].xy + s;
  s = s * u[4].z + a.w;
  vec3 v15 = a.xyz * s + u[5].xyz;
  s = s * u[0].x + a.y;
  vec2 v16 = max(a.xy * u[6].xy, s * u[3].xy);
  s = s * u[5].w + a.y;
  float v17 = a.y * s + u[6].z;
  s = s * u[7].w + a.y;
  float v18 = max(a.w * u[7].y, s * u[0].x);
  s = s * u[5].x + a.z;
  float v19 = max(a.y * u[2].x, s * u[4].x);
  s = s * u[5].z + a.w;
  if (s < u[0].x) {
    v12 += s;
    v2 = v2.xyzw * v6;
    v3 = v3 * s + u[5].x;
    v11 = v11 * s + u[1].xyz;
    v15 = v15 * u[6].xyz + v8;
  } else {
    v10 += s;
    v19 += s;
    v8 = v8.yxz * v10;
    v18 += s;
    v7 = v7 * s + u[2].xwzy;
    s = s * u[3].w + 1.0;
  }
  v5 += v16 * u[2].xy;
  v9 = v9 * s + u[0].xyz;
  v18 = min(v18, v19 * u[3].w);
  float v20 = max(a.x * u[0].z, s * u[0].w);
  s = s * u[1].z + a.z;
  float v21 = max(a.w * u[0].x, s * u[7].z);
  s = s * u[1].w + a.w;
  v9 += v10 * u[5].xyz;
  s = s * a.y + dot(v11, u[6].xyz);
  v17 += v20 * u[5].w;
  v13 += v1 * u[7].xyzw;
  v4 = v4 * s + u[7].xyzw;
  v19 = v19 * s + u[6].x;
  vec4 v22 = v6.xyzw * u[2].xyzw + s;
  s = s * u[7].x + a.x;
  vec3 v23 = a.zxw * s + u[0].xyz;
  s = s * u[7].w + a.y;
  vec3 v24 = vec3(s * u[4].w + a.z, s * u[6].w + a.x, s * u[5].y + a.x);
  s = s * u[4].z + a.z;
  float v25 = max(a.y * u[5].x, s * u[3].y);
  s = s * u[2].y + a.w;
  if (s < u[2].x) {
    v24 += s;
    v7 = v7 * u[2].yxwz + v13;
    v0 = min(v0, v25 * u[2].x);
    v14 = min(v14, v14 * u[5].zy);
    v22 = v22 * u[3].xyzw + v13;
  } else {
    v3 += s;
    v4 = min(v4, v22 * u[7].xyzw);
    v25 += s;
    v17 += s;
    v23 = min(v23, v8 * u[5].xyz);
    s = s * u[3].w + 1.0;
  }
  v18 = v18 * s + v0;
  v7 = max(v7, v13);
  v5 = min(v5, v5 * u[6].xy);
  v7 = min(v7, v7 * u[7].xyzw);
  float v26 = v17 * u[4].z + s;
  s = s * u[3].z + a.w;
  vec3 v27 = b.xyz * s + u[7].zyw;
  s = s * u[6].z + a.z;
  float v28 = v12.x * u[7].z + s;
  s = s * u[5].w + a.x;
  v4 *= v7;
  s = s * a.y + dot(v5, u[5].xy);
  s = s * u[1].x + v8.x * v8.y * v8.z;
  v26 += s;
  v24 = v24 * u[4].wzx + v24;
  vec2 v29 = max(a.xy * u[3].xy, s * u[5].xy);
  s = s * u[7].x + a.w;
  vec3 v30 = v4.xyz * u[7].xyz + s;
  s = s * u[0].y + a.w;
  vec2 v31 = vec2(s * u[0].w + a.y, s * u[4].w + a.y);
  s = s * u[3].x + a.z;
  vec2 v32 = vec2(s * u[0].y + a.w, s * u[6].x + a.y);
  s = s * u[2].x + a.y;
  if (s < u[2].x) {
    v22 = v22.xyzw * v2;
    v14 = v14 * s + u[7].xy;
    v17 = min(v17, v25 * u[3].y);
    v15 += s;
    v19 = min(v19, v17 * u[1].x);
  } else {
    v26 = v26 * u[0].x + v21;
    v29 = v29 * s + u[5].xy;
    v17 += s;
    v6 += s;
    v22 = v22 * u[5].xyzw + v2;
    s = s * u[3].w + 1.0;
  }
  v18 = max(v18, v21);
  s = s * a.y + v22.x * v22.y * v22.z * v22.w;
  s = s * u[1].x + v24.x * v24.y * v24.z;
  s = s * u[1].x + v29.x * v29.y;
  v25 += s;
  v31 = v31 * s + u[4].xy;
  vec4 v33 = max(a.xyzw * u[6].xyzw, s * u[0].wxzy);
  s = s * u[7].z + a.z;
  vec2 v34 = vec2(s * u[6].x + a.y, s * u[5].x + a.x);
  s = s * u[1].x + a.x;
  vec2 v35 = max(a.yx * u[5].xy, s * u[4].xy);
  s = s * u[7].z + a.w;
  float v36 = a.x * s + u[0].y;
  s = s * u[0].x + a.w;
  float v37 = a.x * s + u[4].x;
  s = s * u[3].w + a.y;
  v19 += v28 * u[0].x;
  v3 = min(v3, v36 * u[2].x);
  v2 += s;
  float v38 = a.y * s + u[7].x;
  s = s * u[6].w + a.w;
  s = s * a.y + dot(v35, u[3].xy);
  s = s * u[1].x + v25;
  s = s * u[1].x + dot(v33, u[0].xyzw);
  v30 = v30 * s + v23;
  v38 = max(v38, v18);
  s = s * u[2].z + dot(v31, u[5].xy);
  s = s * a.y + dot(v6, u[7].xyzw);
  s = s * a.y + v37;
  v17 *= v26;
  v19 += v36 * u[3].y;
  v12 = v12 * s + v34;
  v9 = max(v9, v30);
  v38 += v17 * u[6].y;
  s = s * u[2].z + dot(v2, u[2].xyzw);
  s = s * u[1].x + v4.x * v4.y * v4.z * v4.w;
  v9 *= v27;
  s = s * u[2].z + dot(v14, u[6].xy);
  s = s * u[2].z + v32.x * v32.y;
  v3 *= v38;
  s = s * u[2].z + v12.x * v12.y;
  v19 += v3 * u[1].y;
  s = s * a.y + v15.x * v15.y * v15.z;
  s = s * a.y + v9.x * v9.y * v9.z;
  s += v19;
  gl_Position = s * u[0] + b;
  col = vec4(s, a.yzw);
}
// env: {"uniforms": {"u": [[0.5, 0.25, -0.5, 0.75], [0.25, 0.5, 0.75, -0.25], [-0.75, 0.5, 0.25, 1.0], [0.5, -0.25, 0.75, 0.5], [0.25, 1.0, -0.5, 0.5], [-0.5, 0.75, 0.5, 0.25], [0.75, -0.5, 0.25, 0.5], [0.5, 0.25, 0.75, 2.0]]}}
// run: {"a": [0.5, -0.25, 0.75, 1.0], "b": [1.0, 0.5, -0.5, 0.25]} => {"col": [-29.391357, -0.25, 0.75, 1.0], "position": [-13.695679, -6.8478394, 14.195679, -21.793457]}
// run: {"a": [-1.0, 0.75, 0.25, 0.5], "b": [0.25, -0.75, 1.0, 0.5]} => {"col": [2.2207642, 0.75, 0.25, 0.5], "position": [1.3603821, -0.19480896, -0.11038208, 2.1655884]}
