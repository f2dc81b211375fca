//! The placement as regalloc2's checker reads it: every lane of a temporary register is a place, every temporary a name.

use crate::isa::forms::Op;
use crate::place::Places;
use crate::place::coalesce::{reads, test_reads};
use crate::select::mir::{Dest, Node, Program, Tmp};
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
    if n.op == Op::Call {
        // Whatever the procedure overwrites is gone behind the call; its results are what its last places hold.
        let inside = p.overwritten(n.emit.0 as usize);
        let mut gone: Vec<At> = inside.iter().map(|t| at(places, *t)).filter(|a| !defs.iter().any(|d| d.1 == a.1)).collect();
        gone.sort_by_key(|a| (a.1, a.0));
        gone.dedup_by_key(|a| a.1);
        gone.extend(defs);
        return vec![Step::Op { uses, late: Vec::new(), defs: gone }];
    }
    // Copies read the old values, so they come first unless they name what is written now.
    let op = Step::Op { uses, late: Vec::new(), defs };
    if renames.is_empty() { vec![op] } else { vec![Step::Rename(renames), op] }
}

/// The program with its places: the entry, then each procedure by itself.
pub fn placed(p: &Program, places: &Places) -> Vec<Placed> {
    let first = p.procedures.first().map_or(p.blocks.len(), |q| q.blocks.start);
    let mut out = vec![stretch(p, places, 0..first)];
    for q in &p.procedures {
        let mut placed = stretch(p, places, q.blocks.clone());
        // The callers set the operands.
        let params = q.params.iter().map(|t| at(places, *t));
        placed.entry = placed.entry.into_iter().chain(params).collect();
        placed.entry.sort();
        placed.entry.dedup();
        out.push(placed);
    }
    out
}

/// Blocks that only jump among each other.
fn stretch(p: &Program, places: &Places, blocks: std::ops::Range<usize>) -> Placed {
    let mut out = Placed::default();
    for b in &p.blocks[blocks.clone()] {
        let mut all: Vec<Step> = b.nodes.iter().flat_map(|n| steps(p, places, n)).collect();
        let mut uses: Vec<At> = test_reads(p, b).iter().map(|t| at(places, *t)).collect();
        uses.extend(b.keeps.iter().map(|t| at(places, *t)));
        all.push(Step::Op { uses, late: Vec::new(), defs: Vec::new() });
        out.blocks.push(Block { steps: all, succs: b.succs.iter().map(|s| s - blocks.start).collect() });
    }
    out.entry = out.live_at_entry().into_iter().map(|t| at(places, t)).collect();
    out
}
