//! Pictures from shaders: a fragment program over a rectangle, or a vertex and a fragment program over a mesh.
//!
//! The picture is made of invocations only: whoever executes them (the interpreter or a machine's simulator) is a closure
//! from [`ShaderEnv`] to [`ShaderResult`]. So two machines' pictures of the same shader differ by their arithmetic alone.
//!
//! ```text
//!   mesh ─vertex program─▶ clip ─▶ project ─▶ quads with interpolated inputs ─fragment program─▶ depth test ─▶ image
//! ```

mod given;
mod image;
mod mesh;
mod model;
mod raster;
mod sheet;
mod standins;

pub use given::{Given, GivenError};
pub use image::{Image, ImageError, animation};
pub use mesh::{Camera, Mesh};
pub use model::ModelError;
pub use raster::mesh_image;
pub use sheet::sheet;
pub use standins::{Picture, test_pattern};

use crate::ir::{Binding, Builtin, InvocationInputs, IoDecl, Module, Output, Scalar, ShaderEnv, ShaderResult};

/// What a fragment input holds when there is no vertex program.
#[derive(Clone, Debug, PartialEq)]
pub enum Varying {
    /// (x / width, y / height, 0, 1) from the top left corner.
    Uv,
    /// (-1…1, -1…1, 0, 1), y upwards.
    Ndc,
    /// Pixel coordinates (x + ½, y + ½, 0, 1).
    Pixel,
    /// The same words everywhere.
    Constant(Vec<u32>),
}

/// The output that becomes the colour of a pixel: the first float at a location.
pub fn colour_output(module: &Module) -> Option<Output> {
    let colour = |d: &IoDecl| d.ty.scalar == Scalar::F32 && matches!(d.binding, Binding::Location(_)) && d.blend_source == 0;
    module.outputs.iter().find(|(_, d)| colour(d)).map(|(o, _)| o)
}

/// The colour that an invocation leaves, alpha 1 where the output has none.
fn colour(words: &[u32]) -> [f32; 4] {
    [0, 1, 2, 3].map(|n| words.get(n).map_or(if n == 3 { 1.0 } else { 0.0 }, |w| f32::from_bits(*w)))
}

/// Words of a declaration filled with a four-component value.
fn fill(d: &IoDecl, value: [f32; 4]) -> Vec<u32> {
    let word = |n: usize| match d.ty.scalar {
        Scalar::F32 => value[n].to_bits(),
        s @ Scalar::F16 => crate::ir::numerics::from_f32(s, value[n]),
        _ => value[n] as i32 as u32,
    };
    (0..d.count.max(1)).flat_map(|_| (0..d.ty.lanes as usize).map(word)).collect()
}

/// The inputs of the pixel at (x, y) of a rectangle.
fn pixel_inputs(module: &Module, varyings: &[Varying], (x, y): (u32, u32), (width, height): (u32, u32)) -> InvocationInputs {
    let centre = [x as f32 + 0.5, y as f32 + 0.5];
    let uv = [centre[0] / width as f32, centre[1] / height as f32];
    let inputs = module.inputs.values().enumerate().map(|(n, d)| match (d.binding, varyings.get(n)) {
        (Binding::Builtin(Builtin::Position), _) => fill(d, [centre[0], centre[1], 0.5, 1.0]),
        (Binding::Builtin(Builtin::FrontFacing), _) => fill(d, [1.0; 4]),
        (Binding::Builtin(Builtin::PointCoord), _) | (Binding::Location(_), None | Some(Varying::Uv)) => fill(d, [uv[0], uv[1], 0.0, 1.0]),
        (Binding::Location(_), Some(Varying::Ndc)) => fill(d, [uv[0] * 2.0 - 1.0, 1.0 - uv[1] * 2.0, 0.0, 1.0]),
        (Binding::Location(_), Some(Varying::Pixel)) => fill(d, [centre[0], centre[1], 0.0, 1.0]),
        (Binding::Location(_), Some(Varying::Constant(words))) => {
            let want = d.count.max(1) as usize * d.ty.lanes as usize;
            words.iter().copied().chain(std::iter::repeat(0)).take(want).collect()
        }
        _ => fill(d, [0.0; 4]),
    });
    InvocationInputs { inputs: inputs.collect() }
}

/// A fragment program over every pixel. `env` gives everything but the invocations; `varyings` stand in the order of the inputs.
pub fn fragment_image<E>(
    module: &Module,
    env: &ShaderEnv,
    varyings: &[Varying],
    (width, height): (u32, u32),
    run: &mut dyn FnMut(&ShaderEnv) -> Result<ShaderResult, E>,
) -> Result<Image, E> {
    let mut image = Image::new(width, height);
    let Some(output) = colour_output(module) else { return Ok(image) };
    // A few rows of quads at a time bound the memory.
    let rows = ((1 << 14) / width.max(1)).max(1) * 2;
    let mut env = env.clone();
    for top in (0..height).step_by(rows as usize) {
        let quads = (top..height.min(top + rows)).step_by(2).flat_map(|y| (0..width).step_by(2).map(move |x| (x, y)));
        let places: Vec<(u32, u32)> = quads.flat_map(|(x, y)| [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)]).collect();
        env.invocations = places.iter().map(|p| pixel_inputs(module, varyings, *p, (width, height))).collect();
        let result = run(&env)?;
        for (place, r) in places.iter().zip(&result.invocations) {
            if !r.discarded {
                image.set(*place, colour(r.outputs.get(output.as_u32() as usize).map_or(&[], |w| w)));
            }
        }
    }
    Ok(image)
}
