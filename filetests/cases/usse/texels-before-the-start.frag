// Thirty-six texels at unmodified coordinates need 144 attribute registers; the machine has 128. What does not fit beside the coordinates is
// read by instructions.
// test emit
// target usse color=f32
// check: SMP
// not: pa128
#version 120
uniform sampler2D a, b, c, d;
varying vec2 v0, v1, v2, v3, v4, v5, v6, v7, v8;
#define FOUR(v) sum += texture2D(a, v).z; sum += texture2D(b, v).z; sum += texture2D(c, v).z; sum += texture2D(d, v).z;
void main() {
    float sum = 0.0;
    FOUR(v0) FOUR(v1) FOUR(v2) FOUR(v3) FOUR(v4) FOUR(v5) FOUR(v6) FOUR(v7) FOUR(v8)
    gl_FragColor = vec4(sum);
}
