//! Derivatives of single numbers, up to four of them in one fetch: GET_GRADIENTS_H and _V take and give four channels.

use cranelift_entity::SecondaryMap;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::types::F32;
use retroshade_ir::{Block, Function, Imm, Inst, Opcode, Value};
use std::collections::BTreeMap;

/// Derivatives along one axis that are taken together.
struct Group {
    op: Opcode,
    /// The place of the first one in its block.
    at: usize,
    /// Values, and the lane of those that are vectors.
    sources: Vec<(Value, Option<u8>)>,
}

/// What a number is a lane of.
fn root(func: &Function, v: Value) -> (Value, Option<u8>) {
    match func.def_if(v, Opcode::Extract) {
        Some(d) => match d.imm {
            Imm::Lane(lane) => (d.args[0], Some(lane)),
            _ => (v, None),
        },
        None => (v, None),
    }
}

/// Takes derivatives together where all sources are there before the first of them.
pub fn gather(func: &mut Function) -> bool {
    let is_derivative =
        |f: &Function, i: Inst| matches!(f.insts[i].op, Opcode::Ddx | Opcode::Ddy) && f.result(i).is_some_and(|r| f.ty(r) == F32);
    if func.ordered().filter(|(_, i)| is_derivative(func, *i)).nth(1).is_none() {
        return false;
    }
    let mut places: SecondaryMap<Inst, Option<(Block, usize)>> = SecondaryMap::new();
    for b in &func.layout {
        func.blocks[*b].insts.iter().enumerate().for_each(|(n, i)| places[*i] = Some((*b, n)));
    }
    let mut members: BTreeMap<Inst, (usize, u8)> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for b in &func.layout {
        let before = groups.len();
        for (n, i) in func.blocks[*b].insts.iter().enumerate().filter(|(_, i)| is_derivative(func, **i)) {
            let (op, source) = (func.insts[*i].op, root(func, func.insts[*i].args[0]));
            let made = func.def_inst(source.0).and_then(|d| places[d]).filter(|d| d.0 == *b).map(|d| d.1);
            let free = |g: &Group| g.op == op && g.sources.len() < 4 && made.is_none_or(|m| m < g.at);
            let k = (before..groups.len()).find(|k| free(&groups[*k])).unwrap_or_else(|| {
                groups.push(Group { op, at: n, sources: Vec::new() });
                groups.len() - 1
            });
            members.insert(*i, (k, groups[k].sources.len() as u8));
            groups[k].sources.push(source);
        }
    }
    let mut taken: Vec<Option<Value>> = vec![None; groups.len()];
    rewrite(func, |b, i| {
        let Some((k, lane)) = members.get(&i).copied().filter(|m| groups[m.0].sources.len() > 1) else { return Action::Keep };
        let whole = taken[k].unwrap_or_else(|| {
            let lanes: Vec<Value> = groups[k].sources.iter().map(|(v, lane)| lane.map_or(*v, |lane| b.extract(*v, lane))).collect();
            let source = b.build(&lanes);
            b.ins(groups[k].op, &[source])
        });
        taken[k] = Some(whole);
        Action::Replace(b.extract(whole, lane))
    })
}
