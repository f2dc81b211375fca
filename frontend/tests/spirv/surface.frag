#version 450
struct Light { vec3 at; float power; mat2x3 turn; };
layout(constant_id = 3) const int COUNT = 2;
layout(constant_id = 7) const float SCALE = 0.5;
layout(std140, set = 1, binding = 2) uniform Scene {
  float near;
  mat4x3 view;
  Light lights[2];
  vec2 grid[3][4];
  layout(row_major) mat2x4 rows;
} scene;
layout(std430, set = 0, binding = 5) readonly buffer Points { uint count; vec4 first[2]; vec3 rest[]; } points;
layout(push_constant) uniform Push { vec4 tint; float unread; };
layout(set = 2, binding = 0) uniform texture2D image;
layout(set = 2, binding = 9) uniform sampler filtered;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
  color = texture(sampler2D(image, filtered), uv) * tint * SCALE + points.first[1] * scene.near;
  for (int i = 0; i < COUNT; i++) color.xyz += scene.lights[i].turn * scene.grid[1][i] + scene.view * color + vec3((scene.rows * uv).xy, points.count);
}
