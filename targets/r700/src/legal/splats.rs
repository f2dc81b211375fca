//! Where a vector is chosen again and again, and what it is chosen against has one value in all lanes, as a `switch` makes it that
//! gives a colour: the single values are chosen from among themselves, and the vector once.

use retroshade_ir::passes::rewrite::{Action, rewrite_of};
use retroshade_ir::{Function, Inst, Opcode, Value};
use std::collections::BTreeMap;

/// Lanes from which on a choice and a condition more cost less than a choice in each.
const LANES: usize = 3;

/// Joins pairs of choices once; what is equal in several lanes is made for each of them.
pub fn run(func: &mut Function) -> bool {
    let uses = func.use_counts();
    let mut lanes: BTreeMap<[Value; 4], usize> = BTreeMap::new();
    for (_, i) in func.ordered() {
        if let Some((pair, _)) = pair(func, i) {
            *lanes.entry(pair).or_default() += 1;
        }
    }
    lanes.retain(|_, n| *n >= LANES);
    !lanes.is_empty()
        && rewrite_of(func, &[Opcode::Select], |b, i| {
            let only = uses[b.func.insts[i].args[2]] == 1;
            let Some((key, rest)) = pair(b.func, i).filter(|(p, _)| only && lanes.contains_key(p)) else { return Action::Keep };
            let [first, x, second, y] = key;
            let (either, value) = (b.ins(Opcode::Ior, &[first, second]), b.select(first, x, y));
            Action::Replace(b.select(either, value, rest))
        })
}

/// Two choices of a lane one after the other: their conditions and what they give, and what there is else.
fn pair(f: &Function, i: Inst) -> Option<([Value; 4], Value)> {
    let outer = &f.insts[i];
    if outer.op != Opcode::Select || outer.results.first().is_none_or(|r| f.ty(*r).lanes > 1) {
        return None;
    }
    let inner = f.def_if(outer.args[2], Opcode::Select)?;
    Some(([outer.args[0], outer.args[1], inner.args[0], inner.args[1]].map(|v| f.resolve(v)), inner.args[2]))
}
