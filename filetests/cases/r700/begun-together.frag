// Sums of what is computed apart: in the program's order little is alive, but a schedule begins all of it. Values go to scratch memory then.
// test run
// target r700
#version 450
layout(location = 0) in vec4 p;
layout(location = 0) out vec4 o;
vec4 mixed(vec4 p) {
    vec4 a[8], b[8];
    for (int i = 0; i < 8; i++) a[i] = fract(p * (float(i) + 1.5) + p.wzyx);
    for (int i = 0; i < 8; i++) b[i] = a[i] * a[(i + 3) % 8].wzyx + a[(i + 5) % 8];
    for (int i = 0; i < 8; i++) a[i] = b[i] * b[(i + 3) % 8].wzyx + b[(i + 5) % 8];
    return (a[0] + a[1] + a[2] + a[3]) + (a[4] + a[5] + a[6] + a[7]);
}
void main() {
    o = mixed(p);
    o += mixed(p + 1.25); o += mixed(p + 2.25); o += mixed(p + 3.25); o += mixed(p + 4.25);
    o += mixed(p + 5.25); o += mixed(p + 6.25); o += mixed(p + 7.25); o += mixed(p + 8.25);
    o += mixed(p + 9.25); o += mixed(p + 10.25); o += mixed(p + 11.25); o += mixed(p + 12.25);
    o += mixed(p + 13.25); o += mixed(p + 14.25); o += mixed(p + 15.25); o += mixed(p + 16.25);
    o += mixed(p + 17.25); o += mixed(p + 18.25); o += mixed(p + 19.25); o += mixed(p + 20.25);
    o += mixed(p + 21.25); o += mixed(p + 22.25); o += mixed(p + 23.25); o += mixed(p + 24.25);
}
// run: {"p": [0.5, 0.25, 0, 0.5]} => {"o": [246.578125, 121.9453125, 165.0078125, 246.578125]}
