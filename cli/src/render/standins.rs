//! What a program reads where nobody said: uniforms by their names and types, textures with a test pattern.

use super::Camera;
use crate::ir::env::{Filter, Wrap};
use crate::ir::{Scalar, TexDim, TextureData, TextureDecl, UniformDecl};
use serde_json::{Value, json};

/// What stand-ins depend on.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// Seconds since the first picture.
    pub time: f32,
    /// Number of the picture.
    pub frame: u32,
    /// The camera of a mesh; without one matrices are identities.
    pub camera: Option<Camera>,
}

impl Picture {
    /// The value of a uniform's leaf of `count` elements (columns, for a matrix): time, sizes and matrices by name, everything else 1.
    pub fn uniform(&self, decl: &UniformDecl, name: &str, count: u32) -> Value {
        let last = plain(name);
        let lanes = usize::from(decl.ty.lanes);
        if decl.matrix {
            let columns = decl.dims.last().map_or(1, |d| d.count).max(1) as usize;
            let one = self.matrix(&last, columns, lanes);
            return Value::Array(vec![json!(one); (count as usize / columns).max(1)]);
        }
        let named = |parts: &[&str]| parts.iter().any(|p| last.contains(p));
        let (w, h) = (self.size.0 as f32, self.size.1 as f32);
        let element: [f32; 4] = match decl.ty.scalar {
            _ if named(&["resolution", "viewport", "screensize"]) => [w, h, 1.0, 1.0],
            _ if named(&["texelsize", "pixelsize"]) => [1.0 / w, 1.0 / h, w, h],
            _ if named(&["mouse", "cursor"]) => [0.0; 4],
            Scalar::F32 | Scalar::F16 if named(&["time"]) => [self.time; 4],
            Scalar::I32 if named(&["frame"]) => [self.frame as f32; 4],
            _ => [1.0; 4],
        };
        let whole = !matches!(decl.ty.scalar, Scalar::F32 | Scalar::F16);
        let number = |x: f32| if whole { json!(x as i64) } else { json!(x) };
        let values: Vec<Value> = (0..count.max(1)).flat_map(|_| element.iter().take(lanes).map(|x| number(*x))).collect();
        match values.as_slice() {
            [one] => one.clone(),
            _ => Value::Array(values),
        }
    }

    /// What a note says of a value that [`uniform`](Picture::uniform) gave.
    pub fn said(&self, decl: &UniformDecl, name: &str, value: &Value) -> String {
        let text = value.to_string();
        match (decl.matrix, self.camera.map_or("identity", |_| wanted(&plain(name)))) {
            (true, "identity") => "the identity".to_string(),
            (true, matrix) => format!("the camera's {matrix}"),
            (false, _) if text.len() <= 40 => text,
            (false, _) => format!("{} and so on", value.get(0).unwrap_or(value)),
        }
    }

    /// A matrix of so many columns and rows: one of the camera's by its name, else the identity.
    fn matrix(&self, name: &str, columns: usize, rows: usize) -> Vec<Vec<f32>> {
        let full = self.camera.and_then(|c| c.matrix(wanted(name)));
        let identity = |c: usize, r: usize| if c == r { 1.0 } else { 0.0 };
        let at = |c: usize, r: usize| full.as_ref().and_then(|m| m.get(c)?.get(r).copied()).unwrap_or_else(|| identity(c, r));
        (0..columns).map(|c| (0..rows).map(|r| at(c, r)).collect()).collect()
    }
}

/// A name without what is in front of its last point, case and underscores.
fn plain(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_lowercase().replace('_', "")
}

/// The camera's matrix that a plain name asks for.
fn wanted(name: &str) -> &'static str {
    let has = |part: &str| name.contains(part);
    match () {
        () if has("mvp") || has("modelviewproj") || has("wvp") => "mvp",
        () if has("modelview") => "model_view",
        () if has("proj") => "projection",
        () if has("view") => "view",
        () if has("model") || has("world") => "model",
        () => "identity",
    }
}

/// A picture for a texture of any kind: a chequered pattern over a gradient, so that directions, mirrors and repeats can be seen.
/// Depth textures hold one half.
pub fn test_pattern(decl: &TextureDecl) -> TextureData {
    let size = match decl.dim {
        TexDim::D1 => [64, 1, 1],
        TexDim::D2 => [64, 64, 1],
        TexDim::D3 => [16, 16, 16],
        TexDim::Cube => [32, 32, 1],
    };
    let mut tex = TextureData {
        dim: decl.dim,
        size,
        layers: if decl.arrayed { 4 } else { 1 },
        levels: 1,
        depth: decl.shadow,
        filter: if decl.kind == Scalar::F32 { Filter::Linear } else { Filter::Nearest },
        wrap: Wrap::Repeat,
        texels: Vec::new(),
    };
    let images = if decl.dim == TexDim::Cube { 6 } else { size[2] };
    let all = images * tex.layers;
    let places = (0..all).flat_map(|z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| (x, y, z))));
    tex.texels = places
        .map(|(x, y, z)| {
            let dark = (x * 8 / size[0] + y * 8 / size[1].max(8) + z) % 2 == 0;
            let shade = if dark { 0.45 } else { 1.0 };
            let share = |n: u32, of: u32| 0.15 + 0.85 * (n as f32 + 0.5) / of as f32;
            let colour = [share(x, size[0]), share(y, size[1]), 1.0 - 0.8 * share(z, all), 1.0];
            match (decl.shadow, decl.kind) {
                (true, _) => [0.5f32.to_bits(), 0, 0, 1f32.to_bits()],
                (false, Scalar::I32) => [x, y, z, u32::from(dark)],
                _ => [colour[0] * shade, colour[1] * shade, colour[2] * shade, 1.0].map(f32::to_bits),
            }
        })
        .collect();
    tex
}
