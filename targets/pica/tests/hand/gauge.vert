#version 450
// UI: a dial's needle and its scale: two hands turn about one centre, the colour says how near the red it is.
layout(location = 0) in vec2 place;
layout(location = 1) in float hand;     // 0: the scale, 1: the needle
layout(location = 2) in vec2 texcoord;
uniform mat4 projection;
uniform vec4 needle; // cosine, sine, value, the red's beginning
uniform vec4 dial;   // centre, size, fade
uniform vec4 calm;
uniform vec4 alarm;
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    vec2 turned = vec2(place.x * needle.x - place.y * needle.y, place.x * needle.y + place.y * needle.x);
    vec2 p = mix(place, turned, hand) * dial.z + dial.xy;
    gl_Position = projection * vec4(p, 0.0, 1.0);
    float danger = clamp((needle.z - needle.w) * 4.0, 0.0, 1.0);
    float shown = clamp(dial.w + hand * 0.25, 0.0, 1.0);
    vec4 c = mix(calm, alarm, danger);
    v_color = vec4(c.rgb, c.a * shown);
    v_texcoord0 = texcoord;
}
