// Values that a way out of the loop leaves open are neither copied nor given registers: the validator would name the copies.
// test compile
// target tesla
// target tesla chip=g80
#version 450
layout(location = 0) in vec4 a;
layout(location = 0) out vec4 o;
layout(binding = 0) uniform sampler2D t;
layout(binding = 1) uniform U { int n; float k; };
void main() {
    vec4 s = vec4(0);
    for (int i = 0; i < n; i++) {
        if (a.x > float(i) * k) {
            s += texture(t, a.xy * float(i));
            if (s.x > 2.0) break;
            if (a.y < 0.1 * float(i)) {
                if (s.y > 3.) continue;
                s.z += 1.;
                if (s.z > 2.5) break;
            }
        } else {
            s.w += s.x;
            if (s.w > 1.5) break;
        }
        s *= 0.9;
        for (int j = 0; j < i; j++) {
            if (s.x * float(j) > a.z) break;
            s.y += 0.1;
            if (s.y > a.w) {
                s.x += 1.;
                if (s.x > 5.) discard;
            }
        }
    }
    o = s;
}
