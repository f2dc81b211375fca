// Interfering waves from three points: sines, square roots, a uniform array.
struct Scene {
    sources: array<vec4f, 3>,
    time: f32,
}
@group(0) @binding(0) var<uniform> scene: Scene;

@fragment
fn main(@location(0) place: vec2f) -> @location(0) vec4f {
    var sum = 0.0;
    for (var i = 0; i < 3; i++) {
        let d = distance(place, scene.sources[i].xy);
        sum += sin(d * scene.sources[i].z - scene.time) * scene.sources[i].w;
    }
    let v = 0.5 + 0.25 * sum;
    return vec4f(v, v * v, 1.0 - v, 1.0);
}
