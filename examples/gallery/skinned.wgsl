// A bottle of two bones under one light: each vertex follows both bones by its weight, as 3DS games pose their figures.
struct Scene {
    mvp: mat4x4f,
    model: mat4x4f,
    // Three rows of a matrix for each bone.
    bones: array<vec4f, 6>,
    light: vec4f,
    tint: vec4f,
}
@group(0) @binding(0) var<uniform> scene: Scene;

struct Corner {
    @builtin(position) place: vec4f,
    @location(0) color: vec4f,
}

fn posed(first: u32, v: vec4f) -> vec3f {
    return vec3f(dot(scene.bones[first], v), dot(scene.bones[first + 1u], v), dot(scene.bones[first + 2u], v));
}

@vertex
fn vertex(@location(0) position: vec3f, @location(1) normal: vec3f) -> Corner {
    let upper = smoothstep(-0.5, 0.7, position.y);
    let p = mix(posed(0u, vec4f(position, 1.0)), posed(3u, vec4f(position, 1.0)), upper);
    let bent = mix(posed(0u, vec4f(normal, 0.0)), posed(3u, vec4f(normal, 0.0)), upper);
    let n = normalize((scene.model * vec4f(bent, 0.0)).xyz);
    let diffuse = max(dot(n, scene.light.xyz), 0.0);
    let rim = 1.0 - abs(n.z);
    return Corner(scene.mvp * vec4f(p, 1.0), vec4f(scene.tint.rgb * (0.2 + 0.8 * diffuse) + vec3f(0.3 * rim * rim), 1.0));
}

@fragment
fn fragment(@location(0) color: vec4f) -> @location(0) vec4f {
    return color;
}
