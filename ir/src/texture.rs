//! Texture sampling and quad differences: pure functions shared by the interpreter and every simulator.
//!
//! All four machines are given the same texture unit, so that a result differs only if coordinates do. The rules are
//! those of Vulkan's image operations where it fixes them, and the simplest choice where it leaves one:
//!
//! * a quad has one implicit level of detail, from the differences lane 1 - lane 0 and lane 2 - lane 0;
//! * a comparison passes where `reference <= texel` (first component); with a linear filter each texel is compared, then weighted;
//! * cube faces are ordered +x -x +y -y +z -z and are not filtered across edges;
//! * `fetch` outside the texture gives zeros; layers and levels are clamped;
//! * a coordinate that is NaN or infinite counts as 0; integer texels are never filtered.

use crate::env::{Filter, TextureData, Wrap};
use crate::inst::{TexInfo, TexLod, TexOp};
use crate::module::{TexDim, TextureDecl};
use crate::numerics::Numerics;
use crate::opcode::Opcode;
use crate::types::Scalar;

/// What a texture operation does, apart from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TexQuery {
    /// The operation.
    pub op: TexOp,
    /// How the level is found.
    pub lod: TexLod,
    /// Whether it compares with a depth reference.
    pub compare: bool,
    /// Whether texels are integers (and so never filtered).
    pub integer: bool,
    /// Constant texel offset.
    pub offset: [i8; 3],
    /// The component of a gather.
    pub component: u8,
}

impl TexQuery {
    /// The query of an IR instruction.
    pub fn of(info: &TexInfo, decl: &TextureDecl) -> TexQuery {
        TexQuery {
            op: info.op,
            lod: info.lod,
            compare: info.compare,
            integer: decl.kind == Scalar::I32,
            offset: info.offset,
            component: info.component,
        }
    }
    /// A plain float sample.
    pub const fn sample(lod: TexLod) -> TexQuery {
        TexQuery { op: TexOp::Sample, lod, compare: false, integer: false, offset: [0; 3], component: 0 }
    }
}

/// One lane's operands as raw words; those that do not apply are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TexArgs {
    /// Coordinates: f32 bits; integers for `fetch`.
    pub coord: [u32; 3],
    /// Array layer, signed.
    pub layer: u32,
    /// Depth reference, f32 bits.
    pub reference: u32,
    /// Bias or level: f32 bits; an integer for `fetch` and `size`.
    pub lod: u32,
    /// Gradients in x and y, f32 bits.
    pub grad: [[u32; 3]; 2],
}

/// Executes a texture operation for the four lanes of a quad. All lanes must hold coordinates if the level is implicit;
/// the results of lanes that do not run may be ignored.
pub fn sample_quad(tex: &TextureData, query: &TexQuery, lanes: &[TexArgs; 4]) -> [[u32; 4]; 4] {
    let implicit = match query.lod {
        TexLod::Implicit | TexLod::Bias => quad_lod(tex, &[lanes[0].coord, lanes[1].coord, lanes[2].coord, lanes[3].coord]),
        _ => 0.0,
    };
    [0, 1, 2, 3].map(|n| sample_lane(tex, query, &lanes[n], implicit))
}

/// Executes a texture operation for one lane; `implicit` is the quad's level of detail ([`quad_lod`]), 0 outside fragment programs.
pub fn sample_lane(tex: &TextureData, query: &TexQuery, a: &TexArgs, implicit: f32) -> [u32; 4] {
    match query.op {
        TexOp::Size => size(tex, a.lod as i32),
        TexOp::Levels => [tex.levels, 0, 0, 0],
        TexOp::Lod => [within(tex, implicit).to_bits(), implicit.to_bits(), 0, 0],
        TexOp::Fetch => fetch(tex, query, a),
        TexOp::Gather => gather(tex, query, a),
        TexOp::Sample => {
            let operand = f32::from_bits(a.lod);
            let lod = match query.lod {
                TexLod::Implicit => implicit,
                TexLod::Bias => implicit + operand,
                TexLod::Level => operand,
                TexLod::Grad => gradient_lod(tex, a.coord, a.grad[0], a.grad[1]),
                TexLod::Zero => 0.0,
            };
            sample(tex, query, a, lod)
        }
    }
}

