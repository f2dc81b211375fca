#version 450
// Particles that fall and fade, all from the time.
layout(location = 0) in vec3 origin;
layout(location = 1) in vec3 velocity;
layout(location = 2) in vec2 life; // birth, 1 / length
uniform mat4 projection;
uniform mat4 modelView;
uniform vec3 gravity;
uniform float time;
uniform vec4 young;
uniform vec4 old;
layout(location = 2) out vec4 v_color;
void main() {
    float age = time - life.x;
    vec3 p = origin + velocity * age + 0.5 * gravity * age * age;
    gl_Position = projection * (modelView * vec4(p, 1.0));
    v_color = mix(young, old, clamp(age * life.y, 0.0, 1.0));
}
