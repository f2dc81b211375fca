// The frame buffer's registers have no room for four floats.
// test compile(expect-fail)
// target usse color=f32
#version 100
#extension GL_EXT_shader_framebuffer_fetch : require
precision mediump float;
varying vec4 v_color;
void main() { gl_FragColor = gl_LastFragData[0] * v_color; } // error: U0100 the frame buffer's own registers have 64 bits
