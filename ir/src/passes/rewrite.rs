//! The shared shape of local rewrites: visit every instruction in an order in which definitions come before uses, with a
//! builder that inserts before it.

use crate::analysis::Cfg;
use crate::builder::Builder;
use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::inst::{Imm, InstData};
use crate::numerics::Numerics;
use crate::opcode::Opcode;
use crate::types::Type;
use smallvec::SmallVec;

/// What becomes of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It stays as it is.
    Keep,
    /// It stays, but its data was changed in place.
    Changed,
    /// Its only result is replaced by this value.
    Replace(Value),
    /// It goes away; it had no results, or they were replaced by the caller.
    Remove,
}

/// Visits every reachable instruction, definitions before uses (but for loops' parameters); operands are resolved before
/// each visit. New instructions made by the builder stand before the visited one.
pub fn rewrite(func: &mut Function, visit: impl FnMut(&mut Builder, Inst) -> Action) -> bool {
    rewrite_some(func, |_, _| true, visit)
}

/// As [`rewrite`]; what is not asked for stays as it is, but for its operands.
fn rewrite_some(func: &mut Function, asked: impl Fn(&Function, Inst) -> bool, mut visit: impl FnMut(&mut Builder, Inst) -> Action) -> bool {
    let order = Cfg::new(func).rpo().to_vec();
    let mut changed = false;
    for b in order {
        changed |= rewrite_block(func, b, &asked, &mut visit);
    }
    if changed {
        func.resolve_aliases();
    }
    changed
}

/// As [`rewrite`], but visits instructions of these operations only; nothing happens where there are none.
pub fn rewrite_of(func: &mut Function, ops: &[Opcode], visit: impl FnMut(&mut Builder, Inst) -> Action) -> bool {
    // Operations as bits of a set: this is asked of every instruction.
    const { assert!(Opcode::ALL.len() <= u128::BITS as usize) };
    let set = ops.iter().fold(0u128, |set, op| set | 1 << *op as u32);
    let asked = |f: &Function, i: Inst| set >> f.insts[i].op as u32 & 1 == 1;
    if !func.ordered().any(|(_, i)| asked(func, i)) {
        return false;
    }
    rewrite_some(func, asked, visit)
}

fn rewrite_block(
    func: &mut Function,
    block: Block,
    asked: &impl Fn(&Function, Inst) -> bool,
    visit: &mut impl FnMut(&mut Builder, Inst) -> Action,
) -> bool {
    let old = std::mem::take(&mut func.blocks[block].insts);
    func.blocks[block].insts.reserve(old.len());
    let mut changed = false;
    for i in old {
        resolve_operands(func, i);
        if !asked(func, i) {
            func.blocks[block].insts.push(i);
            continue;
        }
        let span = func.spans[i];
        let relaxed = is_relaxed(func, i, 2);
        let mut b = Builder::new(func, block);
        b.span = span;
        b.relaxed = relaxed;
        let before = b.func.blocks[block].insts.len();
        let action = visit(&mut b, i);
        changed |= action != Action::Keep || func.blocks[block].insts.len() != before;
        match action {
            Action::Keep => func.blocks[block].insts.push(i),
            Action::Changed => {
                func.insts[i].relaxed &= relaxed;
                func.blocks[block].insts.push(i);
            }
            Action::Replace(v) => {
                if let Some(r) = func.result(i) {
                    func.replace(r, v);
                }
            }
            Action::Remove => {}
        }
    }
    changed
}

/// Whether what replaces an instruction may be computed in relaxed precision: it may itself, and so may the arithmetic that it takes its
/// operands from, which the replacement may do over.
fn is_relaxed(func: &Function, i: Inst, depth: u32) -> bool {
    let d = &func.insts[i];
    let operand = |v: &Value| match func.def_inst(*v) {
        Some(of) if depth > 0 && func.insts[of].op.group() == "Float" => is_relaxed(func, of, depth - 1),
        _ => true,
    };
    d.relaxed && d.args.iter().all(operand)
}

