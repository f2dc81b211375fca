#version 450
// Texture coordinates of a sphere map, and the picture's own.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 texcoord;
layout(std140, binding = 0) uniform Scene { mat4 projection; mat4 modelview; };
layout(location = 2) out vec4 color;
layout(location = 3) out vec2 texcoord0;
layout(location = 5) out vec2 texcoord1;
void main() {
    vec4 p = vec4(position, 1.0) * modelview;
    vec3 n = normalize((vec4(normal, 0.0) * modelview).xyz);
    vec3 r = reflect(normalize(p.xyz), n);
    r.z += 1.0;
    float m = 0.5 * inversesqrt(dot(r, r));
    texcoord1 = r.xy * m + 0.5;
    texcoord0 = texcoord;
    color = vec4(1.0);
    gl_Position = p * projection;
}
