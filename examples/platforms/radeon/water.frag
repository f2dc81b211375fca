#version 450
// Two waves over a gradient.
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 color;
layout(std140, binding = 0) uniform Scene { vec4 deep, shallow; float time; };

void main() {
    float height = sin(place.x * 20.0 + time) + sin(place.y * 13.0 - 0.7 * time);
    color = mix(deep, shallow, height * 0.25 + 0.5);
}