/// The level of detail of a quad from its lanes' coordinates.
pub fn quad_lod(tex: &TextureData, coords: &[[u32; 3]; 4]) -> f32 {
    let diff = |n: usize| [0, 1, 2].map(|k| (f32::from_bits(coords[n][k]) - f32::from_bits(coords[0][k])).to_bits());
    gradient_lod(tex, coords[0], diff(1), diff(2))
}

/// The level of detail for explicit gradients: log2 of the longer gradient in texels.
pub fn gradient_lod(tex: &TextureData, coord: [u32; 3], dx: [u32; 3], dy: [u32; 3]) -> f32 {
    let (dims, scale) = match tex.dim {
        TexDim::D1 => (1, [tex.size[0] as f32, 0.0, 0.0]),
        TexDim::D2 => (2, [tex.size[0] as f32, tex.size[1] as f32, 0.0]),
        TexDim::D3 => (3, tex.size.map(|s| s as f32)),
        TexDim::Cube => {
            // The face spans 2 units at distance 1: texels per unit of direction are size / (2 × major axis).
            let major = coord.iter().map(|c| libm::fabsf(f32::from_bits(*c))).fold(0.0f32, |a, b| if b > a { b } else { a });
            (3, [tex.size[0] as f32 * 0.5 / if major > 0.0 { major } else { 1.0 }; 3])
        }
    };
    let length2 = |g: [u32; 3]| {
        let mut sum = 0.0f32;
        for k in 0..dims {
            let t = f32::from_bits(g[k]) * scale[k];
            sum += t * t;
        }
        sum
    };
    let (x, y) = (length2(dx), length2(dy));
    let rho2 = if y > x || x.is_nan() { y } else { x };
    // log2(sqrt(r)) without the root; a zero gradient is the largest level's magnification.
    if rho2 > 0.0 { 0.5 * libm::log2f(rho2) } else { -126.0 }
}

/// Which face a direction meets, and where: (face, s, t), s and t in 0…1. Ties go to z, then y.
pub fn cube_face(direction: [u32; 3]) -> (u32, f32, f32) {
    let [x, y, z] = direction.map(f32::from_bits);
    let [ax, ay, az] = [x, y, z].map(libm::fabsf);
    let (face, sc, tc, ma) = if az >= ax && az >= ay {
        if z < 0.0 { (5, -x, -y, az) } else { (4, x, -y, az) }
    } else if ay >= ax {
        if y < 0.0 { (3, x, -z, ay) } else { (2, x, z, ay) }
    } else if x < 0.0 {
        (1, z, -y, ax)
    } else {
        (0, -z, -y, ax)
    };
    let at = |c: f32| 0.5 * (c / ma) + 0.5;
    (face, at(sc), at(tc))
}

/// Width, height and depth of a level.
pub fn level_size(tex: &TextureData, level: u32) -> [u32; 3] {
    tex.size.map(|s| (s.checked_shr(level).unwrap_or(0)).max(1))
}

/// How many two-dimensional images one layer of a level has: its depth, or six faces.
fn images(tex: &TextureData, size: [u32; 3]) -> u64 {
    match tex.dim {
        TexDim::D3 => size[2] as u64,
        TexDim::Cube => 6,
        _ => 1,
    }
}

/// Number of texels that a texture of these dimensions has.
pub fn texel_count(tex: &TextureData) -> u64 {
    (0..tex.levels.clamp(1, 32))
        .map(|l| {
            let s = level_size(tex, l);
            s[0] as u64 * s[1] as u64 * images(tex, s) * tex.layers.max(1) as u64
        })
        .sum()
}

