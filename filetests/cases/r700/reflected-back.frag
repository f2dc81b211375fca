// Light that comes in is reflected as a unit vector that goes out: what is at least 0 of a product with it is what CLAMP leaves.
// test emit
// target r700
// not: MAX_DX10
#version 450
layout(location = 0) in vec3 normal;
layout(location = 1) in vec3 light;
layout(location = 2) in vec3 eye;
layout(location = 0) out vec2 colour;

void main() {
    vec3 n = normalize(normal), l = normalize(light);
    colour = vec2(max(dot(n, l), 0.0), max(dot(reflect(-l, n), normalize(eye)), 0.0));
}
