#version 450
// The Mandelbrot set: a loop that every pixel leaves at its own time.
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 color;

layout(std140, binding = 0) uniform View {
    vec2 centre;
    float radius;
};

void main() {
    vec2 c = centre + (place * 2.0 - 1.0) * radius;
    vec2 z = vec2(0.0);
    int n = 0;
    for (; n < 48; n++) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        if (dot(z, z) > 4.0) break;
    }
    float t = float(n) / 48.0;
    color = n == 48 ? vec4(0.0, 0.0, 0.1, 1.0) : vec4(t * 2.0, t * t * 3.0, 0.3 + t, 1.0);
}