/// A texel by level, column, row and image (z, or layer × 6 + face, or layer); zeros where there is none.
pub fn texel(tex: &TextureData, level: u32, x: u32, y: u32, image: u32) -> [u32; 4] {
    let mut at = 0u64;
    for l in 0..level {
        let s = level_size(tex, l);
        at += s[0] as u64 * s[1] as u64 * images(tex, s) * tex.layers.max(1) as u64;
    }
    let s = level_size(tex, level);
    at += (image as u64 * s[1] as u64 + y as u64) * s[0] as u64 + x as u64;
    usize::try_from(at).ok().and_then(|at| tex.texels.get(at)).copied().unwrap_or([0; 4])
}

/// An integer texel coordinate brought into the texture.
fn wrap(mode: Wrap, i: i64, size: u32) -> u32 {
    let n = size.max(1) as i64;
    (match mode {
        Wrap::Repeat => i.rem_euclid(n),
        Wrap::Clamp => i.clamp(0, n - 1),
        Wrap::Mirror => {
            let m = i.rem_euclid(2 * n);
            if m < n { m } else { 2 * n - 1 - m }
        }
    }) as u32
}

/// An integral float as an index, within bounds that leave room for offsets.
fn whole(x: f32) -> i64 {
    (x as i64).clamp(-(1 << 40), 1 << 40)
}

/// A finite version of a coordinate.
fn finite(bits: u32) -> f32 {
    let x = f32::from_bits(bits);
    if x.is_finite() { x } else { 0.0 }
}

fn layer_of(tex: &TextureData, layer: u32) -> u32 {
    (layer as i32).clamp(0, tex.layers.max(1) as i32 - 1) as u32
}

/// Where a direction lands in a cube texture or an array of them: the image, counted over the faces of all layers, and the
/// place in it.
pub fn cube_place(tex: &TextureData, direction: [u32; 3], layer: u32) -> (u32, f32, f32) {
    let (face, s, t) = cube_face(direction.map(|c| finite(c).to_bits()));
    (layer_of(tex, layer) * 6 + face, s, t)
}

/// A cube texture or an array of them as the array of its images.
pub fn cube_images(tex: &TextureData) -> TextureData {
    TextureData { dim: TexDim::D2, layers: tex.layers.max(1) * 6, wrap: Wrap::Clamp, ..tex.clone() }
}

/// Where a sample lands in a level: per direction the unwrapped texel positions as floats, and which images follow from layer and face.
struct Place {
    at: [f32; 3],
    dims: usize,
    base: u32,
    wrap: Wrap,
    size: [u32; 3],
    offset: [i64; 3],
}

fn place(tex: &TextureData, query: &TexQuery, a: &TexArgs, level: u32) -> Place {
    let size = level_size(tex, level);
    let layer = layer_of(tex, a.layer);
    let offset = query.offset.map(i64::from);
    let mut at = [0.0; 3];
    if tex.dim == TexDim::Cube {
        let (base, s, t) = cube_place(tex, a.coord, a.layer);
        at[0] = finite(s.to_bits()) * size[0] as f32;
        at[1] = finite(t.to_bits()) * size[1] as f32;
        return Place { at, dims: 2, base, wrap: Wrap::Clamp, size, offset: [0; 3] };
    }
    let dims = match tex.dim {
        TexDim::D1 => 1,
        TexDim::D2 => 2,
        _ => 3,
    };
    for k in 0..dims {
        at[k] = finite(a.coord[k]) * size[k] as f32;
    }
    let base = if tex.dim == TexDim::D3 { 0 } else { layer };
    Place { at, dims, base, wrap: tex.wrap, size, offset }
}

impl Place {
    /// The texel at per-direction indices.
    fn texel(&self, tex: &TextureData, level: u32, i: [i64; 3]) -> [u32; 4] {
        let w = |k: usize| if k < self.dims { wrap(self.wrap, i[k].saturating_add(self.offset[k]), self.size[k]) } else { 0 };
        texel(tex, level, w(0), w(1), self.base + w(2))
    }
    /// The lower texel of the linear footprint and the weight of the upper one, per direction.
    fn footprint(&self) -> ([i64; 3], [f32; 3]) {
        let (mut low, mut weight) = ([0; 3], [0.0; 3]);
        for k in 0..self.dims {
            let p = self.at[k] - 0.5;
            let f = libm::floorf(p);
            low[k] = whole(f);
            weight[k] = p - f;
        }
        (low, weight)
    }
}

