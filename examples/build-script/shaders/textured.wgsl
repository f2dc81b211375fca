struct Matrices {
    projection: mat4x4<f32>,
    modelview: mat4x4<f32>,
}

struct Vertex {
    @builtin(position) position: vec4<f32>,
    // On PICA200 a location names the kind of output: 3 is texcoord0.
    @location(3) texcoord: vec2<f32>,
}

@group(0) @binding(0) var<uniform> matrices: Matrices;

@vertex
fn main(@location(0) position: vec4<f32>, @location(1) coordinate: vec2<f32>) -> Vertex {
    return Vertex(matrices.projection * (matrices.modelview * position), coordinate);
}
