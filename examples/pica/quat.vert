#version 450
// The quaternion that turns z to the normal, and the view vector: what fragment lighting wants.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 texcoord;
layout(std140, binding = 0) uniform Scene { mat4 projection; mat4 modelview; };
layout(location = 1) out vec4 normalquat;
layout(location = 2) out vec4 color;
layout(location = 3) out vec2 texcoord0;
layout(location = 8) out vec3 view;
void main() {
    vec4 p = vec4(position, 1.0) * modelview;
    vec3 n = normalize((vec4(normal, 0.0) * modelview).xyz);
    float h = 0.5 * n.z + 0.5;
    vec4 q;
    if (h > 0.0) {
        float s = sqrt(h);
        q = vec4(-n.y, n.x, 0.0, 0.0) * (0.5 / s);
        q.w = s;
    } else {
        q = vec4(1.0, 0.0, 0.0, 0.0);
    }
    normalquat = q;
    view = -p.xyz;
    texcoord0 = texcoord;
    color = vec4(1.0);
    gl_Position = p * projection;
}
