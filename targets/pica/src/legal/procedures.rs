//! Functions that stay procedures: which can, what they are passed, and what is known of integers that go in and come out.
//!
//! Arguments and results live in registers, so that only numbers pass: truth values as 0 and 1 (`truths.rs`), integers as floats
//! (`integers.rs`), matrices as the vectors that the front end takes them apart into. What every caller passes alike and anyone
//! can read costs nothing: the procedure reads it itself. What it hands back unchanged the callers have already.

use crate::legal::exact::{EXACT, f32_like};
use crate::select::loops::reaches_loop;
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::range::Known;
use retroshade_ir::analysis::{Cfg, DomTree, Loops, Range, Ranges};
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::*;
use std::collections::BTreeSet;

/// Functions that could stay procedures: called several times, without effects of their own; those first that take most room
/// inlined.
pub fn keepable(m: &Module) -> Vec<String> {
    let calls = |id: FuncId| sites(m, id).count();
    let of_numbers = |f: &Function| {
        let passes = |t: Type| matches!(t.scalar, Scalar::F32 | Scalar::I32 | Scalar::I1);
        f.results.iter().all(|t| passes(*t)) && params(f).iter().all(|p| passes(f.ty(*p)))
    };
    let plain = |f: &Function| {
        f.ordered().all(|(_, i)| {
            !matches!(
                f.insts[i].op,
                Opcode::Output | Opcode::EmitVertex | Opcode::EndPrimitive | Opcode::Discard | Opcode::Kill | Opcode::Unreachable
            )
        })
    };
    let nested = loops_in_loops(m);
    let unique = |f: &Function| m.functions.values().filter(|g| g.name == f.name).count() == 1;
    let mut found: Vec<(usize, String)> = m
        .functions
        .iter()
        .filter(|(id, f)| *id != m.entry && calls(*id) > 1 && of_numbers(f) && plain(f) && unique(f) && !nested.contains(id))
        .map(|(id, f)| ((calls(id) - 1) * f.inst_count(), f.name.clone()))
        .collect();
    found.sort_by_key(|x| std::cmp::Reverse(x.0));
    found.into_iter().map(|x| x.1).collect()
}

/// Functions with loops, their own or of what they call, that are called from loops. The machine nests LOOPs across calls; what emulators make of its code
/// loses count there.
fn loops_in_loops(m: &Module) -> BTreeSet<FuncId> {
    let callee = |f: &Function, i: Inst| if let Imm::Func(c) = f.insts[i].imm { Some(c) } else { None };
    let mut inside: BTreeSet<FuncId> = BTreeSet::new();
    for id in callers_first(m) {
        let f = &m.functions[id];
        let cfg = Cfg::new(f);
        let loops = Loops::new(&cfg, &DomTree::new(f, &cfg));
        let all = inside.contains(&id);
        inside.extend(f.ordered().filter(|(b, _)| all || loops.of(*b).is_some()).filter_map(|(_, i)| callee(f, i)));
    }
    inside.retain(|id| reaches_loop(m, *id));
    inside
}

/// A function's parameters.
fn params(f: &Function) -> Vec<Value> {
    f.entry().map(|e| f.blocks[e].params.clone()).unwrap_or_default()
}

/// Another value for every use of one that stays defined, as a parameter or a call's result.
fn substitute(f: &mut Function, old: Value, new: Value) {
    let definition = f.values[old];
    f.replace(old, new);
    f.resolve_aliases();
    f.values[old] = definition;
}

/// Every call of a function.
fn sites(m: &Module, id: FuncId) -> impl Iterator<Item = (&Function, Inst)> {
    let all = m.functions.values().flat_map(|f| f.ordered().map(move |(_, i)| (f, i)));
    all.filter(move |(f, i)| f.insts[*i].op == Opcode::Call && matches!(f.insts[*i].imm, Imm::Func(x) if x == id))
}

