// A vector times the rows of a matrix is one dot product that repeats; the vector is brought into an internal register once.
// test emit
// test run
// target usse
// check: VMOV.f32 i0.xyz pa0.xyz
// check: VDP o0.x sa0.xyzw i0.xyz1 | VDP o0.-y sa4.xyzw i0.xyz1 | VDP o0.--z sa8.xyzw i0.xyz1 | VDP o0.---w sa12.xyzw i0.xyz1
// check: VDP o4.x sa16.xyzw i0.xyz1 | VDP o4.-y sa20.xyzw i0.xyz1 | VDP o4.--z sa24.xyzw i0.xyz1
// nextln: EMIT
#version 450
layout(location = 0) in vec3 place;
layout(location = 0) out vec3 seen;
layout(std140, binding = 0) uniform U {
    mat4 clip;
    mat4 view;
};
void main() {
    gl_Position = vec4(place, 1.0) * clip;
    seen = (vec4(place, 1.0) * view).xyz;
}
// env: {"uniforms": {"clip": [1, 2, 3, 4, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 1, 1], "view": [1, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7, 0, 0, 0, 1]}}
// run: {"place": [1, 2, 3]} => {"position": [18, 2, 6, 4], "seen": [6, 8, 10]}
