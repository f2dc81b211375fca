#version 450
// Two poses of a face, the normal as a quaternion for the fragment lighting.
layout(location = 0) in vec3 position0;
layout(location = 1) in vec3 normal0;
layout(location = 2) in vec3 position1;
layout(location = 3) in vec3 normal1;
uniform mat4 projection;
uniform mat4 modelView;
uniform float pose;
layout(location = 1) out vec4 v_normalquat;
layout(location = 8) out vec3 v_view;
void main() {
    vec4 v = modelView * vec4(mix(position0, position1, pose), 1.0);
    vec3 n = normalize(mat3(modelView) * mix(normal0, normal1, pose));
    gl_Position = projection * v;
    float s = inversesqrt(2.0 * (1.0 + n.z));
    v_normalquat = vec4(n.xy * s, 0.5 / s, 0.0);
    v_view = -v.xyz;
}