/// Whether the comparison passes, as 1.0 or 0.0.
fn compare(reference: u32, texel: u32) -> f32 {
    if f32::from_bits(reference) <= f32::from_bits(texel) { 1.0 } else { 0.0 }
}

fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// One level, filtered as the sampler says.
fn sample_level(tex: &TextureData, query: &TexQuery, a: &TexArgs, level: u32) -> [u32; 4] {
    let p = place(tex, query, a, level);
    let value = |t: [u32; 4]| if query.compare { [compare(a.reference, t[0]).to_bits(), 0, 0, 0] } else { t };
    if tex.filter == Filter::Nearest || query.integer {
        return value(p.texel(tex, level, p.at.map(|x| whole(libm::floorf(x)))));
    }
    let (low, weight) = p.footprint();
    let corner = |n: usize| {
        let i = [0, 1, 2].map(|k| low[k] + i64::from(k < p.dims && n >> k & 1 == 1));
        value(p.texel(tex, level, i)).map(f32::from_bits)
    };
    let mut c: Vec<[f32; 4]> = (0..1 << p.dims).map(corner).collect();
    for w in weight.iter().take(p.dims) {
        c = c.chunks_exact(2).map(|q| [0, 1, 2, 3].map(|k| lerp(q[0][k], q[1][k], *w))).collect();
    }
    c.first().copied().unwrap_or([0.0; 4]).map(f32::to_bits)
}

/// A level of detail as it is accessed: one that the texture has; NaN gives level 0.
fn within(tex: &TextureData, lod: f32) -> f32 {
    let last = (tex.levels.max(1) - 1) as f32;
    if lod > 0.0 { if lod < last { lod } else { last } } else { 0.0 }
}

fn sample(tex: &TextureData, query: &TexQuery, a: &TexArgs, lod: f32) -> [u32; 4] {
    let lod = within(tex, lod);
    if tex.filter == Filter::Nearest || query.integer {
        return sample_level(tex, query, a, libm::floorf(lod + 0.5) as u32);
    }
    let low = libm::floorf(lod);
    let weight = lod - low;
    let first = sample_level(tex, query, a, low as u32);
    if weight == 0.0 {
        return first;
    }
    let second = sample_level(tex, query, a, low as u32 + 1);
    [0, 1, 2, 3].map(|k| lerp(f32::from_bits(first[k]), f32::from_bits(second[k]), weight).to_bits())
}

/// The four texels of the linear footprint of level 0, in WGSL's order.
fn gather(tex: &TextureData, query: &TexQuery, a: &TexArgs) -> [u32; 4] {
    let p = place(tex, query, a, 0);
    let (low, _) = p.footprint();
    [[0, 1], [1, 1], [1, 0], [0, 0]].map(|[x, y]| {
        let t = p.texel(tex, 0, [low[0] + x, low[1] + y, low[2]]);
        if query.compare { compare(a.reference, t[0]).to_bits() } else { t[query.component as usize & 3] }
    })
}

fn fetch(tex: &TextureData, query: &TexQuery, a: &TexArgs) -> [u32; 4] {
    let level = if query.lod == TexLod::Level { a.lod } else { 0 };
    if level >= tex.levels.max(1) {
        return [0; 4];
    }
    let size = level_size(tex, level);
    let dims = match tex.dim {
        TexDim::D1 => 1,
        TexDim::D2 => 2,
        TexDim::D3 | TexDim::Cube => 3,
    };
    let mut i = [0u32; 3];
    for k in 0..dims {
        let limit = if tex.dim == TexDim::Cube && k == 2 { 6 } else { size[k] as i64 };
        let at = a.coord[k] as i32 as i64 + query.offset[k] as i64;
        if at < 0 || at >= limit {
            return [0; 4];
        }
        i[k] = at as u32;
    }
    let layer = layer_of(tex, a.layer);
    let image = match tex.dim {
        TexDim::D3 => i[2],
        TexDim::Cube => layer * 6 + i[2],
        _ => layer,
    };
    texel(tex, level, i[0], i[1], image)
}

