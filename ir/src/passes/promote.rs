//! Promotion of memory to values: elements of local arrays that are only accessed at constant places, and outputs that are
//! stored more than once; and forwarding of stores to loads for the arrays that stay.
//!
//! Parameters are placed at every join where the variable is live; those that turn out redundant are removed afterwards.

use crate::analysis::Cfg;
use crate::entities::{Block, Inst, Local, Output, Value};
use crate::function::Function;
use crate::inst::{Imm, InstData, MemRef};
use crate::module::{Module, Stage};
use crate::opcode::Opcode;
use crate::types::Type;
use cranelift_entity::{EntitySet, SecondaryMap};
use std::collections::{BTreeMap, BTreeSet};

/// Promotes local arrays and forwards stores.
pub fn run(func: &mut Function) -> bool {
    super::dce::drop_unreachable(func);
    func.resolve_aliases();
    let mut changed = promote_locals(func);
    changed |= forward(func);
    changed
}

/// Promotes outputs that several places store. Only in the entry, if functions that it calls store none, and not where vertices are
/// emitted.
pub fn outputs(module: &mut Module) -> bool {
    let others = module.functions.iter().filter(|(id, _)| *id != module.entry);
    let elsewhere = others.flat_map(|(_, f)| f.ordered().map(|(_, i)| f.insts[i].op)).any(|op| op == Opcode::Output);
    if module.stage == Stage::Geometry || elsewhere {
        return false;
    }
    let types: SecondaryMap<Output, Option<Type>> = {
        let mut m = SecondaryMap::new();
        for (o, d) in &module.outputs {
            m[o] = Some(d.ty);
        }
        m
    };
    let func = module.main_mut();
    super::dce::drop_unreachable(func);
    func.resolve_aliases();
    let mut stores: BTreeMap<(Output, u32), u32> = BTreeMap::new();
    let mut dynamic: EntitySet<Output> = EntitySet::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        if let (Opcode::Output, Imm::Mem { var: MemRef::Output(o), offset }) = (d.op, &d.imm) {
            *stores.entry((*o, *offset)).or_default() += 1;
            if d.args.len() > 1 || types[*o] != Some(func.ty(d.args[0])) {
                dynamic.insert(*o);
            }
        }
    }
    let vars: Vec<Variable> = stores
        .into_iter()
        .filter(|((o, _), n)| *n > 1 && !dynamic.contains(*o))
        .filter_map(|((o, offset), _)| Some(Variable { var: MemRef::Output(o), offset, ty: types[o]? }))
        .collect();
    promote(func, &vars)
}

struct Variable {
    var: MemRef,
    offset: u32,
    ty: Type,
}

fn promote_locals(func: &mut Function) -> bool {
    if func.locals.is_empty() {
        return false;
    }
    let folded = constant_indices(func);
    let mut bad: EntitySet<Local> = EntitySet::new();
    let mut seen: BTreeMap<(Local, u32), ()> = BTreeMap::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        let (Opcode::LocalLoad | Opcode::LocalStore, Imm::Mem { var: MemRef::Local(l), offset }) = (d.op, &d.imm) else { continue };
        let store = d.op == Opcode::LocalStore;
        let ty = if store { d.args.first().map(|v| func.ty(*v)) } else { d.results.first().map(|v| func.ty(*v)) };
        let decl = &func.locals[*l];
        if d.args.len() != usize::from(store) || *offset >= decl.count || ty != Some(decl.ty) {
            bad.insert(*l);
        }
        seen.insert((*l, *offset), ());
    }
    let vars: Vec<Variable> = seen
        .into_keys()
        .filter(|(l, _)| !bad.contains(*l))
        .map(|(l, offset)| Variable { var: MemRef::Local(l), offset, ty: func.locals[l].ty })
        .collect();
    promote(func, &vars) || folded
}

