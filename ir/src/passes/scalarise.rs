//! Scalarisation: lane-wise vector operations become scalar ones, vector parameters of blocks become scalar parameters.
//!
//! Vectors remain where they are interface: loads of several lanes, stores, textures, packing. The other way round,
//! `dead_lanes` narrows vector operations of whose lanes only the first few are used.

use super::rewrite::{Action, rewrite};
use super::simplify::is_lanewise;
use super::simplify::{LaneSource, trace};
use crate::analysis::Cfg;
use crate::builder::Builder;
use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::inst::{Imm, InstData};
use crate::opcode::Opcode;
use crate::types::Scalar;
use smallvec::SmallVec;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    func.resolve_aliases();
    let mut changed = params(func);
    changed |= super::dot::expand(func);
    changed |= rewrite(func, visit);
    changed
}

/// One lane of a value, looking through whatever built it.
pub fn lane_of(b: &mut Builder, v: Value, lane: u8) -> Value {
    if !b.func.ty(v).is_vector() {
        return v;
    }
    match trace(b.func, v, lane) {
        LaneSource::Scalar(s) => s,
        LaneSource::Const(bits) => {
            let ty = b.func.ty(v).lane();
            b.splat_const(ty, bits)
        }
        LaneSource::Lane(w, n) => b.extract(w, n),
    }
}

fn visit(b: &mut Builder, i: Inst) -> Action {
    use Opcode::*;
    let d = &b.func.insts[i];
    let [result] = d.results[..] else { return Action::Keep };
    let ty = b.func.ty(result);
    b.precise = d.precise;
    if !ty.is_vector() && !matches!(d.op, Any | All) {
        return Action::Keep;
    }
    let d = d.clone();
    match d.op {
        Any | All if b.func.ty(d.args[0]).is_vector() => {
            let lanes = b.func.ty(d.args[0]).lanes;
            let mut all = lane_of(b, d.args[0], 0);
            for n in 1..lanes {
                let x = lane_of(b, d.args[0], n);
                all = b.ins(if d.op == Any { Ior } else { Iand }, &[all, x]);
            }
            Action::Replace(all)
        }
        Splat | Insert | Shuffle if ty.is_vector() => {
            let lanes: SmallVec<[Value; 4]> = (0..ty.lanes).map(|n| lane_of(b, result, n)).collect();
            Action::Replace(b.build(&lanes))
        }
        _ if ty.is_vector() && (is_lanewise(d.op) || d.op == Bitcast && same_words(b.func, &d, result)) => {
            let lanes: SmallVec<[Value; 4]> = (0..ty.lanes)
                .map(|n| {
                    let args: SmallVec<[Value; 4]> = d.args.iter().map(|a| lane_of(b, *a, n)).collect();
                    b.typed(d.op, ty.lane(), &args, d.imm.clone())
                })
                .collect();
            Action::Replace(b.build(&lanes))
        }
        _ => Action::Keep,
    }
}

fn same_words(func: &Function, d: &InstData, result: Value) -> bool {
    func.ty(d.args[0]).lanes == func.ty(result).lanes && func.ty(d.args[0]).scalar != Scalar::F16 && func.ty(result).scalar != Scalar::F16
}

/// Splits vector parameters of blocks (but not those of the function).
fn params(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let mut changed = false;
    for b in cfg.rpo().to_vec() {
        if Some(b) == func.entry() || !func.blocks[b].params.iter().any(|p| func.ty(*p).is_vector()) {
            continue;
        }
        changed = true;
        let old = std::mem::take(&mut func.blocks[b].params);
        let mut front: Vec<Inst> = Vec::new();
        for p in &old {
            let ty = func.ty(*p);
            if !ty.is_vector() {
                // Keeps its value, at its new place.
                let n = func.blocks[b].params.len() as u16;
                func.values[*p].1 = crate::function::ValueDef::Param(b, n);
                func.blocks[b].params.push(*p);
                continue;
            }
            let lanes: SmallVec<[Value; 4]> = (0..ty.lanes).map(|_| func.add_param(b, ty.lane())).collect();
            let i = func.make_inst(InstData::new(Opcode::Build, &lanes, Imm::None), &[ty], crate::diag::Span::NONE);
            front.push(i);
            if let Some(r) = func.result(i) {
                func.replace(*p, r);
            }
        }
        front.append(&mut func.blocks[b].insts);
        func.blocks[b].insts = front;
        for e in cfg.preds(b) {
            split_arguments(func, e.from, e.target as usize, &old);
        }
    }
    if changed {
        func.resolve_aliases();
    }
    changed
}

