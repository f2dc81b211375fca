// Sines and a cosine of numbers that are computed apart are one computation on three lanes, although no single pair of their operations saves
// a word.
// test emit
// test run
// target pica
// check: flr r1.xyz
// not: flr
#version 450
layout(location = 0) in vec4 position;
layout(binding = 0) uniform U { float time; };
layout(location = 2) out vec4 color;
vec3 orbit(float t) {
    return vec3(sin(t * 0.05) * 3.0, sin(t * 0.1) * 2.0, cos(t * 0.05) * 3.0);
}
void main() {
    gl_Position = position;
    vec3 eye = orbit(time * 5.0);
    color = vec4(normalize(eye), eye.y);
}
// env: {"uniforms": {"time": 0}}
// tolerance: 0.001
// run: {"position": [1, 2, 3, 4]} => {"color": [0, 0, 1, 0], "position": [1, 2, 3, 4]}
