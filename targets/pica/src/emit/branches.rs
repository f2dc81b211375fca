//! Which words decide which branches of the module.

use crate::emit::Emitted;
use crate::isa::forms::Op;
use crate::select::mir::Program;
use retroshade_ir::interp::Branch;
use retroshade_ir::{FuncId, Imm, Module, Opcode};

/// The branches by their bytes, of functions that the code calls whenever the module does. `functions` are those of the program: the entry,
/// then the procedures, callers first.
pub fn named(e: &Emitted, p: &Program, m: &Module, functions: &[FuncId]) -> Vec<(u32, Branch)> {
    // A call whose results nobody needs is left out, and so is what it would call.
    let mut whole = vec![true; functions.len()];
    for (n, id) in functions.iter().enumerate().skip(1) {
        let to = |f: &FuncId| {
            let insts = &m.functions[*f].insts;
            m.functions[*f].ordered().filter(|(_, i)| insts[*i].op == Opcode::Call && insts[*i].imm == Imm::Func(*id)).count()
        };
        let calls = p.blocks.iter().flat_map(|b| &b.nodes).filter(|node| node.op == Op::Call && usize::from(node.emit.0) + 1 == n);
        whole[n] = calls.count() == functions.iter().map(to).sum::<usize>() && (0..n).all(|k| whole[k] || to(&functions[k]) == 0);
    }
    let branch = |(word, n, block): &(u32, usize, _)| {
        let func = *functions.get(*n).filter(|_| whole[*n])?;
        Some((4 * word, Branch { func, block: *block }))
    };
    e.branches.iter().filter_map(branch).collect()
}
