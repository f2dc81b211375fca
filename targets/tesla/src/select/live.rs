//! Whether pixels that only help their quad need texels.

use cranelift_entity::EntitySet;
use retroshade_ir::analysis::{Cfg, DomTree, Loops};
use retroshade_ir::{Function, Imm, InstData, Opcode, TexLod, TexOp, Value};

/// Whether a texel, or a texture's size, decides, by its value or by the way that it makes control flow take, what is compared within quads
/// (coordinates of samples with an implicit level, and operands of derivatives), at which level a quad reads, or how long a loop goes on: who
/// reads none keeps what the register held before, and might never leave.
pub fn helpers_need_texels(func: &Function) -> bool {
    let compared = |d: &InstData| match (d.op, &d.imm) {
        (Opcode::Ddx | Opcode::Ddy, _) => true,
        (Opcode::Tex, Imm::Tex(t)) => {
            matches!(t.op, TexOp::Sample | TexOp::Lod) && matches!(t.lod, TexLod::Implicit | TexLod::Bias | TexLod::Grad)
        }
        _ => false,
    };
    // The unit takes one level for a quad, whoever of it was dropped.
    let level = |d: &InstData| match (d.op, &d.imm) {
        (Opcode::Tex, Imm::Tex(t)) if t.op == TexOp::Sample && t.lod == TexLod::Level => d.args.last().copied(),
        _ => None,
    };
    let insts: Vec<&InstData> = func.ordered().map(|(_, i)| &func.insts[i]).collect();
    if !insts.iter().any(|d| matches!(d.op, Opcode::Tex | Opcode::Call)) {
        return false;
    }
    let cfg = Cfg::new(func);
    let loops = !Loops::new(&cfg, &DomTree::new(func, &cfg)).is_empty();
    let branches = loops || insts.iter().any(|d| compared(d) || level(d).is_some());
    let mut texels: EntitySet<Value> = EntitySet::new();
    let mut stored = false;
    // Values of a loop come to its beginning again, and so does what lies in arrays.
    loop {
        let mut more = false;
        for d in &insts {
            let asks = d.args.iter().any(|v| texels.contains(func.resolve(*v))) || stored && d.op == Opcode::LocalLoad;
            if asks && (compared(d) || branches && matches!(d.op, Opcode::BrIf | Opcode::Switch)) {
                return true;
            }
            if level(d).is_some_and(|l| texels.contains(func.resolve(l))) {
                return true;
            }
            if asks && d.op == Opcode::LocalStore {
                more |= !std::mem::replace(&mut stored, true);
            }
            if asks || matches!(d.op, Opcode::Tex | Opcode::Call) {
                d.results.iter().for_each(|r| more |= texels.insert(*r));
            }
            for t in &d.targets {
                for (to, from) in func.blocks[t.block].params.iter().zip(&t.args) {
                    if texels.contains(func.resolve(*from)) {
                        more |= texels.insert(*to);
                    }
                }
            }
        }
        if !more {
            return false;
        }
    }
}
