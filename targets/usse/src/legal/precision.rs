//! Relaxed precision: texels, colours and what is computed from them become f16; texture reads at unmodified coordinates
//! move to the program's start, where the machine makes them before the program runs.
//!
//! A float value of a fragment program is narrowed if everything that uses it may be f16 too, in the end the colour output or
//! a test. Coordinates, depths and transcendental functions stay f32. Block parameters take part, so that colours stay
//! narrow through branches.

use crate::abi::varyings::{self, Varying};
use crate::legal::numerics::UNORM8;
use retroshade_ir::analysis::Relaxed;
use retroshade_ir::*;
use retroshade_lower::{ColorFormat, Options};
use std::collections::{BTreeMap, BTreeSet};

/// Whether an operation can work on f16 colours.
fn is_candidate(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Fadd | Fsub | Fmul | Fmad | Fmin | Fmax | Fneg | Fabs | Select | Splat | Build | Extract | Insert | Shuffle | Tex)
}

/// How the colour leaves a program.
pub fn color_format(m: &Module, o: &Options) -> ColorFormat {
    let colour = |d: &IoDecl| matches!(d.binding, Binding::Location(_));
    let declared_half = m.outputs.values().any(|d| colour(d) && d.ty.scalar == Scalar::F16);
    match o.color_format {
        _ if declared_half => ColorFormat::F16,
        // The registers of a frame buffer are bytes unless the caller knows better.
        ColorFormat::Auto if frame_colours(m.main(), &m.inputs).next().is_some() => ColorFormat::U8,
        ColorFormat::Auto => ColorFormat::F16,
        given => given,
    }
}

/// The reads of the frame buffer's colour.
fn frame_colours<'m>(f: &'m Function, inputs: &'m cranelift_entity::PrimaryMap<Input, IoDecl>) -> impl Iterator<Item = Inst> + 'm {
    let is = |i: &Inst| match f.insts[*i].imm {
        Imm::Mem { var: MemRef::Input(v), .. } => inputs[v].binding == Binding::Builtin(Builtin::LastColor),
        _ => false,
    };
    f.ordered().map(|(_, i)| i).filter(is)
}

/// Whether values may be f16: the caller says so of all, or the source of some.
pub fn may_narrow(m: &Module, o: &Options) -> bool {
    let marked = |f: &Function| f.ordered().any(|(_, i)| f.insts[i].relaxed);
    m.stage == Stage::Fragment && (o.relaxed_precision || m.functions.values().any(marked))
}

/// Rounds the colour to the format in which it leaves, and the frame buffer's to that in which it comes; with `narrow` values
/// before that become f16 too where the options or the source allow it.
pub fn run(m: &mut Module, o: &Options, narrow: bool) {
    let format = color_format(m, o);
    let round: Option<Round> = match format {
        ColorFormat::F32 => None,
        ColorFormat::U8 => Some(byte),
        ColorFormat::F16 | ColorFormat::Auto => Some(half),
    };
    let Some(round) = round else { return };
    frame_buffer(m, round);
    if narrow {
        narrow_values(m, o.relaxed_precision);
    } else if format == ColorFormat::F16 {
        colours(m, half);
        read_as_half(m);
    }
    if format == ColorFormat::U8 {
        colours(m, byte);
    }
}

/// Rounds what is read of the frame buffer.
fn frame_buffer(m: &mut Module, round: Round) {
    let reads: Vec<Inst> = frame_colours(m.main(), &m.inputs).collect();
    let entry = m.entry;
    let f = &mut m.functions[entry];
    for i in reads {
        let Some(read) = f.result(i) else { continue };
        let Some(b) = f.layout.iter().copied().find(|b| f.blocks[*b].insts.contains(&i)) else { continue };
        // A copy is rounded, and takes the place of the read everywhere.
        let span = f.spans[i];
        let copy = f.make_inst(f.insts[i].clone(), &[f.ty(read)], span);
        let raw = f.insts[copy].results[0];
        let new = round(f, raw, span);
        if let Some(last) = new.last() {
            f.replace(read, f.insts[*last].results[0]);
        }
        let list = &mut f.blocks[b].insts;
        if let Some(at) = list.iter().position(|x| *x == i) {
            list.splice(at..=at, std::iter::once(copy).chain(new));
        }
    }
    f.resolve_aliases();
}

