#version 450
// Heights over a grid: light from bytes, fog in the colour's last component, texture from above.
layout(location = 0) in vec2 grid;
layout(location = 1) in float height;
layout(location = 2) in vec3 normal;
uniform mat4 projection;
uniform mat4 modelView;
uniform vec4 chunk; // corner, spacing, height of a step
uniform vec4 sun;   // direction, strength
uniform vec3 sky;
uniform vec2 fog;   // start, 1 / length
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    vec3 p = vec3(grid.x * chunk.z + chunk.x, height * chunk.w, grid.y * chunk.z + chunk.y);
    vec4 v = modelView * vec4(p, 1.0);
    gl_Position = projection * v;
    float lit = max(dot(normal, sun.xyz) / 127.0, 0.0);
    v_color = vec4(sky + lit * sun.w, clamp((-v.z - fog.x) * fog.y, 0.0, 1.0));
    v_texcoord0 = p.xz * 0.25;
}
