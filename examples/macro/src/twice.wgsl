@group(0) @binding(0) var<uniform> scale: vec4<f32>;

@vertex
fn main(@location(0) place: vec4<f32>) -> @builtin(position) vec4<f32> {
    return place * scale;
}