/// Narrows the entry function: all values, or those that the source marks as relaxed.
fn narrow_values(m: &mut Module, all: bool) {
    let depth: BTreeSet<Output> = m.outputs.iter().filter(|(_, d)| !matches!(d.binding, Binding::Location(_))).map(|(o, _)| o).collect();
    let entry = m.entry;
    let f = &mut m.functions[entry];
    let relaxed = Relaxed::new(f);
    let may = |v: Value| all || relaxed.contains(v);
    // Optimistic: every candidate, then without those that have a use which needs f32.
    let mut narrow: BTreeSet<Value> = BTreeSet::new();
    for b in &f.layout {
        narrow.extend(f.blocks[*b].params.iter().filter(|p| f.ty(**p).scalar == Scalar::F32 && may(**p)));
        for i in &f.blocks[*b].insts {
            let d = &f.insts[*i];
            if is_candidate(d.op) && !d.precise {
                narrow.extend(d.results.iter().filter(|r| f.ty(**r).scalar == Scalar::F32 && may(**r)));
            }
        }
    }
    loop {
        let mut drop: BTreeSet<Value> = BTreeSet::new();
        for (_, i) in f.ordered() {
            let d = &f.insts[i];
            for (n, a) in d.args.iter().enumerate() {
                if !narrow.contains(a) {
                    continue;
                }
                let fine = match d.op {
                    Opcode::Tex => false,
                    Opcode::Output => !matches!(d.imm, Imm::Mem { var: MemRef::Output(o), .. } if depth.contains(&o)),
                    // What it is compared with is rounded too.
                    Opcode::Fcmp => d.args.iter().all(|a| may(*a)),
                    Opcode::Select if n == 0 => true,
                    op if is_candidate(op) => d.results.first().is_some_and(|r| narrow.contains(r)),
                    _ => false,
                };
                if !fine {
                    drop.insert(*a);
                }
            }
            for t in &d.targets {
                for (p, a) in f.blocks[t.block].params.iter().zip(&t.args) {
                    if narrow.contains(a) && !narrow.contains(p) {
                        drop.insert(*a);
                    }
                }
            }
        }
        if drop.is_empty() {
            break;
        }
        narrow.retain(|v| !drop.contains(v));
    }
    // Scalar arithmetic that no texel feeds gains nothing: it stays f32 and is converted where it meets a colour.
    let tested = worth(f, &narrow);
    narrow.retain(|v| tested.contains(v));
    rewrite(f, &narrow, &depth);
}

/// Makes the value that a colour becomes: new instructions, the last one's result.
type Round = fn(&mut Function, Value, Span) -> Vec<Inst>;

/// To f16 and back.
fn half(f: &mut Function, v: Value, span: Span) -> Vec<Inst> {
    let ty = f.ty(v);
    let data = match f.const_bits(v) {
        Some(bits) => {
            let rounded = bits.map(|x| retroshade_ir::numerics::from_f32(Scalar::F16, f32::from_bits(x)));
            InstData::new(Opcode::Const, &[], Imm::Const(rounded))
        }
        None => InstData::new(Opcode::Fcvt, &[v], Imm::None),
    };
    let narrow = f.make_inst(data, &[ty.with_scalar(Scalar::F16)], span);
    let h = f.insts[narrow].results[0];
    vec![narrow, f.make_inst(InstData::new(Opcode::Fcvt, &[h], Imm::None), &[ty], span)]
}

/// To fractions of 255.
fn byte(f: &mut Function, v: Value, span: Span) -> Vec<Inst> {
    let ty = f.ty(v);
    vec![f.make_inst(InstData::new(Opcode::Ext, &[v], Imm::Ext(UNORM8.into())), &[ty], span)]
}

