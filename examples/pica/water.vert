#version 450
// A sheet of water: waves that add up, and the normal that belongs to them.
layout(location = 0) in vec2 position;
layout(std140, binding = 0) uniform Scene {
    mat4 projection;
    vec4 wave[4];                       // direction, frequency, height
    vec4 time;
    vec4 deep, shallow;
};
layout(location = 2) out vec4 color;
layout(location = 3) out vec2 texcoord0;
void main() {
    float y = 0.0;
    vec2 slope = vec2(0.0);
    for (int i = 0; i < 4; i++) {
        float phase = dot(wave[i].xy, position) * wave[i].z + time.x;
        y += sin(phase) * wave[i].w;
        slope += wave[i].xy * (cos(phase) * wave[i].w * wave[i].z);
    }
    vec3 n = normalize(vec3(-slope.x, 1.0, -slope.y));
    color = mix(deep, shallow, n.y);
    texcoord0 = position * 0.1 + slope;
    gl_Position = vec4(position.x, y, position.y, 1.0) * projection;
}
