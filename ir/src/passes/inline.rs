//! Inlining of helper functions, callees first, and removal of functions that nobody calls.

use crate::analysis::CallGraph;
use crate::entities::*;
use crate::function::Function;
use crate::inst::{BlockCall, Imm, InstData, MemRef};
use crate::module::Module;
use crate::opcode::Opcode;
use cranelift_entity::{PrimaryMap, SecondaryMap};

/// Which calls are inlined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InlinePolicy {
    /// All: for machines without calls.
    #[default]
    All,
    /// Where the program does not grow: single calls, and bodies no larger than a call with its moves.
    Smaller,
    /// None.
    Keep,
}

/// Runs the pass over the module.
pub fn run(module: &mut Module, policy: InlinePolicy) -> bool {
    let mut changed = false;
    if policy != InlinePolicy::Keep {
        let Some(order) = CallGraph::new(module).callees_first() else { return false };
        let mut calls: SecondaryMap<FuncId, u32> = SecondaryMap::new();
        for id in &order {
            for (_, _, callee) in call_sites(&module.functions[*id]) {
                calls[callee] += 1;
            }
        }
        for id in order {
            // Sites are found again after each splice, since the rest of the block moves.
            while let Some((block, at, callee)) = call_sites(&module.functions[id])
                .into_iter()
                .find(|(_, _, c)| *c != id && (policy == InlinePolicy::All || calls[*c] == 1 || is_small(&module.functions[*c])))
            {
                let body = module.functions[callee].clone();
                splice(&mut module.functions[id], block, at, &body);
                changed = true;
            }
        }
    }
    changed | drop_unused(module)
}

/// Inlines everything but the functions that a target keeps as procedures.
pub fn except(module: &mut Module, keep: &dyn Fn(&Function) -> bool) -> bool {
    let Some(order) = CallGraph::new(module).callees_first() else { return false };
    let mut changed = false;
    for id in order {
        while let Some((block, at, callee)) =
            call_sites(&module.functions[id]).into_iter().find(|(_, _, c)| *c != id && !keep(&module.functions[*c]))
        {
            let body = module.functions[callee].clone();
            splice(&mut module.functions[id], block, at, &body);
            changed = true;
        }
    }
    changed | drop_unused(module)
}

fn call_sites(func: &Function) -> Vec<(Block, usize, FuncId)> {
    let mut out = Vec::new();
    for b in &func.layout {
        for (n, i) in func.blocks[*b].insts.iter().enumerate() {
            if let (Opcode::Call, Imm::Func(f)) = (func.insts[*i].op, &func.insts[*i].imm) {
                out.push((*b, n, *f));
            }
        }
    }
    out
}

/// A body that is no larger than the call, the return and the moves of its operands.
fn is_small(func: &Function) -> bool {
    let moves = func.entry().map_or(0, |e| func.blocks[e].params.len()) + func.results.len();
    func.layout.len() == 1 && func.inst_count() <= 2 + moves
}

/// Puts a copy of `body` in place of the call at position `at` of `block`.
fn splice(func: &mut Function, block: Block, at: usize, body: &Function) {
    let rest = func.blocks[block].insts.split_off(at + 1);
    let Some(call) = func.blocks[block].insts.pop() else { return };
    let call_data = func.insts[call].clone();
    let span = func.spans[call];
    let locals: SecondaryMap<Local, Option<Local>> = body.locals.iter().map(|(l, d)| (l, Some(func.locals.push(d.clone())))).collect_map();
    // Blocks and values first, since branches and loops refer ahead.
    let mut blocks: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    let mut values: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut made = Vec::new();
    for b in &body.layout {
        let n = func.blocks.push(Default::default());
        blocks[*b] = Some(n);
        made.push(n);
        for p in &body.blocks[*b].params {
            values[*p] = Some(func.add_param(n, body.ty(*p)));
        }
    }
    // What follows the call gets a block of its own; the call's results become its parameters.
    let after = func.blocks.push(Default::default());
    for r in &call_data.results {
        let ty = func.ty(*r);
        let p = func.add_param(after, ty);
        func.replace(*r, p);
    }
    func.blocks[after].insts = rest;
    let mut copies = Vec::new();
    for b in &body.layout {
        for i in &body.blocks[*b].insts {
            let d = &body.insts[*i];
            let types: Vec<_> = d.results.iter().map(|r| body.ty(*r)).collect();
            let mut data = d.clone();
            data.results.clear();
            let copy = func.make_inst(data, &types, if body.spans[*i].is_none() { span } else { body.spans[*i] });
            for (r, n) in d.results.iter().zip(func.insts[copy].results.clone()) {
                values[*r] = Some(n);
            }
            if let Some(n) = blocks[*b] {
                func.blocks[n].insts.push(copy);
            }
            copies.push(copy);
        }
    }
    let map = |v: Value| values[body.resolve(v)].unwrap_or(v);
    for i in copies {
        let d = &mut func.insts[i];
        d.args.iter_mut().for_each(|v| *v = map(*v));
        for t in d.targets.iter_mut() {
            t.block = blocks[t.block].unwrap_or(t.block);
            t.args.iter_mut().for_each(|v| *v = map(*v));
        }
        if let Imm::Mem { var: MemRef::Local(l), .. } = &mut d.imm {
            *l = locals[*l].unwrap_or(*l);
        }
        if d.op == Opcode::Return {
            d.op = Opcode::Jump;
            let args = std::mem::take(&mut d.args);
            d.targets.push(BlockCall { block: after, args });
        }
    }
    let mut jump = InstData::new(Opcode::Jump, &[], Imm::None);
    jump.targets.push(BlockCall { block: made[0], args: call_data.args.clone() });
    let jump = func.make_inst(jump, &[], span);
    func.blocks[block].insts.push(jump);
    made.push(after);
    let place = func.layout.iter().position(|b| *b == block).map_or(func.layout.len(), |n| n + 1);
    func.layout.splice(place..place, made);
    func.resolve_aliases();
    func.resolve_operands(jump);
}

trait CollectMap<K: cranelift_entity::EntityRef, V: Clone + Default> {
    fn collect_map(self) -> SecondaryMap<K, V>;
}

impl<K: cranelift_entity::EntityRef, V: Clone + Default, I: Iterator<Item = (K, V)>> CollectMap<K, V> for I {
    fn collect_map(self) -> SecondaryMap<K, V> {
        let mut m = SecondaryMap::new();
        for (k, v) in self {
            m[k] = v;
        }
        m
    }
}

/// Removes functions that the entry does not reach.
pub fn drop_unused(module: &mut Module) -> bool {
    let Some(mut live) = CallGraph::new(module).callees_first() else { return false };
    if live.len() == module.functions.len() {
        return false;
    }
    live.sort();
    let mut old: SecondaryMap<FuncId, Option<Function>> = SecondaryMap::new();
    for (id, f) in std::mem::take(&mut module.functions) {
        old[id] = Some(f);
    }
    let mut new: SecondaryMap<FuncId, Option<FuncId>> = SecondaryMap::new();
    let mut functions: PrimaryMap<FuncId, Function> = PrimaryMap::new();
    for id in live {
        if let Some(f) = old[id].take() {
            new[id] = Some(functions.push(f));
        }
    }
    for f in functions.values_mut() {
        for d in f.insts.values_mut() {
            if let Imm::Func(id) = &mut d.imm
                && let Some(n) = new[*id]
            {
                *id = n;
            }
        }
    }
    module.entry = new[module.entry].unwrap_or(module.entry);
    module.functions = functions;
    true
}
