//! Dot-product formation: sums of products in order become `dot`, for machines that have it.
//!
//! `dot` sums the first lane first, as the chain did; a machine that sums otherwise shows that in its `Numerics::dot`.
//! Never on `precise`, and only explicitly asked for.

use super::rewrite::{Action, rewrite, rewrite_of};
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::opcode::Opcode;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Runs the pass: chains of at least `least` scalar products (2 to 4) are rewritten.
pub fn run(func: &mut Function, least: usize) -> bool {
    func.resolve_aliases();
    let uses = func.use_counts();
    // A link of a longer chain is not a chain of its own: find all chains, longest first by visiting users before definitions.
    let mut chains: SecondaryMap<Inst, Option<Vec<(Value, Value)>>> = SecondaryMap::new();
    let mut taken: EntitySet<Inst> = EntitySet::new();
    let order: Vec<Inst> = func.ordered().map(|(_, i)| i).collect();
    for i in order.iter().rev() {
        if taken.contains(*i) {
            continue;
        }
        if let Some((products, links)) = chain(func, *i, &uses)
            && products.len() >= least.max(2)
        {
            for l in links {
                taken.insert(l);
            }
            chains[*i] = Some(products);
        }
    }
    if chains.values().all(Option::is_none) {
        return false;
    }
    rewrite(func, |b, i| {
        let Some(products) = &chains[i] else { return Action::Keep };
        let (xs, ys): (Vec<Value>, Vec<Value>) = products.iter().copied().unzip();
        let x = b.build(&xs);
        let y = b.build(&ys);
        Action::Replace(b.ins(Opcode::Dot, &[x, y]))
    })
}

/// The factors of each product, and the instructions that a chain consists of.
type Chain = (Vec<(Value, Value)>, Vec<Inst>);

/// The products of a chain `((a0 b0 + a1 b1) + a2 b2) + a3 b3` that ends in an instruction, and the instructions in it.
fn chain(func: &Function, i: Inst, uses: &SecondaryMap<Value, u32>) -> Option<Chain> {
    let top = func.result(i)?;
    if func.ty(top).is_vector() || !func.ty(top).is_float() {
        return None;
    }
    let inner = |v: Value, op: Opcode| func.def_inst(v).filter(|d| func.insts[*d].op == op && !func.insts[*d].precise && uses[v] == 1);
    let mut products = Vec::new();
    let mut links = Vec::new();
    let mut at = i;
    loop {
        let d = &func.insts[at];
        if d.precise || products.len() == 4 {
            return None;
        }
        let rest = match d.op {
            Opcode::Fadd => {
                let (n, m) = (1..=1).chain(0..=0).find_map(|n| Some((n, inner(d.args[n], Opcode::Fmul)?)))?;
                products.push((func.insts[m].args[0], func.insts[m].args[1]));
                links.push(m);
                d.args[1 - n]
            }
            Opcode::Fma | Opcode::Fmad => {
                products.push((d.args[0], d.args[1]));
                d.args[2]
            }
            _ => return None,
        };
        if let Some(m) = inner(rest, Opcode::Fmul) {
            if products.len() == 4 {
                return None;
            }
            products.push((func.insts[m].args[0], func.insts[m].args[1]));
            links.push(m);
            products.reverse();
            return Some((products, links));
        }
        at = inner(rest, Opcode::Fadd).or_else(|| inner(rest, Opcode::Fmad)).or_else(|| inner(rest, Opcode::Fma))?;
        links.push(at);
    }
}

/// The reverse: `dot` becomes products and sums, first lane first, for machines without it (and for scalar ones).
pub fn expand(func: &mut Function) -> bool {
    rewrite_of(func, &[Opcode::Dot], |b, i| {
        let d = b.func.insts[i].clone();
        b.precise = d.precise;
        let lanes = b.func.ty(d.args[0]).lanes;
        let mut sum = None;
        for n in 0..lanes {
            let x = b.extract(d.args[0], n);
            let y = b.extract(d.args[1], n);
            let p = b.ins(Opcode::Fmul, &[x, y]);
            sum = Some(match sum {
                None => p,
                Some(s) => b.ins(Opcode::Fadd, &[s, p]),
            });
        }
        sum.map_or(Action::Keep, Action::Replace)
    })
}
