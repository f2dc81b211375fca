#version 450
// A shadow on the ground: vertices slide along the light down to it, and fade with their height.
layout(location = 0) in vec3 position;
uniform mat4 projection;
uniform mat4 view;
uniform mat4 model;
uniform vec4 light; // direction, height of the ground
uniform vec4 shade;
layout(location = 2) out vec4 v_color;
void main() {
    vec3 w = (model * vec4(position, 1.0)).xyz;
    float above = w.y - light.w;
    vec3 s = w - light.xyz * (above / light.y);
    gl_Position = projection * (view * vec4(s, 1.0));
    v_color = vec4(shade.rgb, shade.a * clamp(1.0 - above * 0.1, 0.0, 1.0));
}
