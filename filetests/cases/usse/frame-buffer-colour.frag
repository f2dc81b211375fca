// The frame buffer's colour is read in o0, as bytes, and the new one written there.
// test emit
// test run
// target usse
// check: # flags 0x001830c1
// check: # result o0 u8x4
// check: VPCKF32U8
// check: VPCKU8F32 o0.xyzw
#version 100
#extension GL_EXT_shader_framebuffer_fetch : require
precision mediump float;
varying vec4 v_color;
void main() { gl_FragColor = gl_LastFragData[0] * v_color; }
// run: {"last_color": [1, 0.2, 0, 1], "v_color": [0.2, 1, 1, 0.6]} => {"gl_FragColor": [0.2, 0.2, 0, 0.6]}
