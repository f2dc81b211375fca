// The rasteriser hands over w, of which the language wants the reciprocal (so have it Mesa's driver and Cemu); that one's reciprocal is what was handed over.
// test emit
// target r700
// check: RECIP_IEEE * T0.$(=.), T0.W
// not: RECIP
#version 330
out vec4 c;
void main() { c = vec4(gl_FragCoord.w, 1.0 / gl_FragCoord.w, gl_FragCoord.xz); }
