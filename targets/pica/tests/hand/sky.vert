#version 450
// A sky dome: turns with the camera but does not move, and lies at the far plane.
layout(location = 0) in vec3 position;
uniform mat4 projection;
uniform mat4 view;
uniform vec4 horizon;
uniform vec4 zenith;
uniform vec2 drift;
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    vec4 p = projection * vec4(mat3(view) * position, 1.0);
    gl_Position = vec4(p.xy, -p.w, p.w);
    v_color = mix(horizon, zenith, clamp(position.y, 0.0, 1.0));
    v_texcoord0 = position.xz * 0.5 + drift;
}
