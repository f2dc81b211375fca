//! Branches around dropped pixels: `if (a) { if (b) discard; }` becomes a discard under `a and b`, without a branch.
//!
//! The machine tests a second condition under the first one's predicate, so a conjunction costs one word a condition, where a
//! branch costs its test, itself and often a jump at the end of the side. Cascades of comparisons of one integer with
//! constants (switches) need no condition of the outer levels: `x == 3` says that x is not 2.

use retroshade_ir::passes::rewrite::is_speculatable;
use retroshade_ir::*;

/// Converts what it can, from the inside out.
pub fn run(f: &mut Function) {
    let mut any = false;
    loop {
        f.resolve_aliases();
        let mut changed = false;
        for b in f.layout.clone() {
            changed |= convert(f, b) || join(f, b);
        }
        if !changed {
            break;
        }
        any = true;
    }
    if any {
        ranges(f);
        f.resolve_aliases();
    }
}

fn preds(f: &Function, b: Block) -> usize {
    f.layout.iter().flat_map(|x| f.successors(*x)).filter(|t| t.block == b).count()
}

/// A block that alone goes to the next one takes it in.
fn join(f: &mut Function, b: Block) -> bool {
    let Some(t) = f.terminator(b).filter(|t| f.insts[*t].op == Opcode::Jump) else { return false };
    let to = f.insts[t].targets[0].clone();
    if to.block == b || Some(to.block) == f.entry() || preds(f, to.block) != 1 {
        return false;
    }
    let params = f.blocks[to.block].params.clone();
    for (p, a) in params.iter().zip(&to.args) {
        f.replace(*p, *a);
    }
    f.blocks[b].insts.pop();
    let rest = std::mem::take(&mut f.blocks[to.block].insts);
    f.blocks[b].insts.extend(rest);
    f.blocks[to.block].params.clear();
    f.layout.retain(|x| *x != to.block);
    f.resolve_aliases();
    true
}

/// One side of a branch: its instructions without the jump, and where it goes with what.
struct Side {
    insts: Vec<Inst>,
    to: BlockCall,
    block: Option<Block>,
}

fn side(f: &Function, call: &BlockCall) -> Option<Side> {
    let (last, body) = f.blocks[call.block].insts.split_last()?;
    let d = &f.insts[*last];
    let plain = d.op == Opcode::Jump && f.blocks[call.block].params.is_empty() && preds(f, call.block) == 1;
    // What needs its neighbours stays where it is.
    let quad = |op: Opcode| matches!(op, Opcode::Tex | Opcode::Ddx | Opcode::Ddy);
    let fine = |i: &Inst| f.insts[*i].op == Opcode::Discard || is_speculatable(&f.insts[*i]) && !quad(f.insts[*i].op);
    (plain && body.iter().all(fine)).then(|| Side { insts: body.to_vec(), to: d.targets[0].clone(), block: Some(call.block) })
}

fn convert(f: &mut Function, b: Block) -> bool {
    let Some(t) = f.terminator(b).filter(|t| f.insts[*t].op == Opcode::BrIf) else { return false };
    let (cond, calls) = (f.insts[t].args[0], f.insts[t].targets.clone());
    let direct = |n: usize| Side { insts: Vec::new(), to: calls[n].clone(), block: None };
    let sides = match (side(f, &calls[0]), side(f, &calls[1])) {
        (Some(x), Some(y)) if x.to == y.to => [x, y],
        (Some(x), _) if x.to == calls[1] => [x, direct(1)],
        (_, Some(y)) if y.to == calls[0] => [direct(0), y],
        _ => return false,
    };
    if sides[0].to.block == b {
        return false;
    }
    // What a discard still has to test, and the other instructions that everyone would execute.
    let (mut tests, mut drops, mut others) = (0, 0, 0);
    for (n, s) in sides.iter().enumerate() {
        for i in &s.insts {
            let d = &f.insts[*i];
            if d.op == Opcode::Discard {
                drops += 1;
                tests += !atoms(f, d.args[0]).iter().any(|a| implies(f, *a, cond, n == 0)) as usize;
            } else if !matches!(d.op, Opcode::Const | Opcode::Fcmp | Opcode::Icmp | Opcode::Iand | Opcode::Extract | Opcode::Uniform) {
                others += 1;
            }
        }
    }
    let branches = sides.iter().filter(|s| s.block.is_some()).count();
    if drops == 0 || tests > branches + 1 || others > 8 {
        return false;
    }
    let span = f.spans[t];
    f.blocks[b].insts.pop();
    for (n, s) in sides.iter().enumerate() {
        let mut under = None;
        for i in &s.insts {
            if f.insts[*i].op == Opcode::Discard {
                let v = f.insts[*i].args[0];
                if !atoms(f, v).iter().any(|a| implies(f, *a, cond, n == 0)) {
                    let c = *under.get_or_insert_with(|| if n == 0 { cond } else { negated(f, b, cond, span) });
                    let both = f.const_bits(v).is_some_and(|c| c[0] != 0);
                    f.insts[*i].args[0] = if both { c } else { push(f, b, InstData::new(Opcode::Iand, &[c, v], Imm::None), span) };
                }
            }
            f.blocks[b].insts.push(*i);
        }
    }
    let mut jump = InstData::new(Opcode::Jump, &[], Imm::None);
    jump.targets.push(sides[0].to.clone());
    let jump = f.make_inst(jump, &[], span);
    f.blocks[b].insts.push(jump);
    for s in sides.iter().filter_map(|s| s.block) {
        f.blocks[s].insts.clear();
        f.layout.retain(|x| *x != s);
    }
    true
}

