// Forty texels of which one lane is read live at once. Each arrives in four registers; when it has been waited for, what nobody reads is free,
// and where room is short each is fetched just before it is needed first.
// test emit
// target usse color=f32
// check: temporaries
// not: U0120
#version 450
layout(binding = 0) uniform sampler2D t;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 o;
#define EIGHT(F, n) F(n) F(n + 1) F(n + 2) F(n + 3) F(n + 4) F(n + 5) F(n + 6) F(n + 7)
#define ALL(F) EIGHT(F, 0) EIGHT(F, 8) EIGHT(F, 16) EIGHT(F, 24) EIGHT(F, 32)
#define FETCH(n) a[n] = texture(t, uv + vec2(n, 2 * (n))).x;
#define SUM(n) sum += a[n];
#define PRODUCT(n) product = product * a[n] + a[(n) * 7 % 40];
void main() {
    float a[40];
    float sum = 0.0, product = 1.0;
    ALL(FETCH)
    ALL(SUM)
    ALL(PRODUCT)
    o = vec4(sum, product, 0.0, 1.0);
}
