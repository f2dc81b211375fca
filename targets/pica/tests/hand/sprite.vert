#version 450
// 2D: a turned and scaled sprite; corners come with the vertices, the transformation with the sprite.
layout(location = 0) in vec2 corner;
layout(location = 1) in vec2 texcoord;
layout(location = 2) in vec4 colour;
uniform mat4 projection;
uniform vec4 placement; // centre, size
uniform vec2 turn;      // cosine, sine
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    vec2 p = corner * placement.zw;
    p = vec2(p.x * turn.x - p.y * turn.y, p.x * turn.y + p.y * turn.x) + placement.xy;
    gl_Position = projection * vec4(p, 0.0, 1.0);
    v_color = colour / 255.0;
    v_texcoord0 = texcoord;
}
