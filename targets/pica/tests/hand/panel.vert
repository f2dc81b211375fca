#version 450
// UI: a frame of nine parts; the border keeps its width, the middle stretches, all on whole pixels.
layout(location = 0) in vec2 anchor; // 0 or 1
layout(location = 1) in vec2 inset;  // -1, 0 or 1 borders
layout(location = 2) in vec2 texcoord;
uniform mat4 projection;
uniform vec4 rect;   // place, size
uniform vec2 border;
uniform vec4 tint;
uniform float fade;
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    vec2 p = rect.xy + anchor * rect.zw + inset * border;
    gl_Position = projection * vec4(floor(p + 0.5), 0.0, 1.0);
    v_color = vec4(tint.rgb, tint.a * fade);
    v_texcoord0 = texcoord;
}
