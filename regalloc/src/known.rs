//! What is known of a program wherever its values go: found once for all its allocations.

use crate::error::AllocError;
use crate::file::RegFile;
use crate::flow::Live;
use crate::liveness::{Peak, live, peaks};
use crate::program::Program;
use crate::tree::Wishes;
use regalloc2::{Function, OperandConstraint, OperandKind};
use std::cell::OnceCell;

/// What lives in a program and what its operands ask for. Of the register file it depends on the inputs alone.
pub struct Known {
    pub(crate) live: Live,
    pub(crate) peaks: [Peak; 3],
    /// The least size of each class with which the registers exist that operands are fixed to.
    pub(crate) floor: [u32; 3],
    wishes: OnceCell<Wishes>,
}

impl Known {
    /// Looks at a program; an error where regalloc2 would panic or answer wrongly.
    pub fn new(p: &Program, file: &RegFile) -> Result<Known, AllocError> {
        guard(p)?;
        let live = live(p);
        Ok(Known { peaks: peaks(p, file, &live), floor: fixed_floor(p, file), live, wishes: OnceCell::new() })
    }
    /// The most values of each class that live at once.
    pub fn max_live(&self) -> [u32; 3] {
        [0, 1, 2].map(|c| self.peaks[c].live)
    }
    /// What lives where most values of each class do.
    pub fn fullest(&self, p: &Program, file: &RegFile) -> Vec<u32> {
        self.peaks.iter().flat_map(|q| q.vregs(p, file, &self.live)).collect()
    }
    /// What values ask for wherever others go.
    pub(crate) fn wishes(&self, p: &Program) -> &Wishes {
        self.wishes.get_or_init(|| Wishes::new(p, &self.live))
    }
}

/// Rejects the inputs that make regalloc2 panic or answer wrongly.
fn guard(p: &Program) -> Result<(), AllocError> {
    for i in 0..p.num_insts() {
        let ops = p.parts(i);
        let bad = |what: String| Err(AllocError::BadOperands { inst: i as u32, what });
        for (k, o) in ops.iter().enumerate().filter(|(_, o)| o.is_tracked()) {
            if let OperandConstraint::FixedReg(r) = o.constraint() {
                for q in &ops[..k] {
                    let clash = q.is_tracked()
                        && q.constraint() == o.constraint()
                        && q.vreg() != o.vreg()
                        && q.kind() == o.kind()
                        && q.pos() == o.pos();
                    if clash {
                        return bad(format!("two values are fixed to {r}"));
                    }
                }
            }
            if let OperandConstraint::Reuse(n) = o.constraint() {
                match ops.get(n) {
                    Some(u) if u.kind() == OperandKind::Use && !matches!(u.constraint(), OperandConstraint::FixedReg(_)) => {}
                    _ => return bad(format!("operand {k} reuses operand {n}, which is no plain use")),
                }
                if ops[..k].iter().any(|q| q.constraint() == o.constraint()) {
                    return bad(format!("two results reuse operand {n}"));
                }
            }
        }
    }
    Ok(())
}

/// Fixed operands need their register in the environment: the least size per class that covers them.
fn fixed_floor(p: &Program, file: &RegFile) -> [u32; 3] {
    let mut floor = [1; 3];
    for i in 0..p.num_insts() {
        for o in p.parts(i).iter().filter(|o| o.is_tracked()) {
            if let OperandConstraint::FixedReg(r) = o.constraint()
                && !file.inputs.contains(&r)
            {
                let c = r.class() as usize;
                floor[c] = floor[c].max(r.hw_enc() as u32 + 1);
            }
        }
    }
    floor
}
