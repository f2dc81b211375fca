// More nested branches than `joinat` may wait at once: the innermost ones part without.
// test emit
// target tesla
// check: joinat
#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(location = 0) out vec4 o;
float f(float x, float k) { return sin(x) * cos(x + k) + exp2(x * k); }
void main() {
    float x = a.x;
    if (a.x > 0.1) {
        x = f(x, 1.5);
        if (a.y > 0.2) {
            x = f(x, 2.5);
            if (a.z > 0.3) {
                x = f(x, 3.5);
                if (a.w > 0.4) {
                    x = f(x, 4.5);
                    if (b.x > 0.5) {
                        x = f(x, 5.5);
                        if (b.y > 0.6) {
                            x = f(x, 6.5);
                            if (b.z > 0.7) {
                                x = f(x, 7.5);
                                if (b.w > 0.8) {
                                    x = f(x, 8.5);
                                    if (a.x + b.x > 0.9) {
                                        x = f(x, 9.5);
                                        x = f(x, 9.25);
                                    }
                                    x = f(x, 8.25);
                                }
                                x = f(x, 7.25);
                            }
                            x = f(x, 6.25);
                        }
                        x = f(x, 5.25);
                    }
                    x = f(x, 4.25);
                }
                x = f(x, 3.25);
            }
            x = f(x, 2.25);
        }
        x = f(x, 1.25);
    }
    o = vec4(x, a.y, b.x, b.y);
}
