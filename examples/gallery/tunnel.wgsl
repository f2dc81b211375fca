// The tunnel of a hundred demos: angle and depth are a texture's coordinates.
struct Scene {
    time: f32,
}
@group(0) @binding(0) var<uniform> scene: Scene;
@group(0) @binding(1) var wall: texture_2d<f32>;
@group(0) @binding(2) var smooth_repeat: sampler;

@fragment
fn main(@location(0) place: vec2f) -> @location(0) vec4f {
    let p = place * 2.0 - 1.0;
    let radius = length(p) + 0.001;
    let around = atan2(p.y, p.x) * (3.0 / 3.14159265);
    let depth = 0.5 / radius + scene.time;
    let color = textureSampleLevel(wall, smooth_repeat, vec2f(around + 0.15 * depth, depth), 0.0).rgb;
    let fog = clamp(radius * 1.4, 0.0, 1.0);
    return vec4f(mix(vec3f(0.04, 0.02, 0.08), color, fog), 1.0);
}
