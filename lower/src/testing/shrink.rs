//! Reduces a failing program: drops invocations, branches, effects and instructions as long as it fails in the same way.

use retroshade_ir::function::Function;
use retroshade_ir::*;
use std::collections::BTreeSet;

/// The most candidates tried.
const ATTEMPTS: usize = 6000;

/// A smaller program and environment for which `fails` still holds.
pub fn shrink(module: &Module, env: &ShaderEnv, fails: &mut dyn FnMut(&Module, &ShaderEnv) -> bool) -> (Module, ShaderEnv) {
    let (best, mut best_env) = (module.clone(), env.clone());
    let mut attempts = 0;
    let mut attempt = |m: &Module, e: &ShaderEnv| {
        attempts += 1;
        attempts <= ATTEMPTS && fails(m, e)
    };
    // Invocations: single quads (fragments) or single invocations.
    let step = if best.stage == Stage::Fragment { 4 } else { 1 };
    for part in env.invocations.chunks(step) {
        let e = ShaderEnv { invocations: part.to_vec(), ..best_env.clone() };
        if env.invocations.len() > step && attempt(&best, &e) {
            best_env = e;
            break;
        }
    }
    let small = shrink_module(&best, &mut |m| attempt(m, &best_env));
    (small, best_env)
}

/// A smaller module that obeys the rules of the IR and of which `shows` still says yes. Declarations stay as they are.
pub fn shrink_module(module: &Module, shows: &mut dyn FnMut(&Module) -> bool) -> Module {
    let mut best = module.clone();
    loop {
        let mut progress = false;
        // Large steps first: branches that always go one way, then writes and calls, then single values.
        for pass in [decide_branch, drop_effect, forget_call, forget_value, forward_operand] {
            let ids: Vec<FuncId> = best.functions.keys().collect();
            for id in ids {
                // Many at once, then one by one; from the end, since uses go before definitions.
                for size in [64, 16, 4, 1] {
                    let mut n = best.functions[id].ordered().count();
                    while n > 0 {
                        let low = n.saturating_sub(size);
                        // What nothing uses any more goes too, unless that is what shows.
                        for (variant, unused) in [(0, true), (0, false), (1, true), (1, false)] {
                            let mut m = best.clone();
                            let list: Vec<Inst> = m.functions[id].ordered().map(|(_, i)| i).skip(low).take(n - low).collect();
                            let changed = list.iter().rev().filter(|i| pass(&mut m.functions[id], **i, variant)).count();
                            if changed == 0 {
                                continue;
                            }
                            clean(&mut m, unused);
                            if verify(&m).is_ok() && shows(&m) {
                                best = m;
                                progress = true;
                                break;
                            }
                        }
                        n = low.min(best.functions[id].ordered().count());
                    }
                }
            }
        }
        if !progress {
            return best;
        }
    }
}

/// Makes a branch unconditional.
fn decide_branch(f: &mut Function, i: Inst, variant: usize) -> bool {
    let d = &mut f.insts[i];
    if !matches!(d.op, Opcode::BrIf | Opcode::Switch) || variant >= d.targets.len() {
        return false;
    }
    let target = d.targets[variant].clone();
    *d = InstData { targets: [target].into_iter().collect(), ..InstData::new(Opcode::Jump, &[], Imm::None) };
    true
}

/// Removes an instruction whose results nothing uses.
fn drop_effect(f: &mut Function, i: Inst, variant: usize) -> bool {
    let d = &f.insts[i];
    if variant > 0 || d.op.is_terminator() {
        return false;
    }
    let uses = f.use_counts();
    if d.results.iter().any(|r| uses[*r] > 0) {
        return false;
    }
    remove(f, i);
    true
}

/// Replaces a value by a constant 1 (which is in every array and divides everything), then by 0 for floats.
fn forget_value(f: &mut Function, i: Inst, variant: usize) -> bool {
    let d = &f.insts[i];
    if d.op == Opcode::Const || d.results.len() != 1 {
        return false;
    }
    let ty = f.ty(d.results[0]);
    let word = match (ty.scalar, variant) {
        (Scalar::F32 | Scalar::F16, 1) => 0,
        (s @ (Scalar::F32 | Scalar::F16), _) => numerics::from_f32(s, 1.0),
        (_, 0) => 1,
        (Scalar::I1, _) => 0,
        _ => return false,
    };
    let mut bits = [0; 4];
    bits[..ty.lanes as usize].fill(word);
    let results = d.results.clone();
    f.insts[i] = InstData { results, ..InstData::new(Opcode::Const, &[], Imm::Const(bits)) };
    true
}

