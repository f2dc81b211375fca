// A mirror in a room: the reflected ray looks up a cube map.
struct Scene {
    mvp: mat4x4f,
    model: mat4x4f,
}
@group(0) @binding(0) var<uniform> scene: Scene;
@group(0) @binding(1) var room: texture_cube<f32>;
@group(0) @binding(2) var smooth_clamp: sampler;

struct Corner {
    @builtin(position) place: vec4f,
    @location(0) normal: vec3f,
    @location(1) ray: vec3f,
}

@vertex
fn vertex(@location(0) position: vec3f, @location(1) normal: vec3f) -> Corner {
    let p = scene.model * vec4f(position, 1.0);
    return Corner(scene.mvp * vec4f(position, 1.0), (scene.model * vec4f(normal, 0.0)).xyz, p.xyz - vec3f(0.0, 0.0, 4.0));
}

@fragment
fn fragment(@location(0) normal: vec3f, @location(1) ray: vec3f) -> @location(0) vec4f {
    let n = normalize(normal);
    let d = normalize(ray);
    let facing = 1.0 - max(-dot(n, d), 0.0);
    let color = textureSampleLevel(room, smooth_clamp, reflect(d, n), 0.0).rgb;
    return vec4f(color * (0.55 + 0.45 * facing * facing), 1.0);
}
