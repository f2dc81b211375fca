#version 450
// A lit, turning mesh: light for each corner, as PICA200 has no fragment programs.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 0) uniform mat4 projection;
layout(location = 4) uniform mat4 modelView;
layout(location = 8) uniform vec4 light;      // direction to the light in view space
layout(location = 9) uniform vec4 tint;
layout(location = 2) out vec4 color;       // location 2 is the vertex colour

void main() {
    gl_Position = projection * (modelView * vec4(position, 1.0));
    float diffuse = max(dot(normalize(mat3(modelView) * normal), light.xyz), 0.0);
    color = vec4(tint.rgb * (0.25 + 0.75 * diffuse), 1.0);
}
