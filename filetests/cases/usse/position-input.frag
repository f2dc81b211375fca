// test emit
// target usse
// The position's descriptor is that of published programs: with bit 20 a loader takes it for bytes.
// check: # input 0x0ec0d00f
#version 450
layout(location = 0) out vec4 o;
void main() { o = vec4(gl_FragCoord.xy * 0.001, 0.0, 1.0); }
