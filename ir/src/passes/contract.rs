//! Contraction: a product and a sum become one multiply-add. Never where either is `precise`.
//!
//! A product is contracted only if that removes it: every use must be a sum that takes it in.

use super::rewrite::{Action, rewrite_of};
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::opcode::Opcode;
use cranelift_entity::SecondaryMap;

/// What products and sums may become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FpContract {
    /// Nothing.
    #[default]
    None,
    /// `fmad`: the machine's own rounding of the product.
    Fmad,
    /// `fma`: one rounding.
    Fma,
}

/// Runs the pass. With `shared`, a product with several uses is contracted if all of them take it in.
pub fn run(func: &mut Function, how: FpContract, shared: bool) -> bool {
    let op = match how {
        FpContract::None => return false,
        FpContract::Fmad => Opcode::Fmad,
        FpContract::Fma => Opcode::Fma,
    };
    func.resolve_aliases();
    let uses = func.use_counts();
    let product = |v: Value| func.def_if(v, Opcode::Fmul).filter(|d| !d.precise && (shared || uses[v] == 1)).is_some();
    // Which operand each sum takes in, and how many of a product's uses that serves.
    let mut choice: SecondaryMap<Inst, Option<usize>> = SecondaryMap::new();
    let mut served: SecondaryMap<Value, u32> = SecondaryMap::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        if !matches!(d.op, Opcode::Fadd | Opcode::Fsub) || d.precise || d.args[0] == d.args[1] {
            continue;
        }
        // The product used least is the likeliest to disappear; of equals the second, so that chains stay chains.
        if let Some(n) = (0..2).filter(|n| product(d.args[*n])).min_by_key(|n| (uses[d.args[*n]], 1 - *n)) {
            choice[i] = Some(n);
            served[d.args[n]] += 1;
        }
    }
    rewrite_of(func, &[Opcode::Fadd, Opcode::Fsub], |b, i| {
        let Some(n) = choice[i] else { return Action::Keep };
        let d = b.func.insts[i].clone();
        if served[d.args[n]] != uses[d.args[n]] {
            return Action::Keep;
        }
        let Some(m) = b.func.def_if(d.args[n], Opcode::Fmul) else { return Action::Keep };
        let (mut x, y) = (m.args[0], m.args[1]);
        let mut other = d.args[1 - n];
        if d.op == Opcode::Fsub {
            if n == 0 {
                other = b.ins(Opcode::Fneg, &[other]);
            } else {
                x = b.ins(Opcode::Fneg, &[x]);
            }
        }
        Action::Replace(b.ins(op, &[x, y, other]))
    })
}
