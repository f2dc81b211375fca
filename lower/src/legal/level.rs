//! The level of detail that a sample would take, for machines without an operation that tells it: from the derivatives of the
//! coordinates and the size of level 0. What a sampler adds (its bias, its least and greatest level) is not in it.

use cranelift_entity::EntityRef;
use retroshade_ir::passes::each;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::{Builder, FloatCC, Imm, Module, Opcode, TexDim, TexInfo, TexLod, TexOp, Texture, Value};

/// Replaces every `tex lod`.
pub fn from_derivatives(m: &mut Module) -> bool {
    let textures: Vec<(TexDim, bool)> = m.textures.values().map(|t| (t.dim, t.arrayed)).collect();
    each(m, |f| {
        rewrite(f, |b, i| {
            let d = &b.func.insts[i];
            let (Imm::Tex(info), Some(at)) = (&d.imm, d.args.first().copied()) else { return Action::Keep };
            if info.op != TexOp::Lod {
                return Action::Keep;
            }
            let texture = info.texture;
            let (dim, arrayed) = textures[texture.index()];
            Action::Replace(levels(b, texture, (dim, arrayed), at))
        })
    })
}

/// Replaces gradients that the source gives by the level that they ask for, where `wanted`. Of a cube the larger steps of the direction count, as for
/// the interpreter.
pub fn from_gradients(m: &mut Module, wanted: impl Fn(&TexInfo, TexDim, bool) -> bool) -> bool {
    let textures: Vec<(TexDim, bool)> = m.textures.values().map(|t| (t.dim, t.arrayed)).collect();
    each(m, |f| {
        rewrite(f, |b, i| {
            let d = b.func.insts[i].clone();
            let Imm::Tex(info) = &d.imm else { return Action::Keep };
            let (dim, arrayed) = textures[info.texture.index()];
            if info.op != TexOp::Sample || info.lod != TexLod::Grad || !wanted(info, dim, arrayed) {
                return Action::Keep;
            }
            let ([at, ..], [.., dx, dy]) = (&d.args[..], &d.args[..]) else { return Action::Keep };
            let mut size = texels(b, info.texture, (dim, arrayed), b.func.ty(*at).lanes);
            if dim == TexDim::Cube {
                let lanes = [0, 1, 2].map(|l| b.extract(*at, l)).map(|l| b.ins(Opcode::Fabs, &[l]));
                let most = b.ins(Opcode::Fmax, &[lanes[0], lanes[1]]);
                let most = b.ins(Opcode::Fmax, &[most, lanes[2]]);
                let most = b.build(&[most; 3]);
                size = b.ins(Opcode::Fdiv, &[size, most]);
            }
            let moved = [*dx, *dy].map(|step| squared(b, step, size));
            let level = larger(b, moved);
            let data = &mut b.func.insts[i];
            data.args.truncate(d.args.len() - 2);
            data.args.push(level);
            if let Imm::Tex(info) = &mut data.imm {
                info.lod = TexLod::Level;
            }
            Action::Changed
        })
    })
}

fn query(op: TexOp, texture: Texture) -> TexInfo {
    TexInfo { op, texture, lod: TexLod::Implicit, compare: false, offset: [0; 3], component: 0 }
}

/// The texels along each coordinate; of a cube, those from the middle of a face to its edge.
fn texels(b: &mut Builder, texture: Texture, (dim, arrayed): (TexDim, bool), lanes: u8) -> Value {
    let cube = dim == TexDim::Cube;
    let size = b.tex(I32.with_lanes(if cube { 2 } else { lanes } + u8::from(arrayed)), query(TexOp::Size, texture), &[]);
    let size: Vec<Value> = (0..lanes)
        .map(|k| {
            let texels = b.extract(size, if cube { 0 } else { k });
            let texels = b.typed(Opcode::S2f, F32, &[texels], Imm::None);
            let half = b.fconst(F32, 0.5);
            if cube { b.ins(Opcode::Fmul, &[texels, half]) } else { texels }
        })
        .collect();
    b.build(&size)
}

/// The square of a step, in texels.
fn squared(b: &mut Builder, step: Value, size: Value) -> Value {
    let texels = b.ins(Opcode::Fmul, &[step, size]);
    b.ins(if b.func.ty(step).lanes == 1 { Opcode::Fmul } else { Opcode::Dot }, &[texels, texels])
}

/// The level that the larger of two squared steps asks for.
fn larger(b: &mut Builder, moved: [Value; 2]) -> Value {
    let most = b.ins(Opcode::Fmax, &moved);
    let log = b.ins(Opcode::Flog2, &[most]);
    let half = b.fconst(F32, 0.5);
    b.ins(Opcode::Fmul, &[log, half])
}

/// The level as it is accessed, and as it is computed.
fn levels(b: &mut Builder, texture: Texture, (dim, arrayed): (TexDim, bool), at: Value) -> Value {
    let size = texels(b, texture, (dim, arrayed), b.func.ty(at).lanes);
    let moved = [Opcode::Ddx, Opcode::Ddy].map(|d| {
        let step = if dim == TexDim::Cube { along_face(b, d, at) } else { b.ins(d, &[at]) };
        squared(b, step, size)
    });
    let level = larger(b, moved);
    let count = b.tex(I32, query(TexOp::Levels, texture), &[]);
    let one = b.iconst(I32, 1);
    let last = b.ins(Opcode::Isub, &[count, one]);
    let last = b.typed(Opcode::S2f, F32, &[last], Imm::None);
    let zero = b.fconst(F32, 0.0);
    let taken = b.ins(Opcode::Fmax, &[level, zero]);
    let taken = b.ins(Opcode::Fmin, &[taken, last]);
    b.build(&[taken, level])
}

/// How far a direction moves on the face of the cube that it meets: the derivative of direction / largest coordinate.
fn along_face(b: &mut Builder, derivative: Opcode, direction: Value) -> Value {
    let size = b.ins(Opcode::Fabs, &[direction]);
    let steps = b.ins(derivative, &[size]);
    let (mut most, mut step) = (b.extract(size, 0), b.extract(steps, 0));
    for n in 1..3 {
        let (size, by) = (b.extract(size, n), b.extract(steps, n));
        let more = b.fcmp(FloatCC::Ogt, size, most);
        most = b.select(more, size, most);
        step = b.select(more, by, step);
    }
    let moved = b.ins(derivative, &[direction]);
    let [most, step] = [most, step].map(|v| b.build(&[v; 3]));
    let here = b.ins(Opcode::Fdiv, &[direction, most]);
    let pulled = b.ins(Opcode::Fmul, &[here, step]);
    let moved = b.ins(Opcode::Fsub, &[moved, pulled]);
    b.ins(Opcode::Fdiv, &[moved, most])
}
