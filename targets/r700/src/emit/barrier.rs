//! Which control-flow instructions must wait: BARRIER stays only where an unfinished clause or export is in the way.
//!
//! Clauses and exports may overlap as long as none reads or writes what an unfinished one writes or reads. Instructions that
//! change masks or the stack, memory exports and places that a jump may lead to always wait.

use crate::isa::forms::Format;
use crate::isa::program::{Clause, Program, fetch_space};
use crate::isa::word::Word;
use std::collections::BTreeSet;

/// Registers as bits.
#[derive(Clone, Copy, Default)]
struct Touched {
    reads: u128,
    writes: u128,
    /// Execute masks or valid bits change.
    masks: bool,
}

const ALL: u128 = u128::MAX;

fn bit(r: u64) -> u128 {
    1 << (r & 127)
}

fn touched(p: &Program, w: &Word) -> Option<Touched> {
    let mut t = Touched::default();
    match w.info().format {
        Format::CfAlu => {
            if w.name() != "ALU" {
                return None;
            }
            let Some(Clause::Alu(groups)) = p.clauses.get(&(w.get("ADDR") as u32)) else { return None };
            for s in groups.iter().flat_map(|(_, g)| &g.slots) {
                for x in s.sources().iter().filter(|x| x.is_gpr()) {
                    t.reads |= if x.rel { ALL } else { bit(x.sel as u64) };
                }
                if s.writes() {
                    t.writes |= if s.dst_rel { ALL } else { bit(s.dst as u64) };
                }
                t.masks |= s.info().short.starts_with("KILL") || s.update_exec;
            }
        }
        Format::ExpSwiz => {
            for k in 0..=w.get("BURST_COUNT") {
                t.reads |= bit(w.get("RW_GPR") + k);
            }
        }
        Format::Cf if fetch_space(w).is_some() => {
            let Some(Clause::Fetch(list)) = p.clauses.get(&(w.get("ADDR") as u32)) else { return None };
            for (_, f) in list {
                t.reads |= bit(f.get("SRC_GPR"));
                t.writes |= bit(f.get("DST_GPR"));
            }
        }
        _ => return None,
    }
    Some(t)
}

/// By control-flow instruction: whether it must wait for what comes before it.
pub fn needed(p: &Program) -> Vec<bool> {
    let targets: BTreeSet<u64> =
        p.cf.iter()
            .filter(|w| w.info().format == Format::Cf && fetch_space(w).is_none() && w.get("ADDR") != 0)
            .map(|w| w.get("ADDR"))
            .collect();
    // What has not been waited for; `None` after instructions that nothing may pass.
    let mut open: Option<Touched> = Some(Touched::default());
    let mut out = Vec::with_capacity(p.cf.len());
    for (i, w) in p.cf.iter().enumerate() {
        let own = touched(p, w).filter(|_| !targets.contains(&(i as u64)));
        let wait = match (open, own) {
            (Some(o), Some(t)) => o.masks || t.reads & o.writes != 0 || t.writes & (o.reads | o.writes) != 0,
            _ => true,
        };
        open = match own {
            Some(t) if wait => Some(t),
            Some(t) => open.map(|o| Touched { reads: o.reads | t.reads, writes: o.writes | t.writes, masks: o.masks | t.masks }),
            None => None,
        };
        out.push(wait);
    }
    out
}

/// Clears BARRIER where it is not needed.
pub fn relax(words: &mut [u32]) {
    let Ok(p) = Program::decode(words) else { return };
    for (i, wait) in needed(&p).into_iter().enumerate() {
        if !wait {
            words[2 * i + 1] &= !(1 << 31);
        }
    }
}
