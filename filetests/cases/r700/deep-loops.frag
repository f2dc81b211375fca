// The work of loops within loops grows without end; what is compared stays a number.
// test compile
// target r700
// check: LOOP_START_DX10
#version 450
layout(location = 0) out vec4 o;
layout(set = 0, binding = 0) uniform U { int n; };
#define L(i) for (int i = 0; i < n; i++)
void main() {
    float x = 0.0;
    L(i0) L(i1) L(i2) L(i3) L(i4) L(i5) L(i6) L(i7)
    L(i8) L(i9) L(i10) L(i11) L(i12) L(i13) L(i14) L(i15)
    L(i16) L(i17) L(i18) L(i19) L(i20) L(i21) L(i22) L(i23)
    L(i24) L(i25) L(i26) L(i27) L(i28) L(i29) L(i30) L(i31)
    L(i32) L(i33)
        x += 1.0;
    o = vec4(x);
}