/// Width, height, depth as far as the dimension has them, then the number of layers; the rest is 0.
fn size(tex: &TextureData, level: i32) -> [u32; 4] {
    let s = level_size(tex, level.clamp(0, tex.levels.max(1) as i32 - 1) as u32);
    match tex.dim {
        TexDim::D1 => [s[0], tex.layers, 0, 0],
        TexDim::D2 | TexDim::Cube => [s[0], s[1], tex.layers, 0],
        TexDim::D3 => [s[0], s[1], s[2], tex.layers],
    }
}

/// The lanes of a quad whose difference is the derivative in lane `lane`: (subtrahend, minuend).
pub const fn derivative_lanes(lane: usize, vertical: bool) -> (usize, usize) {
    if vertical { (lane & 1, lane & 1 | 2) } else { (lane & 2, lane & 2 | 1) }
}

/// `ddx` or `ddy` of one component in lane `lane`, as the machine subtracts.
pub fn derivative(numerics: &dyn Numerics, ty: Scalar, values: [u32; 4], lane: usize, vertical: bool) -> u32 {
    let (low, high) = derivative_lanes(lane & 3, vertical);
    numerics.binary(Opcode::Fsub, ty, values[high], values[low])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(w: u32, h: u32, filter: Filter, wrap: Wrap) -> TextureData {
        let texels =
            (0..w * h).map(|n| [(n as f32).to_bits(), ((n % w) as f32).to_bits(), ((n / w) as f32).to_bits(), 1f32.to_bits()]).collect();
        TextureData { dim: TexDim::D2, size: [w, h, 1], layers: 1, levels: 1, depth: false, filter, wrap, texels }
    }
    fn at(x: f32, y: f32) -> TexArgs {
        TexArgs { coord: [x.to_bits(), y.to_bits(), 0], ..TexArgs::default() }
    }
    fn x_of(r: [u32; 4]) -> f32 {
        f32::from_bits(r[0])
    }

    #[test]
    fn nearest_wraps() {
        let q = TexQuery::sample(TexLod::Zero);
        let t = ramp(4, 4, Filter::Nearest, Wrap::Repeat);
        assert_eq!(x_of(sample_lane(&t, &q, &at(0.3, 0.0), 0.0)), 1.0);
        assert_eq!(x_of(sample_lane(&t, &q, &at(1.3, -0.1), 0.0)), 13.0);
        let t = ramp(4, 4, Filter::Nearest, Wrap::Mirror);
        assert_eq!(x_of(sample_lane(&t, &q, &at(-0.3, 0.0), 0.0)), 1.0);
        assert_eq!(x_of(sample_lane(&t, &q, &at(1.1, 0.0), 0.0)), 3.0);
        let t = ramp(4, 4, Filter::Nearest, Wrap::Clamp);
        assert_eq!(x_of(sample_lane(&t, &q, &at(-9.0, 2.0), 0.0)), 12.0);
        assert_eq!(x_of(sample_lane(&t, &q, &at(f32::NAN, f32::INFINITY), 0.0)), 0.0);
        assert_eq!(x_of(sample_lane(&t, &q, &at(1e30, 0.0), 0.0)), 3.0);
    }

    #[test]
    fn linear_weights() {
        let q = TexQuery::sample(TexLod::Zero);
        let t = ramp(4, 4, Filter::Linear, Wrap::Clamp);
        assert_eq!(x_of(sample_lane(&t, &q, &at(0.5, 0.125), 0.0)), 1.5);
        assert_eq!(x_of(sample_lane(&t, &q, &at(0.5, 0.5), 0.0)), 7.5);
    }

    #[test]
    fn levels_from_differences() {
        let mut t = ramp(4, 4, Filter::Nearest, Wrap::Repeat);
        t.levels = 3;
        t.texels.extend([[100f32.to_bits(); 4]; 4]);
        t.texels.push([200f32.to_bits(); 4]);
        assert_eq!(texel_count(&t), t.texels.len() as u64);
        let q = TexQuery::sample(TexLod::Implicit);
        let quad = |d: f32| sample_quad(&t, &q, &[at(0.0, 0.0), at(d, 0.0), at(0.0, d), at(d, d)]);
        assert_eq!(x_of(quad(0.25)[0]), 0.0);
        assert_eq!(x_of(quad(0.5)[0]), 100.0);
        assert_eq!(x_of(quad(1.0)[3]), 200.0);
        let mut biased = at(0.0, 0.0);
        biased.lod = 1f32.to_bits();
        let q = TexQuery { lod: TexLod::Bias, ..q };
        assert_eq!(x_of(sample_quad(&t, &q, &[biased, at(0.25, 0.0), at(0.0, 0.25), at(0.0, 0.0)])[0]), 100.0);
        let q = TexQuery { op: TexOp::Size, lod: TexLod::Level, ..q };
        assert_eq!(sample_lane(&t, &q, &TexArgs { lod: 1, ..at(0.0, 0.0) }, 0.0), [2, 2, 1, 0]);
    }

    #[test]
    fn gather_compare_fetch() {
        let t = ramp(4, 4, Filter::Nearest, Wrap::Clamp);
        let q = TexQuery { op: TexOp::Gather, ..TexQuery::sample(TexLod::Zero) };
        assert_eq!(sample_lane(&t, &q, &at(0.5, 0.5), 0.0).map(f32::from_bits), [9.0, 10.0, 6.0, 5.0]);
        let q = TexQuery { compare: true, ..q };
        let a = TexArgs { reference: 9f32.to_bits(), ..at(0.5, 0.5) };
        assert_eq!(sample_lane(&t, &q, &a, 0.0).map(f32::from_bits), [1.0, 1.0, 0.0, 0.0]);
        let q = TexQuery { op: TexOp::Fetch, offset: [1, 0, 0], ..TexQuery::sample(TexLod::Zero) };
        assert_eq!(x_of(sample_lane(&t, &q, &TexArgs { coord: [1, 2, 0], ..at(0.0, 0.0) }, 0.0)), 10.0);
        assert_eq!(sample_lane(&t, &q, &TexArgs { coord: [3, 2, 0], ..at(0.0, 0.0) }, 0.0), [0; 4]);
    }

    #[test]
    fn cube_faces() {
        let d = |v: [f32; 3]| cube_face(v.map(f32::to_bits));
        assert_eq!(d([1.0, 0.0, 0.0]), (0, 0.5, 0.5));
        assert_eq!(d([-2.0, 0.0, 1.0]), (1, 0.75, 0.5));
        assert_eq!(d([0.0, 1.0, 0.5]), (2, 0.5, 0.75));
        assert_eq!(d([0.0, -1.0, 0.5]), (3, 0.5, 0.25));
        assert_eq!(d([0.5, 0.0, 1.0]), (4, 0.75, 0.5));
        assert_eq!(d([0.5, 0.0, -1.0]), (5, 0.25, 0.5));
    }

    #[test]
    fn derivative_pairs() {
        let v = [1.0f32, 3.0, 10.0, 15.0].map(f32::to_bits);
        let d = |lane, vertical| f32::from_bits(derivative(&crate::numerics::Reference, Scalar::F32, v, lane, vertical));
        assert_eq!([d(0, false), d(1, false), d(2, false), d(3, false)], [2.0, 2.0, 5.0, 5.0]);
        assert_eq!([d(0, true), d(1, true), d(2, true), d(3, true)], [9.0, 12.0, 9.0, 12.0]);
    }
}
