#version 450
// Lamps: as many as the application says, near ones and far ones.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 tint;

struct Lamp { vec4 place; vec4 color; };   // place.w: 1 for a lamp, 0 for a direction

layout(std140, binding = 0) uniform Scene {
    mat4 projection;
    mat4 modelview;
    vec4 ambient;
    int lamps;
    Lamp lamp[8];
    bool lit;
};

layout(location = 2) out vec4 color;

vec3 shine(Lamp l, vec3 p, vec3 n) {
    vec3 d = l.place.xyz;
    float strength = 1.0;
    if (l.place.w > 0.0) {
        d -= p;
        float far = dot(d, d);
        d *= inversesqrt(far);
        strength = 1.0 / (1.0 + l.color.a * far);
    }
    return l.color.rgb * (strength * max(dot(n, d), 0.0));
}

void main() {
    vec4 p = vec4(position, 1.0) * modelview;
    gl_Position = p * projection;
    vec3 sum = ambient.rgb;
    if (lit) {
        vec3 n = normalize((vec4(normal, 0.0) * modelview).xyz);
        for (int i = 0; i < lamps; i++) sum += shine(lamp[i], p.xyz, n);
        color = vec4(min(sum, vec3(1.0)) * tint.rgb, tint.a);
    } else {
        color = tint;
    }
}
