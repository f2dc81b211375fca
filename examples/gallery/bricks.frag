#version 450
// Bricks with edges smoothed by derivatives; a hole is cut with discard.
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 color;

void main() {
    if (length(place - 0.5) < 0.15) discard;
    vec2 p = place * vec2(6.0, 12.0);
    if (fract(p.y * 0.5) > 0.5) p.x += 0.5;
    vec2 f = fract(p);
    vec2 w = vec2(abs(dFdx(place.x)) * 6.0, abs(dFdy(place.y)) * 12.0) * 1.5;
    vec2 inside = smoothstep(vec2(0.06, 0.12) - w, vec2(0.06, 0.12) + w, f) * (1.0 - smoothstep(vec2(0.94, 0.88) - w, vec2(0.94, 0.88) + w, f));
    float shade = 0.8 + 0.2 * fract(sin(dot(floor(p), vec2(12.9898, 78.233))) * 43.5453);
    color = vec4(mix(vec3(0.75), vec3(0.62, 0.25, 0.16) * shade, inside.x * inside.y), 1.0);
}
