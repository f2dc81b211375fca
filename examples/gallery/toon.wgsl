// Cel shading: how much light a vertex has picks a step of a ramp texture; the rim is inked.
struct Scene {
    mvp: mat4x4f,
    model: mat4x4f,
    light: vec4f,
}
@group(0) @binding(0) var<uniform> scene: Scene;
@group(0) @binding(1) var ramp: texture_2d<f32>;
@group(0) @binding(2) var nearest: sampler;

struct Corner {
    @builtin(position) place: vec4f,
    @location(0) tone: vec2f,
}

@vertex
fn vertex(@location(0) position: vec3f, @location(1) normal: vec3f) -> Corner {
    let n = normalize((scene.model * vec4f(normal, 0.0)).xyz);
    return Corner(scene.mvp * vec4f(position, 1.0), vec2f(dot(n, scene.light.xyz) * 0.5 + 0.5, n.z));
}

@fragment
fn fragment(@location(0) tone: vec2f) -> @location(0) vec4f {
    let color = textureSample(ramp, nearest, vec2f(tone.x, 0.5)).rgb;
    return vec4f(select(color, vec3f(0.08, 0.05, 0.1), tone.y < 0.22), 1.0);
}
