// A sea at sunset: five waves give a normal, the sky is mirrored by Fresnel's law, the sun glitters.
struct Scene {
    time: f32,
}
@group(0) @binding(0) var<uniform> scene: Scene;

fn slope(p: vec2f) -> vec2f {
    var sum = vec2f(0.0);
    var along = vec2f(0.8, 0.6);
    var frequency = 0.9;
    var height = 0.55;
    for (var i = 0; i < 5; i++) {
        sum += along * (cos(dot(p, along) * frequency + scene.time * (1.0 + frequency)) * height);
        along = vec2f(along.x * 0.36 - along.y * 0.93, along.x * 0.93 + along.y * 0.36);
        frequency *= 1.7;
        height *= 0.75;
    }
    return sum;
}

fn sky(d: vec3f) -> vec3f {
    let up = sqrt(max(d.y, 0.0));
    let sun = max(dot(d, vec3f(0.28, 0.2, -0.939)), 0.0);
    let glow = pow(sun, 16.0);
    return mix(vec3f(0.98, 0.62, 0.36), vec3f(0.16, 0.34, 0.66), up) + vec3f(0.5, 0.3, 0.1) * glow + vec3f(1.0, 0.9, 0.7) * pow(glow, 24.0);
}

@fragment
fn main(@location(0) place: vec2f) -> @location(0) vec4f {
    let d = normalize(vec3f(place.x * 2.0 - 1.0, 0.62 - place.y * 1.6, -1.5));
    if (d.y > -0.02) {
        return vec4f(sky(d), 1.0);
    }
    let far = -1.2 / d.y;
    let g = slope(d.xz * far * 2.0) * (0.2 / (1.0 + 0.12 * far));
    let n = normalize(vec3f(-g.x, 1.0, -g.y));
    let mirrored = reflect(d, n);
    let grazing = 1.0 - max(-dot(d, n), 0.0);
    let square = grazing * grazing;
    let fresnel = 0.03 + 0.97 * square * square * grazing;
    let deep = vec3f(0.02, 0.12, 0.2) + vec3f(0.0, 0.1, 0.1) * n.y * n.y;
    return vec4f(mix(deep, sky(vec3f(mirrored.x, abs(mirrored.y), mirrored.z)), fresnel), 1.0);
}
