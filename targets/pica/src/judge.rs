//! The placement as regalloc2's checker reads it: every lane of a temporary register is a place, every temporary a name.

use crate::colocate::{reads, test_reads};
use crate::forms::Op;
use crate::mir::{Dest, Node, Program, Tmp};
use crate::place::Places;
use retroshade_regalloc::judge::{At, Block, Placed, Step};

fn at(places: &Places, t: Tmp) -> At {
    let (reg, lane) = places[t as usize];
    (t, reg as u32 * 4 + lane as u32)
}

/// A node's steps: what is really computed or moved, then the copies that both ends of share a lane.
fn steps(p: &Program, places: &Places, n: &Node) -> Vec<Step> {
    let mut renames = Vec::new();
    let mut defs: Vec<At> = Vec::new();
    for (l, d) in n.dests.iter().enumerate() {
        let Dest::Tmp(d) = d else { continue };
        let copied = (n.op == Op::Mov && n.test.is_none()).then(|| n.srcs[0][l]).filter(|s| !s.neg).and_then(|s| s.as_tmp());
        match copied {
            Some(s) if at(places, s).1 == at(places, *d).1 => renames.push((*d, s)),
            _ => defs.push(at(places, *d)),
        }
    }
    let uses = reads(p, n).iter().map(|t| at(places, *t)).collect();
    // Copies read the old values, so they come first unless they name what is written now.
    let op = Step::Op { uses, late: Vec::new(), defs };
    if renames.is_empty() { vec![op] } else { vec![Step::Rename(renames), op] }
}

/// The program with its places.
pub fn placed(p: &Program, places: &Places) -> Placed {
    let mut out = Placed::default();
    for b in &p.blocks {
        let mut all: Vec<Step> = b.nodes.iter().flat_map(|n| steps(p, places, n)).collect();
        let uses = test_reads(p, b).iter().map(|t| at(places, *t)).collect();
        all.push(Step::Op { uses, late: Vec::new(), defs: Vec::new() });
        out.blocks.push(Block { steps: all, succs: b.succs.to_vec() });
    }
    out.entry = out.live_at_entry().into_iter().map(|t| at(places, t)).collect();
    out
}