/// The entry, then the other functions: none before one that calls it.
pub fn callers_first(m: &Module) -> Vec<FuncId> {
    let mut left: Vec<FuncId> = m.functions.keys().filter(|id| *id != m.entry).collect();
    let mut order = vec![m.entry];
    while !left.is_empty() {
        let waits = |id: &FuncId| left.iter().any(|c| c != id && sites(m, *id).any(|(f, _)| std::ptr::eq(f, &m.functions[*c])));
        // A verified module has no circles of calls.
        let next = left.iter().position(|id| !waits(id)).unwrap_or(0);
        order.push(left.remove(next));
    }
    order
}

/// Makes the signatures of the functions that are left as small as they can be.
pub fn simplify(m: &mut Module) {
    results_from_callers(m);
    for id in callers_first(m).into_iter().skip(1) {
        same_arguments(m, id);
    }
    float_params(m);
}

/// Results that the callers have already are taken from there; whether there are any.
pub fn results_from_callers(m: &mut Module) -> bool {
    // Callees first: what they hand back unchanged, their callers may hand back as well.
    let others: Vec<FuncId> = callers_first(m).into_iter().skip(1).collect();
    others.iter().rev().fold(false, |found, id| unchanged_results(m, *id) | found)
}

/// How a value is made of what anyone can read.
#[derive(Clone, Debug, PartialEq)]
struct Recipe {
    op: Opcode,
    imm: Imm,
    ty: Type,
    args: Vec<Recipe>,
}

impl Recipe {
    /// The recipe of a value, if it has one.
    fn of(f: &Function, v: Value, depth: u32) -> Option<Recipe> {
        let v = f.resolve(v);
        let d = f.def_inst(v).map(|i| &f.insts[i]).filter(|_| depth > 0)?;
        let free = match d.op {
            Opcode::Input | Opcode::Uniform | Opcode::Const | Opcode::Undef => d.args.is_empty(),
            Opcode::Build | Opcode::Splat | Opcode::Extract | Opcode::Insert | Opcode::Shuffle | Opcode::Fneg => true,
            _ => false,
        };
        let args = d.args.iter().map(|a| Recipe::of(f, *a, depth - 1)).collect::<Option<Vec<_>>>().filter(|_| free)?;
        Some(Recipe { op: d.op, imm: d.imm.clone(), ty: f.ty(v), args })
    }
    /// Follows the recipe; the instructions go to the front of `first`.
    fn follow(&self, f: &mut Function, first: Block, at: &mut usize) -> Value {
        let args: Vec<Value> = self.args.iter().map(|a| a.follow(f, first, at)).collect();
        let i = f.make_inst(InstData::new(self.op, &args, self.imm.clone()), &[self.ty], Span::NONE);
        f.blocks[first].insts.insert(*at, i);
        *at += 1;
        f.insts[i].results[0]
    }
}

/// Nesting of recipes that is looked through.
const RECIPE: u32 = 6;

/// What every caller passes alike, and anyone can read, a procedure reads itself: inputs, uniforms, constants, their lanes.
fn same_arguments(m: &mut Module, id: FuncId) {
    let mut same: Option<Vec<Option<Recipe>>> = None;
    for (f, i) in sites(m, id) {
        let recipes = f.insts[i].args.iter().map(|a| Recipe::of(f, *a, RECIPE));
        same = Some(match same {
            None => recipes.collect(),
            Some(s) => s.into_iter().zip(recipes).map(|(s, r)| s.filter(|s| Some(s) == r.as_ref())).collect(),
        });
    }
    let f = &mut m.functions[id];
    f.resolve_aliases();
    let (Some(entry), Some(same)) = (f.entry(), same) else { return };
    let mut at = 0;
    for (p, recipe) in params(f).into_iter().zip(same) {
        let Some(recipe) = recipe else { continue };
        let r = recipe.follow(f, entry, &mut at);
        substitute(f, p, r);
    }
}

