//! What needs a texture's size. SMP takes normalised coordinates and no instruction tells a size, so the application does: a uniform
//! `NAME.size` of four floats (width, height, depth, levels) stands in the container for each texture that is asked for one.
//!
//! Texels are read at their centres then, which is exact where the texture's filter takes one texel, and within rounding of the
//! coordinate where it takes several.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use retroshade_ir::module::UniformDecl;
use retroshade_ir::passes::each;
use retroshade_ir::passes::rewrite::{Action, rewrite_of};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::*;

/// Width, height, depth and number of levels.
pub const SIZE: Type = F32.with_lanes(4);

/// What a texture's uniform is called: no name of a source is, since textures have no members.
pub fn name(texture: &str) -> String {
    format!("{texture}.size")
}

/// The texture whose size a uniform of a container holds, if its name says so.
pub fn texture(uniform: &str) -> Option<&str> {
    uniform.strip_suffix(".size")
}

/// Whether the operation cannot be made without the texture's size, and can be made with it.
fn asks(m: &Module, f: &Function, d: &InstData) -> Option<Texture> {
    let Imm::Tex(info) = &d.imm else { return None };
    let t = &m.textures[info.texture];
    let plain = t.kind == Scalar::F32 && !t.arrayed && !t.shadow && !t.multisampled;
    let asks = match info.op {
        TexOp::Size | TexOp::Levels => !t.arrayed,
        TexOp::Fetch => plain && t.dim != TexDim::Cube,
        // Texels of other levels are larger.
        TexOp::Sample => plain && info.offset != [0; 3] && first_level(f, d, info),
        TexOp::Gather => plain && t.dim == TexDim::D2 && !info.compare,
        TexOp::Lod => false,
    };
    asks.then_some(info.texture)
}

/// Whether the operation names level 0.
fn first_level(f: &Function, d: &InstData, info: &TexInfo) -> bool {
    let zero = |v: &Value| f.const_bits(*v).is_some_and(|c| c[0] == 0);
    match info.lod {
        TexLod::Zero => true,
        TexLod::Level => d.args.last().is_some_and(zero),
        _ => info.op != TexOp::Sample,
    }
}

/// Replaces what asks for sizes, and says whether anything does.
pub fn run(m: &mut Module) -> bool {
    let mut wanted = Vec::new();
    for f in m.functions.values() {
        wanted.extend(f.ordered().filter_map(|(_, i)| asks(m, f, &f.insts[i])));
    }
    if wanted.is_empty() {
        return false;
    }
    wanted.sort();
    wanted.dedup();
    // A group of their own: no block of the source is there.
    let group = m.uniforms.values().map(|d| d.group).max().map_or(0, |g| g.saturating_add(1));
    let mut sizes = SecondaryMap::new();
    for (n, t) in (0..).zip(wanted) {
        let d = &m.textures[t];
        let size = UniformDecl {
            name: name(&d.name),
            ty: SIZE,
            dims: Vec::new(),
            matrix: false,
            rows: false,
            unit: 16,
            group,
            binding: 0,
            offset: 16 * n,
            range: None,
            source_type: None,
            size_of: Some(t),
            span: d.span,
        };
        sizes[t] = m.uniforms.push(size).into();
    }
    let given: Vec<Uniform> = sizes.values().filter_map(|u: &PackedOption<Uniform>| u.expand()).collect();
    let dims: Vec<TexDim> = m.textures.values().map(|t| t.dim).collect();
    each(m, |f| {
        rewrite_of(f, &[Opcode::Tex], |b, i| replaced(b, i, &sizes, &dims));
        // A size is a float already.
        rewrite_of(f, &[Opcode::S2f, Opcode::U2f], |b, i| {
            let size = b.func.insts[i].args[0];
            whole(b, size, &given).map_or(Action::Keep, Action::Replace)
        })
    });
    true
}

/// How many operations a coordinate is followed back.
const DEEP: u32 = 6;

/// Terms with which a sum that is the number of a texel has exact operands.
const SMALL: std::ops::RangeInclusive<i32> = -4096..=4096;

/// An integer vector as one and a small constant that is added to it.
fn apart(f: &Function, v: Value, lanes: u8) -> (Value, [f32; 3]) {
    let d = f.def_if(v, Opcode::Iadd);
    let split = d.and_then(|d| [(d.args[0], d.args[1]), (d.args[1], d.args[0])].into_iter().find(|(_, k)| is_small(f, *k, lanes)));
    match split.and_then(|(x, k)| Some((x, f.const_bits(k)?))) {
        Some((x, k)) => (x, [0, 1, 2].map(|l| if l < lanes as usize { k[l] as i32 as f32 } else { 0.0 })),
        None => (v, [0.0; 3]),
    }
}

fn is_small(f: &Function, v: Value, lanes: u8) -> bool {
    f.const_bits(v).is_some_and(|c| c[..lanes as usize].iter().all(|k| SMALL.contains(&(*k as i32))))
}

