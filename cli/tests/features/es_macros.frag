// OpenGL ES 1.00 as people write it: macros, arrays as parameters, swizzles that are set, do loops with `continue`.
// @bind {"invocations": [{"inputs": {"v": [0.5, -1.5, 2, 5]}}], "uniforms": {"u": [10, 20, 30], "m": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}}
// @expect {"invocations": [{"outputs": {"gl_FragColor": [61.0, 120.0, 27.75, 179.5625]}}]}
precision mediump float;
#define SQ(x) ((x)*(x))
#define APPLY(f, x) f(x)
#define XY(v) v.xy
#define DECL(t, n) t n
#define SW .zyx
varying vec4 v;
uniform float u[3];
uniform mat3 m;
float sum(float a[3]) { float s = 0.0; for (int i = 0; i < 3; i++) { if (i == 1) continue; s += a[i]; } return s; }
void swap(inout float a, inout float b) { float t = a; a = b; b = t; }
vec2 cplx(vec2 a, vec2 b) { return vec2(a.x*b.x - a.y*b.y, a.x*b.y + a.y*b.x); }
void main() {
  DECL(vec3, c) = v SW;
  float a = SQ(v.x + 1.0), b = APPLY(abs, -2.0 * v.y);
  swap(a, b);
  c.yz = XY((v * 2.0)).yx;
  mat3 t = m; t[1] = c; t[2][0] *= 3.0; t[0].zx = vec2(7.0, 8.0);
  vec3 r = c * t; bool q = a > b ^^ v.z < 0.0; int n = int(v.w) / 2 * 3;
  float i = 0.0; do { i += 1.0; if (i > 3.0) break; if (mod(i, 2.0) == 0.0) continue; r.x += i; } while (i < 10.0);
  vec2 z = v.xy; for (int k = 0; k < 3; k++) { z = cplx(z, z) + v.zw; if (dot(z, z) > 1e4) break; }
  gl_FragColor = vec4(r.x + sum(u), r.y + float(n) + (q ? 100.0 : 0.0), r.z + a - b, z.x - z.y);
}
