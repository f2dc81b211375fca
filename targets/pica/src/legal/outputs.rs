//! Outputs are written exactly once on every way: what is not, or twice, is said to freeze the chip.
//!
//! An output for which that does not hold becomes a variable, which is stored at the end. In geometry programs all are, before
//! each vertex. Facts: ISA sheet section 11 (rule 3) and 12.

use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::Cfg;
use retroshade_ir::passes::rewrite::{Action, rewrite};
use retroshade_ir::*;

/// Before each vertex is emitted all outputs are written: the machine has two banks of them, so what is not written again is
/// two vertices old. Until then they are variables, which become values.
pub fn vertices(m: &mut Module) {
    let all: Vec<Output> = m.outputs.keys().collect();
    stored_before(m, &all, Opcode::EmitVertex);
}

/// Outputs of a vertex program that are not written exactly once on every way are written at its end.
pub fn outputs(m: &mut Module) {
    let bad: Vec<Output> = m.outputs.keys().filter(|o| !once(m, *o)).collect();
    if !bad.is_empty() {
        stored_before(m, &bad, Opcode::Return);
    }
}

/// Whether every way through the program stores an output once. Places within an output are left alone.
fn once(m: &Module, o: Output) -> bool {
    let f = m.main();
    let whole = |i: Inst| f.insts[i].args.len() == 1 && f.ty(f.insts[i].args[0]) == m.outputs[o].ty;
    let stores = |b: Block| -> Vec<Inst> {
        let is =
            |i: &&Inst| f.insts[**i].op == Opcode::Output && matches!(f.insts[**i].imm, Imm::Mem { var: MemRef::Output(x), .. } if x == o);
        f.blocks[b].insts.iter().filter(is).copied().collect()
    };
    let counts: SecondaryMap<Block, u8> = {
        let mut n = SecondaryMap::new();
        for b in &f.layout {
            let s = stores(*b);
            if !s.iter().all(|i| whole(*i)) {
                return true;
            }
            n[*b] = s.len().min(2) as u8;
        }
        n
    };
    // Least and most stores before a block's end; two stand for more.
    let cfg = Cfg::new(f);
    let mut behind: SecondaryMap<Block, Option<(u8, u8)>> = SecondaryMap::new();
    loop {
        let mut changed = false;
        for b in cfg.rpo() {
            let before = cfg.preds(*b).iter().filter_map(|e| behind[e.from]);
            let start = (f.entry() == Some(*b)).then_some((0, 0));
            let Some((lo, hi)) = before.chain(start).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { continue };
            let new = Some(((lo + counts[*b]).min(2), (hi + counts[*b]).min(2)));
            changed |= std::mem::replace(&mut behind[*b], new) != new;
        }
        if !changed {
            break;
        }
    }
    let ends = cfg.rpo().iter().filter(|b| f.terminator(**b).is_some_and(|t| f.insts[t].op == Opcode::Return));
    ends.into_iter().all(|b| behind[*b].is_none_or(|n| n == (1, 1)))
}

/// Outputs become variables that are stored before each operation of a kind.
fn stored_before(m: &mut Module, outputs: &[Output], at: Opcode) {
    let decls: Vec<(Output, String, Type)> = outputs.iter().map(|o| (*o, m.outputs[*o].name.clone(), m.outputs[*o].ty)).collect();
    let f = m.main_mut();
    let mut locals: SecondaryMap<Output, Option<Local>> = SecondaryMap::new();
    for (o, name, ty) in &decls {
        locals[*o] = Some(f.locals.push(function::LocalDecl { name: format!("{name}.next"), ty: *ty, count: 1 }));
    }
    rewrite(f, |b, i| {
        let Imm::Mem { var: MemRef::Output(o), .. } = b.func.insts[i].imm else { return Action::Keep };
        let Some(l) = locals[o] else { return Action::Keep };
        let d = &mut b.func.insts[i];
        d.op = Opcode::LocalStore;
        d.imm = Imm::Mem { var: MemRef::Local(l), offset: 0 };
        Action::Changed
    });
    rewrite(f, |b, i| {
        if b.func.insts[i].op != at {
            return Action::Keep;
        }
        for (o, _, ty) in &decls {
            if let Some(l) = locals[*o] {
                let v = b.load(*ty, MemRef::Local(l), 0, None);
                b.store(MemRef::Output(*o), 0, v, None);
            }
        }
        Action::Keep
    });
}
