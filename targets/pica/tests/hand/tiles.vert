#version 450
// A tile map: the place follows from the tile's number, the picture from a sheet of 16 by 16.
layout(location = 0) in vec2 corner;
layout(location = 1) in float place;
layout(location = 2) in float picture;
uniform mat4 projection;
uniform vec4 map;  // scroll, columns, 1 / columns
uniform vec2 tile; // size
layout(location = 3) out vec2 v_texcoord0;
void main() {
    float row = floor(place * map.w);
    vec2 cell = vec2(place - row * map.z, row);
    gl_Position = projection * vec4((cell + corner) * tile - map.xy, 0.0, 1.0);
    float v = floor(picture / 16.0);
    v_texcoord0 = (vec2(picture - v * 16.0, v) + corner) / 16.0;
}