fn push(f: &mut Function, b: Block, d: InstData, span: Span) -> Value {
    let i = f.make_inst(d, &[types::I1], span);
    f.blocks[b].insts.push(i);
    f.insts[i].results[0]
}

/// The opposite of a condition; comparisons of integers turn round.
fn negated(f: &mut Function, b: Block, v: Value, span: Span) -> Value {
    if let Some((cc, x, k)) = comparison(f, v) {
        return push(f, b, InstData::new(Opcode::Icmp, &[x, k], Imm::IntCC(cc.inverse())), span);
    }
    push(f, b, InstData::new(Opcode::Inot, &[v], Imm::None), span)
}

fn comparison(f: &Function, v: Value) -> Option<(IntCC, Value, Value)> {
    let d = f.def_if(v, Opcode::Icmp)?;
    let Imm::IntCC(cc) = d.imm else { return None };
    (f.ty(d.args[0]) == types::I32).then(|| (cc, d.args[0], d.args[1]))
}

/// The conditions whose conjunction a value is.
fn atoms(f: &Function, v: Value) -> Vec<Value> {
    match f.def_if(v, Opcode::Iand) {
        Some(d) if f.ty(v) == types::I1 => d.args.iter().flat_map(|a| atoms(f, *a)).collect(),
        _ => vec![v],
    }
}

/// Whether `atom` being true says that `cond` is `sense`: an equality with a constant settles every other comparison.
fn implies(f: &Function, atom: Value, cond: Value, sense: bool) -> bool {
    let (Some((IntCC::Eq, x, k)), Some((cc, y, limit))) = (comparison(f, atom), comparison(f, cond)) else { return false };
    match (f.const_bits(k), f.const_bits(limit)) {
        (Some(a), Some(b)) if x == y => cc.eval(a[0], b[0]) == sense,
        _ => false,
    }
}

/// `x != 0 and x != 1 and … x != n-1` is `x >= n`, unsigned.
fn ranges(f: &mut Function) {
    let drops: Vec<(Block, Inst)> = f.ordered().filter(|(_, i)| f.insts[*i].op == Opcode::Discard).collect();
    for (b, i) in drops {
        let all = atoms(f, f.insts[i].args[0]);
        let differs = |f: &Function, a: Value| match comparison(f, a) {
            Some((IntCC::Ne, x, k)) => f.const_bits(k).map(|c| (x, c[0])),
            _ => None,
        };
        let Some((x, _)) = all.iter().find_map(|a| differs(f, *a)) else { continue };
        let mut values: Vec<u32> = all.iter().filter_map(|a| differs(f, *a)).filter(|d| d.0 == x).map(|d| d.1).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() < 2 || values.iter().zip(0u32..).any(|(v, n)| *v != n) {
            continue;
        }
        let rest: Vec<Value> = all.into_iter().filter(|a| differs(f, *a).is_none_or(|d| d.0 != x)).collect();
        let span = f.spans[i];
        let Some(at) = f.blocks[b].insts.iter().position(|x| *x == i) else { continue };
        let k = f.make_inst(InstData::new(Opcode::Const, &[], Imm::Const([values.len() as u32, 0, 0, 0])), &[types::I32], span);
        let kv = f.insts[k].results[0];
        let c = f.make_inst(InstData::new(Opcode::Icmp, &[x, kv], Imm::IntCC(IntCC::Uge)), &[types::I1], span);
        let (mut v, mut new) = (f.insts[c].results[0], vec![k, c]);
        for r in rest {
            let n = f.make_inst(InstData::new(Opcode::Iand, &[r, v], Imm::None), &[types::I1], span);
            v = f.insts[n].results[0];
            new.push(n);
        }
        f.insts[i].args[0] = v;
        f.blocks[b].insts.splice(at..at, new);
    }
}
