#version 450
// A sphere map: the reflected ray as texture coordinate.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
uniform mat4 projection;
uniform mat4 modelView;
uniform vec4 tint;
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    vec4 v = modelView * vec4(position, 1.0);
    gl_Position = projection * v;
    vec3 e = normalize(v.xyz);
    vec3 n = normalize(mat3(modelView) * normal);
    vec3 r = reflect(e, n);
    float m = 2.0 * sqrt(r.x * r.x + r.y * r.y + (r.z + 1.0) * (r.z + 1.0));
    v_texcoord0 = r.xy / m + 0.5;
    v_color = tint;
}
