// Two operations that do not depend on each other, one of them into an internal register, share a word.
// test emit
// test run
// target usse
// check: i0.2 + VMUL i0.xyz i0.xyz i1.xyz
#version 450
layout(location = 0) in vec3 normal;
layout(location = 1) in vec4 shade;
layout(location = 2) in float fog;
layout(location = 0) out vec4 colour;
layout(std140, binding = 0) uniform U {
    vec4 light;
    vec4 haze;
};
void main() {
    float d = dot(normal, light.rgb);
    vec3 lit = (shade.rgb * normal) * (light.rgb * d + haze.rgb);
    colour = vec4(lit * (2.0 - fog) + haze.rgb * fog, shade.a);
}
// env: {"uniforms": {"light": [1, 0.5, 0.25, 2], "haze": [4, 8, 16, 0]}}
// run: {"normal": [1, 2, 4], "shade": [0.5, 1, 1, 0.25], "fog": 0.25} => {"colour": [7.125, 35.25, 121.25, 0.25]}