fn sum(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [0, 1, 2].map(|l| a[l] + b[l])
}

/// From a texel's corner to the centre of the one that is `offset` away.
fn middle(offset: [i8; 3]) -> [f32; 3] {
    offset.map(|o| f32::from(o) + 0.5)
}

/// An integer as a float: right where the integer is the number of a texel, anything elsewhere. Conversions there and back are
/// dear, so what the number is made of is computed in floats.
fn number(b: &mut Builder, v: Value, deep: u32) -> Value {
    use Opcode::*;
    let v = b.func.resolve(v);
    let ty = F32.with_lanes(b.func.ty(v).lanes);
    let converted = |b: &mut Builder| b.typed(S2f, ty, &[v], Imm::None);
    let Some(d) = b.func.def_inst(v).map(|i| b.func.insts[i].clone()).filter(|_| deep > 0) else { return converted(b) };
    if let Imm::Const(bits) = d.imm {
        return b.constant(ty, bits.map(|k| (k as i32 as f32).to_bits()));
    }
    let small = |b: &Builder, v: Value| is_small(b.func, v, ty.lanes);
    match d.op {
        F2s => b.ins(Ftrunc, &[d.args[0]]),
        Iadd | Isub if small(b, d.args[1]) || d.op == Iadd && small(b, d.args[0]) => {
            let args = [d.args[0], d.args[1]].map(|a| number(b, a, deep - 1));
            b.ins(if d.op == Iadd { Fadd } else { Fsub }, &args)
        }
        Smin | Smax => {
            let args = [d.args[0], d.args[1]].map(|a| number(b, a, deep - 1));
            b.ins(if d.op == Smin { Fmin } else { Fmax }, &args)
        }
        Build | Splat => {
            let lanes: Vec<Value> =
                (0..ty.lanes as usize).map(|l| number(b, d.args[if d.op == Build { l } else { 0 }], deep - 1)).collect();
            b.build(&lanes)
        }
        Extract | Shuffle => {
            let args: Vec<Value> = d.args.iter().map(|a| number(b, *a, deep - 1)).collect();
            b.typed(d.op, ty, &args, d.imm.clone())
        }
        _ => converted(b),
    }
}

/// Whether a float is part of a size.
fn is_size(f: &Function, v: Value, given: &[Uniform]) -> bool {
    let Some(d) = f.def_inst(v).map(|i| &f.insts[i]) else { return false };
    match (d.op, &d.imm) {
        (Opcode::Uniform, Imm::Mem { var: MemRef::Uniform(u), .. }) => given.contains(u),
        (Opcode::Build | Opcode::Extract | Opcode::Shuffle, _) => d.args.iter().all(|a| is_size(f, *a, given)),
        _ => false,
    }
}

/// The float that an integer was made of, where that is a size and therefore whole.
fn whole(b: &mut Builder, v: Value, given: &[Uniform]) -> Option<Value> {
    let v = b.func.resolve(v);
    let d = b.func.insts[b.func.def_inst(v)?].clone();
    match d.op {
        Opcode::F2s if is_size(b.func, d.args[0], given) => Some(d.args[0]),
        Opcode::Extract => {
            let of = whole(b, d.args[0], given)?;
            Some(b.ins_imm(Opcode::Extract, &[of], d.imm))
        }
        _ => None,
    }
}

/// A texture whose size is known.
struct Sized {
    uniform: Uniform,
    lanes: u8,
}

fn replaced(b: &mut Builder, i: Inst, sizes: &SecondaryMap<Texture, PackedOption<Uniform>>, dims: &[TexDim]) -> Action {
    let d = b.func.insts[i].clone();
    let (Imm::Tex(info), Some(r)) = (&d.imm, d.results.first()) else { return Action::Keep };
    let Some(uniform) = sizes[info.texture].expand() else { return Action::Keep };
    let lanes = match dims[info.texture.index()] {
        TexDim::D1 => 1,
        TexDim::D2 | TexDim::Cube => 2,
        TexDim::D3 => 3,
    };
    let texture = Sized { uniform, lanes };
    let level = d.args.last().copied().filter(|_| info.lod == TexLod::Level && !first_level(b.func, &d, info));
    let at = match info.op {
        TexOp::Size => return Action::Replace(texture.texels(b, level)),
        TexOp::Levels => {
            let levels = texture.levels(b);
            return Action::Replace(b.typed(Opcode::F2s, I32, &[levels], Imm::None));
        }
        TexOp::Gather => return Action::Replace(texture.gathered(b, d.args[0], info)),
        TexOp::Fetch => {
            let (at, more) = apart(b.func, d.args[0], lanes);
            let at = number(b, at, DEEP);
            texture.centre(b, at, sum(middle(info.offset), more), level)
        }
        TexOp::Sample if info.offset != [0; 3] && first_level(b.func, &d, info) => texture.moved(b, d.args[0], info.offset),
        _ => return Action::Keep,
    };
    let mut args = vec![at];
    let lod = level.map(|l| b.typed(Opcode::S2f, F32, &[l], Imm::None));
    args.extend(lod);
    let sample =
        TexInfo { op: TexOp::Sample, lod: if lod.is_some() { TexLod::Level } else { TexLod::Zero }, offset: [0; 3], ..(**info).clone() };
    let ty = b.func.ty(*r);
    let texel = b.tex(ty, sample, &args);
    if info.op != TexOp::Fetch {
        return Action::Replace(texel);
    }
    let inside = texture.inside(b, at, lod);
    let nothing = b.splat_const(ty, 0);
    Action::Replace(b.select(inside, texel, nothing))
}

