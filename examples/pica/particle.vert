#version 450
// Particles in view space; the geometry program makes squares of them.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 velocity;
layout(location = 2) in vec2 born;      // time, size
layout(std140, binding = 0) uniform Scene {
    mat4 modelview;
    vec4 gravity;                       // w: time
    vec4 young, old;
};
layout(location = 2) out vec4 color;
layout(location = 9) out vec2 size;
void main() {
    float age = gravity.w - born.x;
    vec3 p = position + velocity * age + gravity.xyz * (age * age * 0.5);
    gl_Position = vec4(p, 1.0) * modelview;
    float t = clamp(age, 0.0, 1.0);
    color = mix(young, old, t);
    size = vec2(born.y * (1.0 + t), fract(age) * 6.2831853);
}