/// Indices that turned out to be constants become offsets, if there is such an element.
fn constant_indices(func: &mut Function) -> bool {
    let mut changed = false;
    for i in func.ordered().map(|(_, i)| i).collect::<Vec<_>>() {
        let d = &func.insts[i];
        let n = usize::from(d.op == Opcode::LocalStore);
        let (Opcode::LocalLoad | Opcode::LocalStore, Imm::Mem { var: MemRef::Local(l), offset }) = (d.op, &d.imm) else { continue };
        let place = d.args.get(n).and_then(|v| func.const_bits(func.resolve(*v))).and_then(|k| offset.checked_add(k[0]));
        let Some(place) = place.filter(|k| *k < func.locals[*l].count) else { continue };
        let imm = Imm::Mem { var: MemRef::Local(*l), offset: place };
        func.insts[i].args.truncate(n);
        func.insts[i].imm = imm;
        changed = true;
    }
    changed
}

/// What a block does with a variable, in order.
enum Access {
    Load(Inst),
    Store(Inst),
    /// The end of the program reads an output.
    End(Inst),
}

fn promote(func: &mut Function, vars: &[Variable]) -> bool {
    if vars.is_empty() {
        return false;
    }
    let cfg = Cfg::new(func);
    let Some(entry) = func.entry() else { return false };
    if !cfg.preds(entry).is_empty() {
        return false;
    }
    let index: BTreeMap<(MemRef, u32), usize> = vars.iter().enumerate().map(|(n, v)| ((v.var, v.offset), n)).collect();
    let mut accesses: Vec<Vec<(Block, Access)>> = vars.iter().map(|_| Vec::new()).collect();
    for b in cfg.rpo() {
        for i in &func.blocks[*b].insts {
            let d = &func.insts[*i];
            match (d.op, &d.imm) {
                (Opcode::LocalLoad, Imm::Mem { var, offset }) => {
                    if let Some(n) = index.get(&(*var, *offset)) {
                        accesses[*n].push((*b, Access::Load(*i)));
                    }
                }
                (Opcode::LocalStore | Opcode::Output, Imm::Mem { var, offset }) => {
                    if let Some(n) = index.get(&(*var, *offset)) {
                        accesses[*n].push((*b, Access::Store(*i)));
                    }
                }
                (Opcode::Return, _) => {
                    for (n, v) in vars.iter().enumerate() {
                        if matches!(v.var, MemRef::Output(_)) {
                            accesses[n].push((*b, Access::End(*i)));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    let mut gone: EntitySet<Inst> = EntitySet::new();
    let mut entry_consts: Vec<Inst> = Vec::new();
    let mut at_end: Vec<(Block, Inst)> = Vec::new();
    for (var, list) in vars.iter().zip(&accesses) {
        one(func, &cfg, entry, var, list, &mut gone, &mut entry_consts, &mut at_end);
    }
    for b in cfg.rpo() {
        func.blocks[*b].insts.retain(|i| !gone.contains(*i));
    }
    for (b, store) in at_end {
        let at = func.blocks[b].insts.len() - 1;
        func.blocks[b].insts.insert(at, store);
    }
    entry_consts.append(&mut func.blocks[entry].insts);
    func.blocks[entry].insts = entry_consts;
    func.resolve_aliases();
    super::simplify_cfg::redundant_params(func);
    true
}

/// Rewrites one variable.
#[allow(clippy::too_many_arguments)]
fn one(
    func: &mut Function,
    cfg: &Cfg,
    entry: Block,
    var: &Variable,
    list: &[(Block, Access)],
    gone: &mut EntitySet<Inst>,
    entry_consts: &mut Vec<Inst>,
    at_end: &mut Vec<(Block, Inst)>,
) {
    // Blocks that store, and blocks that read before they store.
    let mut stores: EntitySet<Block> = EntitySet::new();
    let mut work: Vec<Block> = Vec::new();
    let mut relevant: BTreeMap<usize, Block> = BTreeMap::new();
    let mut by_block: BTreeMap<Block, Vec<&Access>> = BTreeMap::new();
    for (b, a) in list {
        match a {
            Access::Store(_) => {
                stores.insert(*b);
            }
            _ if !stores.contains(*b) => work.push(*b),
            _ => {}
        }
        by_block.entry(*b).or_default().push(a);
        relevant.insert(cfg.rpo_index(*b).unwrap_or(0), *b);
    }
    let mut live_in: EntitySet<Block> = EntitySet::new();
    while let Some(b) = work.pop() {
        if live_in.insert(b) {
            relevant.insert(cfg.rpo_index(b).unwrap_or(0), b);
            work.extend(cfg.preds(b).iter().map(|e| e.from).filter(|p| !stores.contains(*p)));
        }
    }
    let mut end: BTreeMap<Block, Value> = BTreeMap::new();
    let mut joins: Vec<Block> = Vec::new();
    for b in relevant.values() {
        let mut now: Option<Value> = None;
        if live_in.contains(*b) {
            now = if *b == entry {
                let i = func.make_inst(InstData::new(Opcode::Const, &[], Imm::Const([0; 4])), &[var.ty], crate::diag::Span::NONE);
                entry_consts.push(i);
                func.result(i)
            } else if let Some(e) = cfg.single_pred(*b) {
                end.get(&e.from).copied()
            } else {
                joins.push(*b);
                Some(func.add_param(*b, var.ty))
            };
        }
        for a in by_block.get(b).into_iter().flatten() {
            match a {
                Access::Load(i) => {
                    if let (Some(r), Some(v)) = (func.result(*i), now) {
                        func.replace(r, v);
                        gone.insert(*i);
                    }
                }
                Access::Store(i) => {
                    now = Some(func.resolve(func.insts[*i].args[0]));
                    gone.insert(*i);
                }
                Access::End(i) => {
                    if let Some(v) = now {
                        let data = InstData::new(Opcode::Output, &[v], Imm::Mem { var: var.var, offset: var.offset });
                        let span = func.spans[*i];
                        at_end.push((*b, func.make_inst(data, &[], span)));
                    }
                }
            }
        }
        if let Some(v) = now {
            end.insert(*b, v);
        }
    }
    for b in joins {
        for e in cfg.preds(b) {
            let v = end.get(&e.from).copied();
            if let (Some(t), Some(v)) = (func.terminator(e.from), v) {
                func.insts[t].targets[e.target as usize].args.push(v);
            }
        }
    }
}

/// An element of a local array: its computed index, if it has one, and its offset.
type Element = (Local, Option<Value>, u32);

/// Whether two elements cannot be the same.
fn apart(x: Element, y: Element) -> bool {
    x.0 != y.0 || x.1 == y.1 && x.2 != y.2
}

/// Within a block, loads of a local element that was just stored or loaded take that value, and a store goes away if the next
/// access to its element overwrites it. Elements are the same if index and offset are.
fn forward(func: &mut Function) -> bool {
    if func.locals.is_empty() {
        return false;
    }
    let mut changed = false;
    for b in func.layout.clone() {
        let mut known: BTreeMap<Element, Value> = BTreeMap::new();
        // Stores that nothing has read so far, by their places among the kept ones.
        let mut unread: BTreeMap<Element, usize> = BTreeMap::new();
        let mut overwritten: BTreeSet<usize> = BTreeSet::new();
        let mut kept = Vec::new();
        for i in func.blocks[b].insts.clone() {
            func.resolve_operands(i);
            let d = &func.insts[i];
            match (d.op, element(d)) {
                (Opcode::LocalLoad, Some(e)) => {
                    let Some(r) = func.result(i) else { continue };
                    if let Some(v) = known.get(&e).copied().filter(|v| func.ty(*v) == func.ty(r)) {
                        func.replace(r, v);
                        changed = true;
                        continue;
                    }
                    known.insert(e, r);
                    unread.retain(|k, _| apart(*k, e));
                }
                (Opcode::LocalStore, Some(e)) => {
                    known.retain(|k, _| apart(*k, e));
                    if is_within(func, e) {
                        known.insert(e, d.args[0]);
                    }
                    overwritten.extend(unread.insert(e, kept.len()));
                }
                _ => {}
            }
            kept.push(i);
        }
        if !overwritten.is_empty() {
            changed = true;
            let mut n = 0..;
            kept.retain(|_| n.next().is_some_and(|n| !overwritten.contains(&n)));
        }
        func.blocks[b].insts = kept;
    }
    if changed {
        func.resolve_aliases();
    }
    changed
}

/// Whether an element lies within its array whatever the inputs are: a store outside has no effect.
fn is_within(func: &Function, (array, index, offset): Element) -> bool {
    let Some(index) = index else { return true };
    let count = func.locals[array].count;
    let largest = func.def_inst(index).and_then(|i| {
        let d = &func.insts[i];
        let k = func.const_bits(*d.args.get(1)?)?[0];
        match d.op {
            Opcode::Iand | Opcode::Umin => Some(k),
            Opcode::Urem => k.checked_sub(1),
            _ => None,
        }
    });
    largest.and_then(|k| k.checked_add(offset)).is_some_and(|last| last < count)
}

/// The element that a load or a store is about.
fn element(d: &InstData) -> Option<Element> {
    let Imm::Mem { var: MemRef::Local(l), offset } = d.imm else { return None };
    let index = if d.op == Opcode::LocalStore { d.args.get(1) } else { d.args.first() };
    Some((l, index.copied(), offset))
}

/// Replaces accesses with a computed index to small local arrays by selects over all elements, so that they can be promoted.
/// An index outside reads 0 and writes nothing. With `keep_tables`, arrays of constants stay what they are.
pub fn expand_dynamic(func: &mut Function, limit: u32, keep_tables: bool) -> bool {
    use crate::inst::IntCC;
    let tables = if keep_tables { crate::analysis::tables(func) } else { SecondaryMap::new() };
    let mut wanted: EntitySet<Local> = EntitySet::new();
    for (_, i) in func.ordered() {
        let d = &func.insts[i];
        if let (Opcode::LocalLoad | Opcode::LocalStore, Imm::Mem { var: MemRef::Local(l), .. }) = (d.op, &d.imm)
            && func.locals[*l].count <= limit
            && tables[*l].is_none()
        {
            wanted.insert(*l);
        }
    }
    if wanted.is_empty() {
        return false;
    }
    super::rewrite::rewrite_of(func, &[Opcode::LocalLoad, Opcode::LocalStore], |b, i| {
        use super::rewrite::Action;
        let d = b.func.insts[i].clone();
        let Imm::Mem { var: MemRef::Local(l), offset } = d.imm else { return Action::Keep };
        let dynamic = match d.op {
            Opcode::LocalLoad => d.args.first().copied(),
            Opcode::LocalStore => d.args.get(1).copied(),
            _ => None,
        };
        let Some(index) = dynamic.filter(|_| wanted.contains(l)) else { return Action::Keep };
        let (ty, count) = (b.func.locals[l].ty, b.func.locals[l].count);
        let ity = crate::types::I32;
        let var = MemRef::Local(l);
        let mut value = if d.op == Opcode::LocalLoad { b.splat_const(ty, 0) } else { d.args[0] };
        for n in 0..count {
            let k = b.iconst(ity, n.wrapping_sub(offset));
            let here = b.icmp(IntCC::Eq, index, k);
            let old = b.load(ty, var, n, None);
            if d.op == Opcode::LocalLoad {
                value = b.select(here, old, value);
            } else {
                let new = b.select(here, d.args[0], old);
                b.store(var, n, new, None);
            }
        }
        if d.op == Opcode::LocalLoad { Action::Replace(value) } else { Action::Remove }
    })
}
