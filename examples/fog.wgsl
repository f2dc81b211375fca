// A texture that fades into fog with the distance.
struct Scene {
    fog: vec3f,
    start: f32,
    scale: f32,
}
@group(0) @binding(0) var<uniform> scene: Scene;
@group(0) @binding(1) var picture: texture_2d<f32>;
@group(0) @binding(2) var smooth_repeat: sampler;

@fragment
fn main(@location(0) uv: vec2f, @location(1) far: f32) -> @location(0) vec4f {
    let texel = textureSample(picture, smooth_repeat, uv);
    if (texel.a < 0.5) {
        discard;
    }
    let share = clamp((far - scene.start) * scene.scale, 0.0, 1.0);
    return vec4f(mix(texel.rgb, scene.fog, share), 1.0);
}
