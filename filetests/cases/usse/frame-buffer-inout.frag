// An `inout` colour begins as the frame buffer's; as halves where the caller says so.
// test emit
// test run
// target usse color=f16
// check: # result o0 f16x4
#version 300 es
#extension GL_EXT_shader_framebuffer_fetch : require
precision mediump float;
in vec4 v_color;
layout(location = 0) inout vec4 result;
void main() {
    if (v_color.a > 0.5) result = result * 0.5 + v_color;
}
// run: {"last_color": [1, 0.5, 0, 1], "v_color": [0.25, 0, 1, 0.75]} => {"result": [0.75, 0.25, 1, 1.25]}
// run: {"last_color": [1, 0.5, 0, 1], "v_color": [0.25, 0, 1, 0.25]} => {"result": [1, 0.5, 0, 1]}
