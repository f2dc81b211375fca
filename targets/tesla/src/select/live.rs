//! Whether pixels that only help their quad need texels.

use cranelift_entity::EntitySet;
use retroshade_ir::{Function, Imm, InstData, Opcode, TexLod, TexOp, Value};

/// Whether a texel decides, by its value or by the way that it makes control flow take, what is compared within quads: coordinates of samples with
/// an implicit level, and operands of derivatives.
pub fn texels_make_differences(func: &Function) -> bool {
    let compared = |d: &InstData| match (d.op, &d.imm) {
        (Opcode::Ddx | Opcode::Ddy, _) => true,
        (Opcode::Tex, Imm::Tex(t)) => {
            matches!(t.op, TexOp::Sample | TexOp::Lod) && matches!(t.lod, TexLod::Implicit | TexLod::Bias | TexLod::Grad)
        }
        _ => false,
    };
    let insts: Vec<&InstData> = func.ordered().map(|(_, i)| &func.insts[i]).collect();
    if !insts.iter().any(|d| compared(d)) {
        return false;
    }
    let mut texels: EntitySet<Value> = EntitySet::new();
    // Values of a loop come to its beginning again.
    loop {
        let mut more = false;
        for d in &insts {
            let asks = d.args.iter().any(|v| texels.contains(func.resolve(*v)));
            let branches = matches!(d.op, Opcode::BrIf | Opcode::Switch);
            if asks && (compared(d) || branches) {
                return true;
            }
            if asks || d.op == Opcode::Tex {
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
