// WGSL names layers by integers: nothing is rounded, what lies outside is clamped.
// test interpret
// test run
// target tesla
// target r700
@group(0) @binding(0) var t: texture_2d_array<f32>;
@group(0) @binding(1) var s: sampler;
@fragment fn main(@location(0) uv: vec2f, @location(1) @interpolate(flat) n: i32, @location(2) z: f32) -> @location(0) vec4f {
    return vec4f(textureSample(t, s, uv, n).x, textureSample(t, s, uv, i32(z)).x, textureSample(t, s, uv, 1).x, textureSampleLevel(t, s, uv, n, 0).x);
}
// env: {"textures": {"t": {"size": [1, 1], "layers": 3, "filter": "nearest", "wrap": "clamp", "texels": [[0, 0, 0, 1], [1, 0, 0, 1], [2, 0, 0, 1]]}}}
// run: [{"uv": [0, 0], "n": 0, "z": 0.9}, {"uv": [0, 0], "n": 2, "z": 1.9}, {"uv": [0, 0], "n": -1, "z": -4}, {"uv": [0, 0], "n": 511, "z": 1e20}] => [{"location0": [0, 0, 1, 0]}, {"location0": [2, 1, 1, 2]}, {"location0": [0, 0, 1, 0]}, {"location0": [2, 2, 1, 2]}]
// run: [{"uv": [0, 0], "n": 512, "z": 0}, {"uv": [0, 0], "n": 2147483647, "z": 0}, {"uv": [0, 0], "n": -2147483648, "z": 0}, {"uv": [0, 0], "n": 1, "z": 0}] => [{"location0": [2, 0, 1, 2]}, {"location0": [2, 0, 1, 2]}, {"location0": [0, 0, 1, 0]}, {"location0": [1, 0, 1, 1]}]
