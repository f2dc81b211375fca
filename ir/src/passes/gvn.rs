//! Global value numbering over the dominator tree: a pure instruction that a dominating one already computed is replaced.
//!
//! Loads from memory and operations that depend on neighbouring lanes are merged only within a block, loads only where no
//! write lies between.

use crate::analysis::{Cfg, DomTree};
use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::inst::{Imm, InstData, MemRef};
use crate::opcode::{Effect, Opcode};
use crate::passes::simplify_cfg::drop_param;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A computation that later ones may be equal to.
#[derive(Clone, Copy)]
struct Seen {
    inst: Inst,
    result: Value,
    /// Where it stands, and the number of writes before it in that block.
    block: Block,
    writes: u32,
    /// Of what equal ones agree in.
    hash: u64,
}

/// Whether the first two operands stand the other way round in the form that is compared: that with the lower one first, where that is as good.
#[inline]
fn is_turned(d: &InstData) -> bool {
    (d.op.is_commutative() || matches!(d.op, Opcode::Fcmp | Opcode::Icmp)) && d.args[0] > d.args[1]
}

/// The immediate data as it is when the operands are exchanged.
fn turned(imm: &Imm) -> Imm {
    match imm {
        Imm::FloatCC(cc) => Imm::FloatCC(cc.swapped()),
        Imm::IntCC(cc) => Imm::IntCC(cc.swapped()),
        other => other.clone(),
    }
}

#[inline]
fn hash(func: &Function, d: &InstData, result: Value) -> u64 {
    let mut h = FxHasher::default();
    let ty = func.ty(result);
    h.write_u32(u32::from_le_bytes([d.op as u8, ty.scalar as u8, ty.lanes, d.precise.into()]));
    let turn = is_turned(d);
    match d.args[..] {
        [a, b, ref rest @ ..] => {
            let (a, b) = if turn { (b, a) } else { (a, b) };
            h.write_u64(u64::from(a.as_u32()) << 32 | u64::from(b.as_u32()));
            rest.iter().for_each(|v| h.write_u32(v.as_u32()));
        }
        [a] => h.write_u32(a.as_u32()),
        [] => {}
    }
    match &d.imm {
        imm @ (Imm::FloatCC(_) | Imm::IntCC(_)) if turn => turned(imm).add_to(&mut h),
        imm => imm.add_to(&mut h),
    }
    h.finish()
}

/// Whether two computations give the same.
fn equal(func: &Function, x: &Seen, y: &Seen) -> bool {
    let (p, q) = (&func.insts[x.inst], &func.insts[y.inst]);
    let (turn_p, turn_q) = (is_turned(p), is_turned(q));
    p.op == q.op
        && p.precise == q.precise
        && func.ty(x.result) == func.ty(y.result)
        && match (&p.args[..], &q.args[..]) {
            ([a, b, rest @ ..], [c, d, others @ ..]) => {
                (if turn_p == turn_q { (a, b) == (c, d) } else { (a, b) == (d, c) }) && rest == others
            }
            (a, b) => a == b,
        }
        && if turn_p == turn_q { p.imm == q.imm } else { p.imm == turned(&q.imm) }
        && match p.op.effect() {
            Effect::Pure => true,
            Effect::Read => (x.block, x.writes) == (y.block, y.writes),
            _ => x.block == y.block,
        }
}

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    func.resolve_aliases();
    let cfg = Cfg::new(func);
    let dom = DomTree::new(func, &cfg);
    // Only ever looked up, never iterated: what stands where cannot reach the output.
    let mut seen: HashTable<Seen> = HashTable::with_capacity(func.inst_count());
    let mut changed = false;
    for block in dom.preorder() {
        let mut writes = 0;
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        insts.retain(|i| {
            let inst = *i;
            func.resolve_operands(inst);
            let d = &func.insts[inst];
            let effect = d.op.effect();
            if effect == Effect::Write {
                writes += 1;
            }
            let (Effect::Pure | Effect::Convergent | Effect::Read, [result]) = (effect, &d.results[..]) else { return true };
            let (result, relaxed) = (*result, d.relaxed);
            let new = Seen { inst, result, block, writes, hash: hash(func, d, result) };
            let mut old = match seen.entry(new.hash, |old| equal(func, old, &new), |s| s.hash) {
                Entry::Occupied(old) => old,
                Entry::Vacant(place) => {
                    place.insert(new);
                    return true;
                }
            };
            // What a finished subtree left behind dominates nothing that comes later.
            if !dom.dominates(old.get().block, block) {
                *old.get_mut() = new;
                return true;
            }
            let old = *old.get();
            func.insts[old.inst].relaxed &= relaxed;
            func.replace(result, old.result);
            changed = true;
            false
        });
        func.blocks[block].insts = insts;
    }
    changed |= same_arguments(func, &cfg);
    if changed {
        func.resolve_aliases();
    }
    changed
}

/// Two parameters of a block that always get equal arguments are one.
fn same_arguments(func: &mut Function, cfg: &Cfg) -> bool {
    let mut changed = false;
    for b in cfg.rpo() {
        let params = func.blocks[*b].params.clone();
        if params.len() < 2 || params.len() > 64 || cfg.preds(*b).is_empty() {
            continue;
        }
        // The last ones first: the places of those before stay what they are.
        for n in (1..params.len()).rev() {
            for m in 0..n {
                let equal = func.ty(params[m]) == func.ty(params[n])
                    && func.resolve(params[m]) == params[m]
                    && cfg.preds(*b).iter().all(|e| {
                        let args = &func.successors(e.from)[e.target as usize].args;
                        let (x, y) = (func.resolve(args[m]), func.resolve(args[n]));
                        x == y || (x == params[m] && y == params[n])
                    });
                if equal {
                    drop_param(func, cfg, *b, n);
                    func.replace(params[n], params[m]);
                    changed = true;
                    break;
                }
            }
        }
    }
    changed
}

/// Whether an instruction's memory is written somewhere by the function.
pub fn is_written(func: &Function, var: MemRef) -> bool {
    func.ordered().any(|(_, i)| {
        let d = &func.insts[i];
        d.op.effect() == Effect::Write && matches!(&d.imm, Imm::Mem { var: v, .. } | Imm::Atomic { var: v, .. } if *v == var)
    })
}