/// A result that is a parameter, or that anyone can read, is taken from there by the callers.
fn unchanged_results(m: &mut Module, id: FuncId) -> bool {
    let f = &m.functions[id];
    let mut returns = f.ordered().map(|(_, i)| i).filter(|i| f.insts[*i].op == Opcode::Return);
    let (Some(one), None) = (returns.next(), returns.next()) else { return false };
    drop(returns);
    let params = params(f);
    // Where there is one way out, what it returns.
    let found: Vec<(Option<usize>, Option<Recipe>)> =
        f.insts[one].args.iter().map(|v| (params.iter().position(|p| *p == f.resolve(*v)), Recipe::of(f, *v, RECIPE))).collect();
    if found.iter().all(|(p, r)| p.is_none() && r.is_none()) {
        return false;
    }
    for f in m.functions.values_mut() {
        let calls: Vec<(Block, Inst)> = f.ordered().filter(|(_, i)| matches!(f.insts[*i].imm, Imm::Func(x) if x == id)).collect();
        for (b, call) in calls {
            let (args, results) = (f.insts[call].args.clone(), f.insts[call].results.clone());
            for (r, (param, recipe)) in results.into_iter().zip(&found) {
                let new = match (param, recipe) {
                    (Some(n), _) => f.resolve(args[*n]),
                    (None, Some(recipe)) => {
                        let mut at = f.blocks[b].insts.iter().position(|i| *i == call).map_or(0, |n| n + 1);
                        recipe.follow(f, b, &mut at)
                    }
                    (None, None) => continue,
                };
                substitute(f, r, new);
            }
        }
    }
    true
}

/// Integer parameters that a caller converts from a float are passed as that float: a procedure that only uses them as indices
/// needs no conversion at all. The others stay integers until all of them become floats.
fn float_params(m: &mut Module) {
    let ids: Vec<FuncId> = m.functions.keys().filter(|id| *id != m.entry).collect();
    let mut converted: SecondaryMap<FuncId, Vec<usize>> = SecondaryMap::new();
    for id in &ids {
        let from_float = |n: usize| sites(m, *id).any(|(f, i)| f.insts[i].args.get(n).is_some_and(|a| unconverted(f, *a).is_some()));
        let f = &m.functions[*id];
        let integers = params(f).into_iter().enumerate().filter(|(_, p)| f.ty(*p).scalar == Scalar::I32);
        converted[*id] = integers.map(|(n, _)| n).filter(|n| from_float(*n)).collect();
    }
    for id in ids {
        let f = &mut m.functions[id];
        f.resolve_aliases();
        let Some(entry) = f.entry() else { continue };
        for (n, p) in params(f).into_iter().enumerate() {
            let ty = f.ty(p);
            if !converted[id].contains(&n) {
                continue;
            }
            f.values[p].0 = f32_like(ty);
            let i = f.make_inst(InstData::new(Opcode::F2s, &[p], Imm::None), &[ty], Span::NONE);
            let r = f.insts[i].results[0];
            for d in f.insts.values_mut() {
                if d.results.first() != Some(&r) {
                    d.args.iter_mut().chain(d.targets.iter_mut().flat_map(|t| t.args.iter_mut())).filter(|a| **a == p).for_each(|a| *a = r);
                }
            }
            f.blocks[entry].insts.insert(0, i);
        }
    }
    for f in m.functions.values_mut() {
        rewrite(f, |b, i| {
            let Imm::Func(id) = b.func.insts[i].imm else { return Action::Keep };
            for n in &converted[id] {
                let v = b.func.resolve(b.func.insts[i].args[*n]);
                let x = match unconverted(b.func, v) {
                    Some((x, None)) => x,
                    Some((x, Some(l))) => b.extract(x, l),
                    None => {
                        let ty = f32_like(b.func.ty(v));
                        b.typed(Opcode::S2f, ty, &[v], Imm::None)
                    }
                };
                b.func.insts[i].args[*n] = x;
            }
            if converted[id].is_empty() { Action::Keep } else { Action::Changed }
        });
    }
}

/// The float that an integer was converted from, or its vector and the lane.
fn unconverted(f: &Function, v: Value) -> Option<(Value, Option<u8>)> {
    let source = |v: Value| f.def_if(v, Opcode::F2s).map(|c| f.resolve(c.args[0]));
    let v = f.resolve(v);
    if let Some(x) = source(v) {
        return Some((x, None));
    }
    let e = f.def_if(v, Opcode::Extract)?;
    match e.imm {
        Imm::Lane(l) => source(f.resolve(e.args[0])).map(|x| (x, Some(l))),
        _ => None,
    }
}

