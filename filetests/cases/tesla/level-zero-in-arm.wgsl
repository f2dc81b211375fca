// Level 0 beside a layer and a reference is read by whole quads: before the branch, of whose arms pixels of a quad may take either.
// test emit
// target tesla
// target tesla opt=0
// check: texauto
// check: texauto
// check: texauto
// check: texauto
// check: bra
// not: tex
@group(0) @binding(0) var t: texture_depth_2d_array;
@group(0) @binding(1) var s: sampler_comparison;
@group(0) @binding(2) var<storage> many: array<f32>;
@fragment fn main(@location(0) c: vec4f, @location(1) @interpolate(flat) l: i32) -> @location(0) vec4f {
    var r = 0.5;
    if (c.w > 0.0) {
        r = textureSampleCompareLevel(t, s, c.xy / c.w, l, c.z);
        for (var i = 0; i < l; i++) { r += many[i]; }
    }
    return vec4f(r);
}
