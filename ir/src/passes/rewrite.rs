//! The shared shape of local rewrites: visit every instruction in an order in which definitions come before uses, with a
//! builder that inserts before it.

use crate::analysis::cfg::reverse_post_order;
use crate::builder::Builder;
use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::inst::{Imm, InstData};
use crate::numerics::Numerics;
use crate::opcode::Opcode;
use crate::types::Type;
use cranelift_entity::EntitySet;
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

/// What came of an instruction that was visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing at all.
    Left,
    /// It stays as it is, but others were made on the way.
    Open,
    /// It stays, but is another one now.
    Changed,
    /// It is there no more.
    Gone,
}

/// Which instructions are visited.
pub(crate) trait Choice {
    /// Whether this one is; asked once of each in the order of visits, when its operands are resolved.
    fn asks(&mut self, func: &Function, i: Inst) -> bool;
    /// Tells what came of one that was.
    fn saw(&mut self, _: &Function, _: Inst, _: Outcome) {}
}

impl<F: FnMut(&Function, Inst) -> bool> Choice for F {
    fn asks(&mut self, func: &Function, i: Inst) -> bool {
        self(func, i)
    }
}

/// Visits every reachable instruction, definitions before uses (but for loops' parameters); operands are resolved before
/// each visit. New instructions made by the builder stand before the visited one.
pub fn rewrite(func: &mut Function, visit: impl FnMut(&mut Builder, Inst) -> Action) -> bool {
    rewrite_chosen(func, &mut |_: &Function, _: Inst| true, visit)
}

/// As [`rewrite`]; what is not chosen stays as it is, but for its operands.
pub(crate) fn rewrite_chosen(func: &mut Function, choice: &mut impl Choice, visit: impl FnMut(&mut Builder, Inst) -> Action) -> bool {
    rewrite_where(func, |_| true, choice, visit)
}

/// As [`rewrite_chosen`], where only some blocks have anything that may be chosen: elsewhere only operands that were replaced are of interest.
fn rewrite_where(
    func: &mut Function,
    wanted: impl Fn(Block) -> bool,
    choice: &mut impl Choice,
    mut visit: impl FnMut(&mut Builder, Inst) -> Action,
) -> bool {
    let mut changed = false;
    for b in reverse_post_order(func) {
        if wanted(b) || func.has_aliases() {
            changed |= rewrite_block(func, b, choice, &mut visit);
        }
    }
    if changed {
        func.resolve_aliases();
    }
    changed
}

/// As [`rewrite`], but visits instructions of these operations only; nothing happens where there are none.
pub fn rewrite_of(func: &mut Function, ops: &[Opcode], visit: impl FnMut(&mut Builder, Inst) -> Action) -> bool {
    // This is asked of every instruction.
    let mut wants = [false; Opcode::ALL.len()];
    ops.iter().for_each(|op| wants[*op as usize] = true);
    let mut asked = |f: &Function, i: Inst| wants[f.insts[i].op as usize];
    let mut wanted: EntitySet<Block> = EntitySet::new();
    wanted.extend(func.layout.iter().copied().filter(|b| func.blocks[*b].insts.iter().any(|i| asked(func, *i))));
    if wanted.is_empty() {
        return false;
    }
    rewrite_where(func, |b| wanted.contains(b), &mut asked, visit)
}

fn rewrite_block(
    func: &mut Function,
    block: Block,
    choice: &mut impl Choice,
    visit: &mut impl FnMut(&mut Builder, Inst) -> Action,
) -> bool {
    let mut old = std::mem::take(&mut func.blocks[block].insts);
    // What stands before the first one that is visited stays where it is.
    let mut asked = false;
    let mut stays = |i: &Inst| {
        !func.has_aliases() && {
            asked = choice.asks(func, *i);
            !asked
        }
    };
    let first = old.iter().position(|i| !stays(i)).unwrap_or(old.len());
    let rest = old.split_off(first);
    old.reserve(rest.len());
    func.blocks[block].insts = old;
    let mut changed = false;
    for i in rest {
        func.resolve_operands(i);
        if !std::mem::take(&mut asked) && !choice.asks(func, i) {
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
        let alone = func.blocks[block].insts.len() == before;
        changed |= action != Action::Keep || !alone;
        let outcome = match action {
            Action::Keep => {
                func.blocks[block].insts.push(i);
                if alone { Outcome::Left } else { Outcome::Open }
            }
            Action::Changed => {
                func.insts[i].relaxed &= relaxed;
                func.blocks[block].insts.push(i);
                Outcome::Changed
            }
            Action::Replace(v) => {
                if let Some(r) = func.result(i) {
                    func.replace(r, v);
                }
                Outcome::Gone
            }
            Action::Remove => Outcome::Gone,
        };
        choice.saw(func, i, outcome);
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