/// What is assumed of an integer that is passed, until the program proves it wrong; beyond the last nothing is.
const ASSUMED: [Range; 3] = [Range { lo: 0, hi: 127 }, Range { lo: 0, hi: EXACT }, Range { lo: -EXACT, hi: EXACT }];

/// Rounds until nothing is assumed.
const ROUNDS: usize = 24;

/// Ranges of integers that functions pass to each other: what the callers pass, what the callees return.
///
/// What is assumed of all of them holds if nothing that is passed under these assumptions breaks one: the first call cannot, so no
/// later one can. From there on each step stays sound.
pub fn ranges(m: &Module) -> SecondaryMap<FuncId, Known> {
    let order = callers_first(m);
    let integer = |f: &Function, v: Value| f.ty(v).scalar == Scalar::I32;
    // Parameters and results, by the function that they are values of.
    let mut passed: Vec<(FuncId, Value)> = Vec::new();
    for id in &order {
        let f = &m.functions[*id];
        passed.extend(params(f).into_iter().filter(|p| integer(f, *p)).map(|p| (*id, p)));
        let calls = f.ordered().map(|(_, i)| &f.insts[i]).filter(|d| d.op == Opcode::Call);
        passed.extend(calls.flat_map(|d| d.results.iter()).filter(|r| integer(f, **r)).map(|r| (*id, *r)));
    }
    let mut known: SecondaryMap<FuncId, Known> = SecondaryMap::new();
    if order.len() < 2 || passed.is_empty() {
        return known;
    }
    let mut levels = vec![0; passed.len()];
    for round in 0..ROUNDS {
        for ((id, v), level) in passed.iter().zip(&mut levels) {
            *level = if round + 1 == ROUNDS { ASSUMED.len() } else { *level };
            known[*id][*v] = ASSUMED.get(*level).copied();
        }
        let next = pass(m, &order, &known);
        let mut held = true;
        for ((id, v), level) in passed.iter().zip(&mut levels) {
            let within = |a: &Range| next[*id][*v].is_none_or(|r| r.lo >= a.lo && r.hi <= a.hi);
            if !ASSUMED.get(*level).is_none_or(within) {
                (*level, held) = (*level + 1, false);
            }
        }
        if held {
            break;
        }
    }
    for _ in 0..2 {
        known = pass(m, &order, &known);
    }
    known
}

/// What is passed if no more than `known` is known of what is passed.
fn pass(m: &Module, order: &[FuncId], known: &SecondaryMap<FuncId, Known>) -> SecondaryMap<FuncId, Known> {
    let mut found: SecondaryMap<FuncId, Option<Ranges>> = SecondaryMap::new();
    for id in order {
        found[*id] = Some(Ranges::knowing(m, &m.functions[*id], known[*id].clone()));
    }
    let mut next: SecondaryMap<FuncId, Known> = SecondaryMap::new();
    for caller in order {
        let (f, Some(ranges)) = (&m.functions[*caller], &found[*caller]) else { continue };
        for (b, i) in f.ordered() {
            let d = &f.insts[i];
            let Imm::Func(callee) = d.imm else { continue };
            let (g, Some(inner)) = (&m.functions[callee], &found[callee]) else { continue };
            for (p, a) in params(g).into_iter().zip(&d.args).filter(|(p, _)| g.ty(*p).scalar == Scalar::I32) {
                let r = ranges.range_at(f.resolve(*a), b);
                next[callee][p] = Some(next[callee][p].map_or(r, |o| o.union(r)));
            }
            for (n, r) in d.results.iter().enumerate().filter(|(_, r)| f.ty(**r).scalar == Scalar::I32) {
                let returns = g.ordered().filter(|(_, i)| g.insts[*i].op == Opcode::Return);
                let each = returns.filter_map(|(b, i)| g.insts[i].args.get(n).map(|v| inner.range_at(g.resolve(*v), b)));
                next[*caller][*r] = each.reduce(|a, b| a.union(b));
            }
        }
    }
    next
}
