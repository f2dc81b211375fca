// A crate of lattice: the texture's transparent texels are dropped, so that the back shows through, as Vita games draw fences and leaves.
struct Scene {
    mvp: mat4x4f,
    model: mat4x4f,
}
@group(0) @binding(0) var<uniform> scene: Scene;
@group(0) @binding(1) var lattice: texture_2d<f32>;
@group(0) @binding(2) var smooth_repeat: sampler;

struct Corner {
    @builtin(position) place: vec4f,
    @location(0) normal: vec3f,
    @location(1) uv: vec2f,
}

@vertex
fn vertex(@location(0) position: vec3f, @location(1) normal: vec3f, @location(2) uv: vec2f) -> Corner {
    return Corner(scene.mvp * vec4f(position, 1.0), (scene.model * vec4f(normal, 0.0)).xyz, uv);
}

@fragment
fn fragment(@location(0) normal: vec3f, @location(1) uv: vec2f) -> @location(0) vec4f {
    let texel = textureSample(lattice, smooth_repeat, uv * 2.0);
    if (texel.a < 0.5) {
        discard;
    }
    // Boards have light on either side.
    let diffuse = abs(dot(normalize(normal), normalize(vec3f(0.4, 0.7, 0.6))));
    return vec4f(texel.rgb * (0.25 + 0.75 * diffuse), 1.0);
}