/// Rounds the colour outputs and leaves all other values as they are.
fn colours(m: &mut Module, round: Round) {
    let outputs: BTreeSet<Output> = m.outputs.iter().filter(|(_, d)| matches!(d.binding, Binding::Location(_))).map(|(o, _)| o).collect();
    let entry = m.entry;
    let f = &mut m.functions[entry];
    for b in f.layout.clone() {
        let mut out = Vec::new();
        for i in std::mem::take(&mut f.blocks[b].insts) {
            let d = &f.insts[i];
            let colour = d.op == Opcode::Output && matches!(d.imm, Imm::Mem { var: MemRef::Output(o), .. } if outputs.contains(&o));
            if let (true, Some(v)) = (colour, d.args.first().copied().filter(|v| f.ty(*v).scalar == Scalar::F32)) {
                let new = round(f, v, f.spans[i]);
                if let Some(last) = new.last() {
                    f.insts[i].args[0] = f.insts[*last].results[0];
                }
                out.extend(new);
            }
            out.push(i);
        }
        f.blocks[b].insts = out;
    }
}

/// A texel that is only ever rounded to f16 is read as f16, which is the same.
fn read_as_half(m: &mut Module) {
    let entry = m.entry;
    let f = &mut m.functions[entry];
    let texels: Vec<Value> = f.ordered().filter(|(_, i)| f.insts[*i].op == Opcode::Tex).filter_map(|(_, i)| f.result(i)).collect();
    for v in texels.into_iter().filter(|v| f.ty(*v).scalar == Scalar::F32).collect::<Vec<_>>() {
        let users: Vec<Inst> = f.ordered().map(|(_, i)| i).filter(|i| f.reads(*i).contains(&v)).collect();
        let rounds = |i: &Inst| f.insts[*i].op == Opcode::Fcvt && f.result(*i).is_some_and(|r| f.ty(r).scalar == Scalar::F16);
        if users.is_empty() || !users.iter().all(rounds) {
            continue;
        }
        f.values[v].0 = f.ty(v).with_scalar(Scalar::F16);
        for i in users {
            if let Some(r) = f.result(i) {
                f.replace(r, v);
            }
            for b in f.layout.clone() {
                f.blocks[b].insts.retain(|x| *x != i);
            }
        }
        f.resolve_aliases();
    }
}

/// The narrowed values that are vectors or come from texels.
fn worth(f: &Function, narrow: &BTreeSet<Value>) -> BTreeSet<Value> {
    let mut texel: BTreeSet<Value> = BTreeSet::new();
    loop {
        let before = texel.len();
        for (_, i) in f.ordered() {
            let d = &f.insts[i];
            if let Some(r) = d.results.first()
                && narrow.contains(r)
                && (d.op == Opcode::Tex || f.ty(*r).lanes >= 3 || d.args.iter().any(|a| texel.contains(a)))
            {
                texel.insert(*r);
            }
            for t in &d.targets {
                for (p, a) in f.blocks[t.block].params.iter().zip(&t.args) {
                    if narrow.contains(p) && (texel.contains(a) || f.ty(*p).lanes >= 3) {
                        texel.insert(*p);
                    }
                }
            }
        }
        if texel.len() == before {
            break;
        }
    }
    // Uses of what was left out must not be narrow either way; their operands are converted, which is always possible.
    let mut keep = texel;
    loop {
        let mut drop = Vec::new();
        for (_, i) in f.ordered() {
            let d = &f.insts[i];
            for a in d.args.iter().filter(|a| keep.contains(a)) {
                let fine = match d.op {
                    Opcode::Output | Opcode::Fcmp => true,
                    _ => d.results.first().is_some_and(|r| keep.contains(r) || f.ty(*r).scalar != Scalar::F32),
                };
                if !fine {
                    drop.push(*a);
                }
            }
            for t in &d.targets {
                for (p, a) in f.blocks[t.block].params.iter().zip(&t.args) {
                    if keep.contains(a) && !keep.contains(p) {
                        drop.push(*a);
                    }
                }
            }
        }
        if drop.is_empty() {
            return keep;
        }
        for v in drop {
            keep.remove(&v);
        }
    }
}