/// Resolves the aliases in one instruction's operands and branch arguments.
pub fn resolve_operands(func: &mut Function, i: Inst) {
    if !func.has_aliases() {
        return;
    }
    for n in 0..func.insts[i].args.len() {
        let v = func.resolve(func.insts[i].args[n]);
        func.insts[i].args[n] = v;
    }
    for t in 0..func.insts[i].targets.len() {
        for n in 0..func.insts[i].targets[t].args.len() {
            let v = func.resolve(func.insts[i].targets[t].args[n]);
            func.insts[i].targets[t].args[n] = v;
        }
    }
}

/// A float constant's value if all lanes hold the same one.
pub fn splat_float(func: &Function, v: Value) -> Option<f32> {
    let ty = func.ty(v);
    let bits = splat_bits(func, v)?;
    ty.is_float().then(|| crate::numerics::to_f32(ty.scalar, bits))
}

/// A constant's bits lane by lane; looks through `splat`.
pub fn constant_lanes(func: &Function, v: Value) -> Option<[u32; 4]> {
    if let Some(d) = func.def_if(v, Opcode::Splat) {
        return func.const_bits(d.args[0]).map(|b| [b[0]; 4]);
    }
    func.const_bits(v)
}

/// A constant's bits if all lanes hold the same ones; looks through `splat`.
pub fn splat_bits(func: &Function, v: Value) -> Option<u32> {
    let bits = constant_lanes(func, v)?;
    let lanes = &bits[..func.ty(v).lanes as usize];
    lanes.iter().all(|b| *b == lanes[0]).then_some(lanes[0])
}

/// Evaluates an instruction whose operands are all constant.
pub fn fold(func: &Function, numerics: &dyn Numerics, d: &InstData, ty: Type) -> Option<[u32; 4]> {
    if d.op == Opcode::Undef || d.op == Opcode::Const || d.op == Opcode::Ext {
        return None;
    }
    let mut args: SmallVec<[[u32; 4]; 4]> = SmallVec::new();
    let mut types: SmallVec<[Type; 4]> = SmallVec::new();
    for v in &d.args {
        args.push(func.const_bits(*v)?);
        types.push(func.ty(*v));
    }
    crate::interp::eval(numerics, d.op, &d.imm, ty, &types, &args)
}

/// Turns an instruction into a constant in place.
pub fn make_const(func: &mut Function, i: Inst, bits: [u32; 4]) {
    let d = &mut func.insts[i];
    d.op = Opcode::Const;
    d.args.clear();
    d.imm = Imm::Const(bits);
    d.precise = false;
    d.relaxed = false;
}

/// A value about which nothing is promised.
pub fn make_undef(b: &mut Builder, ty: Type) -> Value {
    b.typed(Opcode::Undef, ty, &[], Imm::None)
}

/// Whether an instruction may be executed where it was not before: no effect, no dependence on other lanes or on memory.
pub fn is_speculatable(d: &InstData) -> bool {
    d.op.effect() == crate::opcode::Effect::Pure
}

/// A rough size of an instruction in machine operations per lane, for cost decisions.
pub fn cost(func: &Function, i: Inst) -> u32 {
    use Opcode::*;
    let d = &func.insts[i];
    let lanes = d.results.first().map_or(1, |r| u32::from(func.ty(*r).lanes));
    let each = match d.op {
        Const | Undef | Splat | Build | Extract | Insert | Shuffle | Input | Bitcast | Jump => 0,
        Uniform if d.args.is_empty() => 0,
        Fneg | Fabs => 0,
        Fdiv | Fsqrt | Fsin | Fcos => 3,
        Fpow => 4,
        Udiv | Sdiv | Urem | Srem => 16,
        Imul | Umulhi | Smulhi => 3,
        Tex => 2,
        _ => 1,
    };
    each * lanes
}
