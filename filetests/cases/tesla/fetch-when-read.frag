// Forty colours are fetched before the first is read: an order that keeps fewer of their values needs no local memory.
// test emit
// target tesla
// check: texauto
// not: l[
#version 450
layout(binding = 0) uniform sampler2D t;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 o;
#define EIGHT(F, n) F(n) F(n + 1) F(n + 2) F(n + 3) F(n + 4) F(n + 5) F(n + 6) F(n + 7)
#define ALL(F) EIGHT(F, 0) EIGHT(F, 8) EIGHT(F, 16) EIGHT(F, 24) EIGHT(F, 32)
#define FETCH(n) c[n] = texture(t, uv + vec2(n, 2 * (n))).xyz;
#define LUMA(n) y[n] = dot(c[n], vec3(0.25, 0.5, 0.125));
#define CHROMA(n) z[n] = c[n].x - c[n].z;
#define PRODUCT(n) product = product * y[n] + z[(n) * 7 % 40];
#define PRODUCT2(n) product = product * c[n].y + z[(n) * 5 % 40];
#define PRODUCT3(n) product = product * z[n] + y[(n) * 3 % 40];
void main() {
    vec3 c[40];
    float y[40], z[40];
    float product = 1.0;
    ALL(FETCH)
    ALL(LUMA)
    ALL(CHROMA)
    ALL(PRODUCT)
    ALL(PRODUCT2)
    ALL(PRODUCT3)
    o = vec4(product, 0.0, 0.0, 1.0);
}
