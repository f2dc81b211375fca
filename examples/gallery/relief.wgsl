// A landscape from above: every workgroup puts the heights of its tile and the rim around it into shared memory, then shades by the slope.
@group(0) @binding(0) var<storage, read_write> pixels: array<u32>;
var<workgroup> heights: array<f32, 324>;

fn random(p: vec2i) -> f32 {
    var n = u32(p.x) * 1597334677u ^ u32(p.y) * 3812015801u;
    n = (n ^ (n >> 15u)) * 2246822519u;
    n ^= n >> 13u;
    return f32(n >> 8u) / 16777216.0;
}

fn noise(p: vec2f) -> f32 {
    let cell = floor(p);
    let i = vec2i(cell);
    let f = p - cell;
    let s = f * f * (3.0 - 2.0 * f);
    let low = mix(random(i), random(i + vec2i(1, 0)), s.x);
    let high = mix(random(i + vec2i(0, 1)), random(i + vec2i(1, 1)), s.x);
    return mix(low, high, s.y);
}

fn height(x: i32, y: i32, step: f32) -> f32 {
    var p = vec2f(f32(x), f32(y)) * step + 7.0;
    var sum = 0.0;
    var share = 0.5;
    for (var octave = 0; octave < 5; octave++) {
        sum += noise(p) * share;
        p *= 2.03;
        share *= 0.5;
    }
    return sum;
}

@compute @workgroup_size(16, 16)
fn main(
    @builtin(local_invocation_id) local: vec3u,
    @builtin(local_invocation_index) index: u32,
    @builtin(workgroup_id) tile: vec3u,
    @builtin(num_workgroups) tiles: vec3u,
) {
    // The same landscape for any number of tiles.
    let step = 3.6 / f32(tiles.x * 16u);
    for (var k = index; k < 324u; k += 256u) {
        heights[k] = height(i32(tile.x * 16u + k % 18u) - 1, i32(tile.y * 16u + k / 18u) - 1, step);
    }
    workgroupBarrier();
    let at = (local.y + 1u) * 18u + local.x + 1u;
    let h = heights[at];
    let n = normalize(vec3f(heights[at - 1u] - heights[at + 1u], heights[at - 18u] - heights[at + 18u], 3.2 * step));
    let light = max(dot(n, vec3f(-0.53, -0.53, 0.66)), 0.0);
    let shore = mix(vec3f(0.93, 0.86, 0.6), vec3f(0.25, 0.5, 0.2), smoothstep(0.45, 0.5, h));
    let land = mix(shore, mix(vec3f(0.45, 0.4, 0.35), vec3f(1.0), smoothstep(0.64, 0.7, h)), smoothstep(0.56, 0.63, h)) * (0.25 + light);
    let sea = mix(vec3f(0.03, 0.12, 0.3), vec3f(0.15, 0.5, 0.6), smoothstep(0.25, 0.43, h));
    let color = select(sea, land, h > 0.43);
    let x = tile.x * 16u + local.x;
    let y = tile.y * 16u + local.y;
    pixels[y * tiles.x * 16u + x] = pack4x8unorm(vec4f(color, 1.0));
}