fn rewrite(f: &mut Function, narrow: &BTreeSet<Value>, depth: &BTreeSet<Output>) {
    let half = |ty: Type| ty.with_scalar(Scalar::F16);
    let blocks = f.layout.clone();
    // Types first: definitions may come after uses (loops).
    for v in narrow {
        f.values[*v].0 = half(f.values[*v].0);
    }
    let mut memo = Memo::default();
    for b in blocks {
        let insts = std::mem::take(&mut f.blocks[b].insts);
        let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
        for i in insts {
            let d = f.insts[i].clone();
            let span = f.spans[i];
            let is_narrow = d.results.first().is_some_and(|r| narrow.contains(r));
            let compares = d.op == Opcode::Fcmp && d.args.iter().any(|a| narrow.contains(a));
            if (is_narrow && d.op != Opcode::Tex) || compares {
                for n in 0..d.args.len() {
                    let a = half_of(f, d.args[n], span, &mut memo, &mut out);
                    f.insts[i].args[n] = a;
                }
            }
            for t in 0..d.targets.len() {
                let params = f.blocks[d.targets[t].block].params.clone();
                for (n, p) in params.iter().enumerate() {
                    if narrow.contains(p) {
                        let a = half_of(f, d.targets[t].args[n], span, &mut memo, &mut out);
                        f.insts[i].targets[t].args[n] = a;
                    }
                }
            }
            // The colour output is stored as f16, whatever was computed.
            let colour = matches!(d.imm, Imm::Mem { var: MemRef::Output(o), .. } if !depth.contains(&o));
            if d.op == Opcode::Output && colour && matches!(f.ty(d.args[0]).scalar, Scalar::F32 | Scalar::F16) {
                let v = half_of(f, d.args[0], span, &mut memo, &mut out);
                let ty = f.ty(v).with_scalar(Scalar::F32);
                let n = f.make_inst(InstData::new(Opcode::Fcvt, &[v], Imm::None), &[ty], span);
                out.push(n);
                f.insts[i].args[0] = f.insts[n].results[0];
            }
            out.push(i);
        }
        f.blocks[b].insts = out;
        // Later blocks need not be dominated by this one.
        memo.local.clear();
    }
    // Conversions of inputs and uniforms stand at the start, where they serve every block.
    if let Some(first) = f.entry() {
        f.blocks[first].insts.splice(0..0, memo.early);
    }
}

/// Conversions made so far.
#[derive(Default)]
struct Memo {
    local: BTreeMap<Value, Value>,
    leaves: BTreeMap<(MemRef, u32), Value>,
    early: Vec<Inst>,
}