/// Splits the arguments of one edge like the parameters `old`.
fn split_arguments(func: &mut Function, from: Block, target: usize, old: &[Value]) {
    let Some(t) = func.blocks[from].insts.pop() else { return };
    let args = std::mem::take(&mut func.insts[t].targets[target].args);
    let span = func.spans[t];
    let mut b = Builder::new(func, from);
    b.span = span;
    let mut new: SmallVec<[Value; 4]> = SmallVec::new();
    for (a, _) in args.iter().zip(old) {
        let a = b.func.resolve(*a);
        for n in 0..b.func.ty(a).lanes {
            let v = lane_of(&mut b, a, n);
            new.push(v);
        }
    }
    func.insts[t].targets[target].args = new;
    func.blocks[from].insts.push(t);
}

/// Narrows lane-wise vector operations and loads all of whose uses are extracts of, or shuffles from, the first lanes.
pub fn dead_lanes(func: &mut Function) -> bool {
    func.resolve_aliases();
    // The number of leading lanes that someone reads.
    let mut needed: cranelift_entity::SecondaryMap<Value, u8> = cranelift_entity::SecondaryMap::new();
    let order: Vec<Inst> = Cfg::new(func).rpo().iter().flat_map(|b| func.blocks[*b].insts.clone()).collect();
    for i in order.iter().rev() {
        let d = &func.insts[*i];
        for t in &d.targets {
            for v in &t.args {
                needed[*v] = func.ty(*v).lanes;
            }
        }
        let own = d.results.first().map_or(0, |r| needed[*r]);
        for (n, v) in d.args.iter().enumerate() {
            let lanes = func.ty(*v).lanes;
            let used = match (d.op, &d.imm) {
                (Opcode::Extract, Imm::Lane(l)) => l + 1,
                (Opcode::Shuffle, Imm::Lanes(mask)) => {
                    let width = func.ty(d.args[0]).lanes;
                    let mine = |m: &u8| if n == 0 { (*m < width).then_some(*m) } else { m.checked_sub(width) };
                    mask.iter().filter_map(mine).max().map_or(0, |m| m + 1)
                }
                _ if is_lanewise(d.op) && lanes > 1 => own,
                _ => lanes,
            };
            needed[*v] = needed[*v].max(used.min(lanes));
        }
    }
    rewrite(func, |b, i| {
        let d = &b.func.insts[i];
        let [result] = d.results[..] else { return Action::Keep };
        let ty = b.func.ty(result);
        let keep = needed[result].max(1);
        if !ty.is_vector() || keep >= ty.lanes || !is_lanewise(d.op) {
            return Action::Keep;
        }
        let d = d.clone();
        b.precise = d.precise;
        let args: SmallVec<[Value; 4]> = d.args.iter().map(|a| if b.func.ty(*a).is_vector() { narrow(b, *a, keep) } else { *a }).collect();
        let small = b.typed(d.op, ty.with_lanes(keep), &args, d.imm.clone());
        // The old width for whoever names it; the extra lanes are don't-cares.
        let mask: SmallVec<[u8; 4]> = (0..ty.lanes).map(|n| n.min(keep - 1)).collect();
        Action::Replace(if keep == 1 { b.splat(small, ty.lanes) } else { b.shuffle(small, small, &mask) })
    })
}

fn narrow(b: &mut Builder, v: Value, lanes: u8) -> Value {
    if lanes == 1 {
        return lane_of(b, v, 0);
    }
    if let Some(mut bits) = b.func.const_bits(v) {
        let ty = b.func.ty(v).with_lanes(lanes);
        bits[lanes as usize..].fill(0);
        return b.constant(ty, bits);
    }
    let mask: SmallVec<[u8; 4]> = (0..lanes).collect();
    b.shuffle(v, v, &mask)
}
