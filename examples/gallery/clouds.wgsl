// Clouds: four octaves of noise over an integer hash.
struct Scene {
    time: f32,
}
@group(0) @binding(0) var<uniform> scene: Scene;

fn random(x: i32, y: i32) -> f32 {
    var n = x * 1619 + y * 31337;
    n = (n ^ (n >> 13u)) * 60493;
    n = n ^ (n >> 11u);
    return f32(n & 0xffff) / 65535.0;
}

fn noise(p: vec2f) -> f32 {
    let cell = floor(p);
    let x = i32(cell.x);
    let y = i32(cell.y);
    let f = p - cell;
    let s = f * f * (3.0 - 2.0 * f);
    return mix(mix(random(x, y), random(x + 1, y), s.x), mix(random(x, y + 1), random(x + 1, y + 1), s.x), s.y);
}

@fragment
fn main(@location(0) place: vec2f) -> @location(0) vec4f {
    var p = vec2f(place.x * 4.0 + scene.time * 0.2, place.y * 5.0 + 3.0);
    var sum = 0.0;
    var share = 0.5;
    for (var octave = 0; octave < 4; octave++) {
        sum += noise(p) * share;
        p = p * 2.0 + 5.0;
        share *= 0.5;
    }
    let cover = smoothstep(0.42, 0.72, sum);
    let sky = mix(vec3f(0.16, 0.36, 0.72), vec3f(0.62, 0.78, 0.92), place.y);
    return vec4f(mix(sky, vec3f(1.0, 0.98, 0.95) * (1.15 - 0.4 * sum), cover), 1.0);
}
