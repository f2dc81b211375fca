// 48 components live around and in a loop, three of each vector.
// test run
// target pica
// target pica opt=0
#version 330
in vec4 a; in vec4 b;
uniform vec4 u[8];
out vec4 col;
void main() {
  float s = a.x;
  vec3 v0 = a.wzx * s + u[6].xyz;
  s = s * u[1].z + a.y;
  vec3 v1 = a.xyz * s + u[1].xyz;
  s = s * u[6].w + a.y;
  vec3 v2 = a.xyz * s + u[3].xyz;
  s = s * u[2].z + a.w;
  vec3 v3 = a.yxz * s + u[6].xyz;
  s = s * u[3].w + a.x;
  vec3 v4 = b.xyz * s + u[2].xyz;
  s = s * u[7].z + a.y;
  vec3 v5 = v3.yzx * u[1].wxz + s;
  s = s * u[0].z + a.y;
  vec3 v6 = vec3(s * u[0].x + a.x, s * u[0].w + a.y, s * u[5].y + a.w);
  s = s * u[3].z + a.w;
  vec3 v7 = max(a.xyz * u[6].xyz, s * u[4].xyz);
  s = s * u[6].x + a.w;
  vec3 v8 = max(a.xyz * u[3].xzy, s * u[7].xyz);
  s = s * u[6].y + a.y;
  vec3 v9 = max(a.xyz * u[5].xyz, s * u[2].xyz);
  s = s * u[3].z + a.y;
  vec3 v10 = v4.xyz * u[3].xyz + s;
  s = s * u[1].x + a.y;
  vec3 v11 = v3.xyz * u[7].xyz + s;
  s = s * u[3].z + a.w;
  vec3 v12 = vec3(s * u[6].z + a.w, s * u[3].y + a.x, s * u[3].x + a.z);
  s = s * u[2].x + a.z;
  vec3 v13 = v3.xyz * u[0].xyz + s;
  s = s * u[4].y + a.z;
  vec3 v14 = b.xyz * s + u[0].xyz;
  s = s * u[7].w + a.z;
  vec3 v15 = vec3(s * u[4].z + a.w, s * u[2].w + a.w, s * u[3].y + a.z);
  s = s * u[0].x + a.z;
  for (float i = 0.0; i < u[7].w; i += 1.0) {
    s = s * u[3].x + i;
    v6 = v6 * u[1].xyz + v4;
    v1 = min(v1, v12 * u[4].xyz);
    v9 = v9 * s + u[6].xyz;
    v12 = min(v12, v8 * u[5].xyz);
    v7 = v7.xyz * v13;
    v8 = v8 * s + u[2].xyz;
    v15 += s;
    v0 = v0 * s + u[1].xyz;
  }
  s = s * a.y + dot(v2, u[7].xyz);
  v9 = v9 * u[0].xyz + v8;
  v1 = v1.xyz * v4;
  vec3 v16 = max(a.xyz * u[6].xyz, s * u[4].xyz);
  s = s * u[5].w + a.y;
  s = s * u[2].z + dot(v8, u[1].xyz);
  v4 += s;
  v16 = min(v16, v13 * u[2].xyz);
  vec3 v17 = max(a.xyz * u[4].zyw, s * u[3].xyz);
  s = s * u[6].y + a.x;
  s = s * a.y + dot(v15, u[4].xyz);
  v5 = max(v5, v1);
  v0 = max(v0, v13);
  v17 += v5 * u[5].xyz;
  v11 = max(v11, v12);
  s = s * a.y + dot(v0, u[2].xyz);
  s = s * a.y + dot(v9, u[6].xyz);
  s = s * a.y + dot(v16, u[3].ywz);
  v10 += v3 * u[6].xyz;
  v10 *= v11;
  s = s * a.y + v6.x * v6.y * v6.z;
  v7 += v17 * u[0].xyz;
  s = s * u[1].x + dot(v14, u[6].xyz);
  s = s * a.y + dot(v4, u[4].xyz);
  s = s * u[2].z + dot(v7, u[5].xyz);
  s += v10.x * v10.y * v10.z;
  gl_Position = s * u[0] + b;
  col = vec4(s, a.yzw);
}
// env: {"uniforms": {"u": [[0.5, 0.25, -0.5, 0.75], [0.25, 0.5, 0.75, -0.25], [-0.75, 0.5, 0.25, 1.0], [0.5, -0.25, 0.75, 0.5], [0.25, 1.0, -0.5, 0.5], [-0.5, 0.75, 0.5, 0.25], [0.75, -0.5, 0.25, 0.5], [0.5, 0.25, 0.75, 2.0]]}}
// run: {"a": [0.5, -0.25, 0.75, 1.0], "b": [1.0, 0.5, -0.5, 0.25]} => {"col": [-0.048451424, -0.25, 0.75, 1.0], "position": [0.9757767, 0.48788834, -0.47577286, 0.2136612]}
// run: {"a": [-1.0, 0.75, 0.25, 0.5], "b": [0.25, -0.75, 1.0, 0.5]} => {"col": [2.3034973, 0.75, 0.25, 0.5], "position": [1.4017487, -0.17412567, -0.15174866, 2.2276306]}
