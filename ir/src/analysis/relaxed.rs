//! Which values may be held and computed in relaxed precision: at least the range and the 10 bits of mantissa of `mediump`.
//!
//! Instructions say so themselves (`relaxed`). Constants go with what uses them; operations that only move lanes and block parameters, which
//! have no mark of their own, are relaxed if everything is that reaches them.

use crate::entities::Value;
use crate::function::Function;
use crate::opcode::Opcode;
use cranelift_entity::SecondaryMap;

/// The relaxed values of a function.
#[derive(Clone, Debug)]
pub struct Relaxed(SecondaryMap<Value, bool>);

/// Whether an operation gives on what it takes, unchanged.
fn moves(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Select | Splat | Build | Extract | Insert | Shuffle | Fneg | Fabs)
}

impl Relaxed {
    /// Finds them: everything that may be, then without what something else reaches, until nothing changes.
    pub fn new(func: &Function) -> Relaxed {
        let mut set: SecondaryMap<Value, bool> = SecondaryMap::new();
        for b in &func.layout {
            let entry = func.entry() == Some(*b);
            for v in func.blocks[*b].params.iter().filter(|v| !entry && func.ty(**v).is_number()) {
                set[*v] = true;
            }
            for i in &func.blocks[*b].insts {
                let d = &func.insts[*i];
                if d.relaxed || moves(d.op) || matches!(d.op, Opcode::Const | Opcode::Undef) {
                    for v in d.results.iter().filter(|v| func.ty(**v).is_number()) {
                        set[*v] = true;
                    }
                }
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (_, i) in func.ordered() {
                let d = &func.insts[i];
                // The condition of a choice is no part of it.
                let skip = usize::from(d.op == Opcode::Select);
                let all = |args: &[Value]| args.iter().all(|v| set[func.resolve(*v)]);
                if let (true, false, [v]) = (moves(d.op), d.relaxed || all(&d.args[skip.min(d.args.len())..]), &d.results[..]) {
                    changed |= std::mem::take(&mut set[*v]);
                }
                for t in &d.targets {
                    for (p, a) in func.blocks[t.block].params.iter().zip(&t.args) {
                        if !set[func.resolve(*a)] {
                            changed |= std::mem::take(&mut set[*p]);
                        }
                    }
                }
            }
        }
        Relaxed(set)
    }

    /// Whether a value is relaxed.
    pub fn contains(&self, v: Value) -> bool {
        self.0[v]
    }
}