/// The f16 form of a value, made before the current instruction (or at the program's start).
fn half_of(f: &mut Function, v: Value, span: Span, memo: &mut Memo, out: &mut Vec<Inst>) -> Value {
    if f.ty(v).scalar != Scalar::F32 {
        return v;
    }
    if let Some(h) = memo.local.get(&v) {
        return *h;
    }
    let ty = f.ty(v).with_scalar(Scalar::F16);
    let d = f.def_inst(v).map(|i| f.insts[i].clone());
    let data = match d {
        Some(InstData { op: Opcode::Const, imm: Imm::Const(bits), .. }) => {
            let bits = bits.map(|x| retroshade_ir::numerics::from_f32(Scalar::F16, f32::from_bits(x)));
            InstData::new(Opcode::Const, &[], Imm::Const(bits))
        }
        // Rearrangements are made of the converted whole.
        Some(d) if matches!(d.op, Opcode::Extract | Opcode::Shuffle | Opcode::Splat | Opcode::Build) => {
            let args: Vec<Value> = d.args.iter().map(|a| half_of(f, *a, span, memo, out)).collect();
            InstData::new(d.op, &args, d.imm.clone())
        }
        // What was widened only is there already.
        Some(d) if d.op == Opcode::Fcvt && f.ty(d.args[0]).scalar == Scalar::F16 => return d.args[0],
        Some(d) if matches!(d.op, Opcode::Uniform | Opcode::Input) && d.args.is_empty() => {
            let Imm::Mem { var, offset } = d.imm else { return v };
            if let Some(h) = memo.leaves.get(&(var, offset)) {
                return *h;
            }
            let copy = f.make_inst(InstData { results: Default::default(), ..d }, &[f.ty(v)], span);
            let wide = f.insts[copy].results[0];
            let n = f.make_inst(InstData::new(Opcode::Fcvt, &[wide], Imm::None), &[ty], span);
            memo.early.extend([copy, n]);
            let h = f.insts[n].results[0];
            memo.leaves.insert((var, offset), h);
            return h;
        }
        _ => InstData::new(Opcode::Fcvt, &[v], Imm::None),
    };
    let n = f.make_inst(data, &[ty], span);
    out.push(n);
    let h = f.insts[n].results[0];
    memo.local.insert(v, h);
    h
}

/// Moves implicit samples at unmodified inputs to the entry block: the machine makes them before the program starts.
pub fn preload(m: &mut Module) {
    let entry = m.entry;
    let f = &mut m.functions[entry];
    let Some(first) = f.entry() else { return };
    let mut moved: Vec<Inst> = Vec::new();
    // One read serves all of its type.
    let mut seen: BTreeMap<(Texture, Input, u32, Scalar), Value> = BTreeMap::new();
    for b in f.layout.clone() {
        let insts = f.blocks[b].insts.clone();
        for i in insts {
            if let Some((t, input, offset)) = direct_sample(f, i, &m.textures, &m.inputs) {
                f.blocks[b].insts.retain(|x| *x != i);
                let Some(r) = f.result(i) else { continue };
                let key = (t, input, offset, f.ty(r).scalar);
                if let Some(v) = seen.get(&key) {
                    let v = *v;
                    f.replace(r, v);
                    continue;
                }
                seen.insert(key, r);
                // The coordinate's own input comes along.
                let ty = f.ty(f.insts[i].args[0]);
                let span = f.spans[i];
                let c = f.make_inst(InstData::new(Opcode::Input, &[], Imm::Mem { var: MemRef::Input(input), offset }), &[ty], span);
                let v = f.insts[c].results[0];
                f.insts[i].args[0] = v;
                moved.extend([c, i]);
            }
        }
    }
    let at = &mut f.blocks[first].insts;
    at.splice(0..0, moved);
    f.resolve_aliases();
}

/// A plain 2D sample whose coordinate is an input as it is.
pub fn direct_sample(
    f: &Function,
    i: Inst,
    textures: &cranelift_entity::PrimaryMap<Texture, TextureDecl>,
    inputs: &cranelift_entity::PrimaryMap<Input, IoDecl>,
) -> Option<(Texture, Input, u32)> {
    let d = &f.insts[i];
    let Imm::Tex(info) = &d.imm else { return None };
    let plain = info.op == TexOp::Sample && info.lod == TexLod::Implicit && !info.compare && info.offset == [0; 3];
    let decl = &textures[info.texture];
    if !plain || decl.dim != TexDim::D2 || decl.arrayed || decl.shadow || decl.kind != Scalar::F32 {
        return None;
    }
    let c = f.def_if(*d.args.first()?, Opcode::Input)?;
    let Imm::Mem { var: MemRef::Input(input), offset } = c.imm else { return None };
    let io = &inputs[input];
    let iterated = matches!(varyings::of(io, offset), Ok(Varying::TexCoord(_)));
    (iterated && io.ty == types::F32.with_lanes(2) && c.args.is_empty()).then_some((info.texture, input, offset))
}