/// Replaces the results of a call by constants.
fn forget_call(f: &mut Function, i: Inst, variant: usize) -> bool {
    if f.insts[i].op != Opcode::Call || variant > 0 {
        return false;
    }
    let Some(b) = f.layout.iter().copied().find(|b| f.blocks[*b].insts.contains(&i)) else { return false };
    for r in std::mem::take(&mut f.insts[i].results) {
        let ty = f.ty(r);
        let word = if ty.is_float() { numerics::from_f32(ty.scalar, 1.0) } else { 1 };
        let mut bits = [0; 4];
        bits[..ty.lanes as usize].fill(word);
        let c = f.make_inst(InstData::new(Opcode::Const, &[], Imm::Const(bits)), &[], Span::NONE);
        f.insts[c].results.push(r);
        f.values[r].1 = ValueDef::Result(c, 0);
        let at = f.blocks[b].insts.iter().position(|x| *x == i).unwrap_or(0);
        f.blocks[b].insts.insert(at, c);
    }
    remove(f, i);
    true
}

/// Replaces a float value by an operand of the same type.
fn forward_operand(f: &mut Function, i: Inst, variant: usize) -> bool {
    let d = &f.insts[i];
    let (Some(r), Some(a)) = (d.results.first().copied(), d.args.get(variant).copied()) else { return false };
    if d.results.len() != 1 || f.ty(r) != f.ty(a) || !f.ty(r).is_float() && f.ty(r).scalar != Scalar::I1 || d.op == Opcode::Call {
        return false;
    }
    f.replace(r, a);
    f.resolve_aliases();
    // The replaced value must not keep an alias: nobody uses it any more.
    f.values[r].1 = ValueDef::Result(i, 0);
    true
}

fn remove(f: &mut Function, i: Inst) {
    for b in f.layout.clone() {
        f.blocks[b].insts.retain(|x| *x != i);
    }
}

/// Removes what nothing reaches: blocks; and what nothing uses: values, block parameters.
fn clean(m: &mut Module, unused: bool) {
    for f in m.functions.values_mut() {
        let Some(entry) = f.entry() else { continue };
        let (mut seen, mut work) = (BTreeSet::from([entry]), vec![entry]);
        while let Some(b) = work.pop() {
            for t in f.successors(b) {
                if seen.insert(t.block) {
                    work.push(t.block);
                }
            }
        }
        f.layout.retain(|b| seen.contains(b));
        while unused && drop_unused(f, entry) {}
        merge_chains(f);
    }
}

/// One round over values and block parameters that nothing uses; whether there were any.
fn drop_unused(f: &mut Function, entry: Block) -> bool {
    let uses = f.use_counts();
    let dead: Vec<Inst> = f
        .ordered()
        .map(|(_, i)| i)
        .filter(|i| f.insts[*i].op.is_removable() && f.insts[*i].results.iter().all(|r| uses[*r] == 0))
        .collect();
    let mut changed = !dead.is_empty();
    for i in dead {
        remove(f, i);
    }
    for b in f.layout.clone().into_iter().filter(|b| *b != entry) {
        for n in (0..f.blocks[b].params.len()).rev() {
            if uses[f.blocks[b].params[n]] == 0 {
                f.remove_param(b, n);
                changed = true;
            }
        }
    }
    changed
}

/// Joins a block with the only predecessor that jumps to it.
fn merge_chains(f: &mut Function) {
    loop {
        let mut preds = cranelift_entity::SecondaryMap::<Block, u32>::new();
        for b in &f.layout {
            f.successors(*b).iter().for_each(|t| preds[t.block] += 1);
        }
        let entry = f.entry();
        let found = f.layout.iter().copied().find_map(|b| {
            let t = f.terminator(b)?;
            let to = f.insts[t].targets.first()?.block;
            (f.insts[t].op == Opcode::Jump && preds[to] == 1 && to != b && Some(to) != entry).then_some((b, t, to))
        });
        let Some((b, t, to)) = found else { return };
        let args = f.insts[t].targets[0].args.clone();
        let params = std::mem::take(&mut f.blocks[to].params);
        for (p, a) in params.iter().zip(&args) {
            f.replace(*p, *a);
        }
        f.blocks[b].insts.pop();
        let insts = std::mem::take(&mut f.blocks[to].insts);
        f.blocks[b].insts.extend(insts);
        f.layout.retain(|x| *x != to);
        f.resolve_aliases();
        // Parameters that are gone keep a definition that names a block which no longer exists; nothing refers to them.
        for p in params {
            f.values[p].1 = ValueDef::Param(to, 0);
        }
    }
}
