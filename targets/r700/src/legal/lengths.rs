//! A vector that is normalised may come in any length: a factor that all its lanes share goes. The right hand of a camera is
//! `normalize(cross(forward, up))`, whose length needs not wait for that of the view.
//!
//! Runs where contraction is allowed, never on `precise`.

use super::algebra::square_lanes;
use crate::select::root;
use retroshade_ir::passes::rewrite::{Action, rewrite_of};
use retroshade_ir::types::F32;
use retroshade_ir::{Builder, Function, InstData, Opcode, Value};

/// How many operations a factor is followed through.
const DEPTH: u32 = 4;

/// Runs over a function.
pub fn run(func: &mut Function) -> bool {
    let uses = func.use_counts();
    rewrite_of(func, &[Opcode::Fmul], |b, i| {
        let d = b.func.insts[i].clone();
        let only = |v: Value| uses[v] == 1;
        match [(0, 1), (1, 0)].into_iter().find_map(|(x, r)| freed(b.func, &d, x, r, &only)) {
            Some(found) => Action::Replace(found.build(b)),
            None => Action::Keep,
        }
    })
}

/// A lane of a normalised vector without the factor that all lanes share.
struct Freed {
    lane: Value,
    /// All lanes.
    all: Vec<Value>,
    by: Value,
}

impl Freed {
    fn build(&self, b: &mut Builder<'_>) -> Value {
        let all: Vec<Value> = self.all.iter().map(|v| without(b, *v, self.by)).collect();
        let mut sum = None;
        for x in all.iter().copied() {
            sum = Some(match sum {
                None => b.ins(Opcode::Fmul, &[x, x]),
                Some(s) => b.ins(Opcode::Fmad, &[x, x, s]),
            });
        }
        let length = match (sum, &all[..]) {
            (Some(sum), [_, _] | [_]) => sum,
            _ => {
                let v = b.build(&all);
                b.ins(Opcode::Dot, &[v, v])
            }
        };
        let r = b.ins(Opcode::Frsqrt, &[length]);
        let lane = without(b, self.lane, self.by);
        b.ins(Opcode::Fmul, &[lane, r])
    }
}

/// The product of a lane and the reciprocal length, if a factor of all lanes can go.
fn freed(f: &Function, d: &InstData, x: usize, r: usize, only: &dyn Fn(Value) -> bool) -> Option<Freed> {
    let (lane, r) = (f.resolve(d.args[x]), f.def_if(d.args[r], Opcode::Frsqrt)?);
    if d.precise || r.precise || f.ty(lane) != F32 {
        return None;
    }
    let all: Vec<Value> = square_lanes(f, r.args[0]).into_iter().map(|(v, _)| v).collect();
    let plain = |v: Value| f.def_if(v, Opcode::Fneg).map_or(v, |n| root(f, n.args[0], 0).0);
    if all.len() < 2 || all.iter().any(|v| f.ty(*v) != F32) || !all.iter().any(|v| plain(*v) == plain(lane)) {
        return None;
    }
    let scales = scales(f, lane, DEPTH);
    let by = scales.into_iter().find(|by| all.iter().all(|v| has(f, *v, *by, DEPTH, only)))?;
    Some(Freed { lane, all, by })
}

/// The reciprocal lengths that are factors within a value: they are positive.
fn scales(f: &Function, v: Value, depth: u32) -> Vec<Value> {
    let Some(d) = f.def_inst(v).map(|i| &f.insts[i]).filter(|d| !d.precise && depth > 0) else { return Vec::new() };
    match d.op {
        Opcode::Fneg | Opcode::Fmul | Opcode::Fmad | Opcode::Fadd | Opcode::Fsub => {
            let own = d.args.iter().map(|a| f.resolve(*a)).filter(|a| d.op == Opcode::Fmul && f.def_if(*a, Opcode::Frsqrt).is_some());
            own.chain(d.args.iter().flat_map(|a| scales(f, *a, depth - 1))).collect()
        }
        _ => Vec::new(),
    }
}

/// What a product with the scale is without it.
fn leaf(f: &Function, v: Value, by: Value) -> Option<Value> {
    let d = f.def_if(v, Opcode::Fmul).filter(|d| !d.precise)?;
    [(0, 1), (1, 0)].into_iter().find(|(_, k)| f.resolve(d.args[*k]) == by).map(|(x, _)| d.args[x])
}

/// Whether a value is proportional to the scale, by operations that nobody else needs.
fn has(f: &Function, v: Value, by: Value, depth: u32, only: &dyn Fn(Value) -> bool) -> bool {
    if leaf(f, v, by).is_some() {
        return true;
    }
    let Some(d) = f.def_inst(v).map(|i| &f.insts[i]).filter(|d| !d.precise && depth > 0) else { return false };
    let arg = |k: usize| (only(d.args[k]) || leaf(f, d.args[k], by).is_some()) && has(f, d.args[k], by, depth - 1, only);
    match d.op {
        Opcode::Fneg => arg(0),
        Opcode::Fmul => arg(0) || arg(1),
        Opcode::Fadd | Opcode::Fsub => arg(0) && arg(1),
        Opcode::Fmad => (arg(0) || arg(1)) && arg(2),
        _ => false,
    }
}

/// What is proportional to the scale, without it.
fn without(b: &mut Builder<'_>, v: Value, by: Value) -> Value {
    if let Some(x) = leaf(b.func, v, by) {
        return x;
    }
    let Some(d) = b.func.def_inst(v).map(|i| b.func.insts[i].clone()) else { return v };
    let mut args: Vec<Value> = d.args.iter().copied().collect();
    let all = match d.op {
        // Of a product one factor loses it.
        Opcode::Fmul | Opcode::Fmad => {
            let k = usize::from(!has(b.func, args[0], by, DEPTH, &|_| true));
            args[k] = without(b, args[k], by);
            2..args.len()
        }
        _ => 0..args.len(),
    };
    for k in all {
        args[k] = without(b, args[k], by);
    }
    b.ins(d.op, &args)
}