impl Sized {
    /// The size of level 0, of as many components as the texture has dimensions.
    fn first(&self, b: &mut Builder) -> Value {
        let size = b.load(SIZE, MemRef::Uniform(self.uniform), 0, None);
        let lanes: Vec<Value> = (0..self.lanes).map(|l| b.extract(size, l)).collect();
        b.build(&lanes)
    }
    /// The number of levels.
    fn levels(&self, b: &mut Builder) -> Value {
        let size = b.load(SIZE, MemRef::Uniform(self.uniform), 0, None);
        b.extract(size, 3)
    }
    /// The size of a level in texels.
    fn texels(&self, b: &mut Builder, level: Option<Value>) -> Value {
        let size = self.first(b);
        let ty = I32.with_lanes(self.lanes);
        let size = b.typed(Opcode::F2s, ty, &[size], Imm::None);
        let Some(level) = level else { return size };
        let level = b.splat(level, self.lanes);
        let size = b.ins(Opcode::Ushr, &[size, level]);
        let one = b.iconst(ty, 1);
        b.ins(Opcode::Smax, &[size, one])
    }
    /// Texels of a level as a part of it.
    fn texel(&self, b: &mut Builder, level: Option<Value>) -> Value {
        let size = match level {
            None => self.first(b),
            Some(_) => {
                let size = self.texels(b, level);
                b.typed(Opcode::S2f, F32.with_lanes(self.lanes), &[size], Imm::None)
            }
        };
        b.ins(Opcode::Frcp, &[size])
    }
    /// One component of the four texels of level 0 around a place.
    fn gathered(&self, b: &mut Builder, at: Value, info: &TexInfo) -> Value {
        let size = self.first(b);
        let at = b.ins(Opcode::Fmul, &[at, size]);
        let half = self.constant(b, [-0.5; 3]);
        let at = b.ins(Opcode::Fadd, &[at, half]);
        let low = b.ins(Opcode::Ffloor, &[at]);
        let around = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]].map(|[x, y]| {
            let at = self.centre(b, low, sum(middle(info.offset), [x, y, 0.0]), None);
            let sample = TexInfo { op: TexOp::Sample, lod: TexLod::Zero, offset: [0; 3], component: 0, ..info.clone() };
            let texel = b.tex(F32.with_lanes(4), sample, &[at]);
            b.extract(texel, info.component)
        });
        b.build(&around)
    }
    /// The centre of a texel, counted in floats.
    fn centre(&self, b: &mut Builder, at: Value, middle: [f32; 3], level: Option<Value>) -> Value {
        let middle = self.constant(b, middle);
        let at = b.ins(Opcode::Fadd, &[at, middle]);
        let texel = self.texel(b, level);
        b.ins(Opcode::Fmul, &[at, texel])
    }
    /// Whether a place is in the texture: x - x² is positive between 0 and 1, which the centres of texels keep away from.
    fn inside(&self, b: &mut Builder, at: Value, level: Option<Value>) -> Value {
        let square = b.ins(Opcode::Fmul, &[at, at]);
        let room = b.ins(Opcode::Fsub, &[at, square]);
        let mut least = b.extract(room, 0);
        let mut at_most = |b: &mut Builder, x: Value| least = b.ins(Opcode::Fmin, &[least, x]);
        for l in 1..self.lanes {
            let room = b.extract(room, l);
            at_most(b, room);
        }
        if let Some(level) = level {
            let levels = self.levels(b);
            let above = b.ins(Opcode::Fsub, &[levels, level]);
            at_most(b, above);
            let one = b.fconst(F32, 1.0);
            let from_one = b.ins(Opcode::Fadd, &[level, one]);
            at_most(b, from_one);
        }
        let zero = b.fconst(F32, 0.0);
        b.fcmp(FloatCC::Ogt, least, zero)
    }
    /// A place of level 0 moved by whole texels.
    fn moved(&self, b: &mut Builder, at: Value, offset: [i8; 3]) -> Value {
        let texel = self.texel(b, None);
        let by = self.constant(b, offset.map(f32::from));
        let by = b.ins(Opcode::Fmul, &[by, texel]);
        b.ins(Opcode::Fadd, &[at, by])
    }
    fn constant(&self, b: &mut Builder, lanes: [f32; 3]) -> Value {
        let [x, y, z] = lanes.map(f32::to_bits);
        b.constant(F32.with_lanes(self.lanes), [x, y, z, 0])
    }
}
