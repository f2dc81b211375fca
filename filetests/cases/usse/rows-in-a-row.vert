// A vector times three matrices, one after the other: each product has an internal register of its own, since every row reads
// the whole vector after the lanes before were written, and nothing is copied between them.
// test emit
// test run
// target usse
// check: VMOV.f32 i1.xyzw pa0.xyzw
// nextln: VDP i0.x sa0.xyzw i1.xyzw | VDP i0.-y sa4.xyzw i1.xyzw | VDP i0.--z sa8.xyzw i1.xyzw | VDP i0.---w sa12.xyzw i1.xyzw
// nextln: VDP i1.x sa16.xyzw i0.xyzw | VDP i1.-y sa20.xyzw i0.xyzw | VDP i1.--z sa24.xyzw i0.xyzw | VDP i1.---w sa28.xyzw i0.xyzw
// nextln: VDP i0.x sa32.xyzw i1.xyzw
#version 450
layout(location = 0) in vec4 place;
layout(location = 0) out vec4 seen;
layout(std140, binding = 0) uniform U {
    mat4 a;
    mat4 b;
    mat4 c;
};
void main() {
    vec4 t = place * a * b * c;
    gl_Position = t * t.wwww;
    seen = t + 1.0;
}
// env: {"uniforms": {"a": [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0], "b": [1, 2, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 3, 1], "c": [1, 0, 0, 5, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}}
// run: {"place": [1, 2, 3, 1]} => {"position": [112, 12, 4, 16], "seen": [29, 4, 2, 5]}
