// GLSL: switch that falls through, do-while, ternaries, comma, out and inout parameters, overloads, const arrays, struct values.
// @refused pica: P0201
// @bind { "uniforms": { "n": 3, "k": 1 }, "invocations": [ { "inputs": { "i": 0 } }, { "inputs": { "i": 1 } }, { "inputs": { "i": 2 } }, { "inputs": { "i": 5 } } ] }
// @expect { "invocations": [ { "outputs": { "r": [111,6,5,40] } }, { "outputs": { "r": [110,6,8,50] } }, { "outputs": { "r": [100,6,11,60] } }, { "outputs": { "r": [1000,6,20,50] } } ] }
#version 450
layout(location = 0) in int i;
layout(std140, binding = 0) uniform U { int n; int k; };
layout(location = 0) out vec4 r;
struct P { ivec2 a; int b; };
const int table[4] = int[4](40, 50, 60, 50);
const P origin = P(ivec2(1, 2), 3);
int pick(int x) {
  int s = 0;
  switch (x) {
    case 0: s += 1;
    case 1: s += 10;
    case 2: s += 100; break;
    default: s += 1000;
  }
  return s;
}
void twice(in int x, out int y, inout int z) { y = x * 2; z += y; x = 0; }
int f(int x) { return x; }
int f(ivec2 x) { return x.x + x.y; }
P move(P p, int by) { p.a += by; return p; }
void main() {
  int s = 0, j = n;
  do { s += j; j--; } while (j > 0);
  int y, z = 5;
  twice(i, y, z);
  int w = (y > 100) ? 0 : z;
  P q = move(origin, i);
  w += (q.a == origin.a && q.b == origin.b) ? 0 : f(q.a) - f(i) - 3;
  r = vec4(pick(i), s, w, table[min(i, 3)]);
  r.z = float(w + k - 1);
  gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
}
