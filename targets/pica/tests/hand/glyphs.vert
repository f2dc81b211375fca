#version 450
// Text: a glyph's cell in the font's sheet, a drop shadow's offset, ink over paper.
layout(location = 0) in vec2 pen;
layout(location = 1) in vec2 corner;
layout(location = 2) in vec2 cell;
layout(location = 3) in float coverage;
uniform mat4 projection;
uniform vec4 font;   // size of a cell in pixels, size of a cell in the sheet
uniform vec2 offset;
uniform vec4 ink;
uniform vec4 paper;
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    vec2 p = floor(pen + corner * font.xy + offset);
    gl_Position = projection * vec4(p, 0.5, 1.0);
    v_texcoord0 = (cell + corner) * font.zw;
    v_color = mix(paper, ink, coverage);
}
