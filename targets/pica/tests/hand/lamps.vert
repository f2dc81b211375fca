#version 450
// Four point lights in a loop.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
uniform mat4 projection;
uniform mat4 modelView;
uniform vec4 lamp[4];   // place in view space, 1 / reach squared
uniform vec4 colour[4];
uniform vec4 ambient;
layout(location = 2) out vec4 v_color;
void main() {
    vec4 v = modelView * vec4(position, 1.0);
    gl_Position = projection * v;
    vec3 n = mat3(modelView) * normal;
    vec3 sum = ambient.rgb;
    for (int i = 0; i < 4; i++) {
        vec3 d = lamp[i].xyz - v.xyz;
        float s = dot(d, d);
        float lit = max(dot(n, d), 0.0) * inversesqrt(s) * max(1.0 - s * lamp[i].w, 0.0);
        sum += colour[i].rgb * lit;
    }
    v_color = vec4(min(sum, 1.0), 1.0);
}
