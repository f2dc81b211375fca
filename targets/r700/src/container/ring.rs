//! The main program of a vertex stage as export stage: writes to the ES-GS ring stand in the place of its exports, and nothing else moves.

use crate::isa::forms::exp_buf;
use crate::place::Leaf;
use crate::select::mir::{Coord, Export, Kind, Mir, Write};

/// The write of an export to a slot, none where a lane does not come from its own channel: writes have no selects.
fn write(e: &Export, slot: u32, mir: &Mir) -> Option<Write> {
    let mut src = [None; 4];
    for (c, x) in e.src.iter().enumerate() {
        src[c] = match x {
            Coord::Web(w) if mir.webs[w.0 as usize].chan == Some(c as u8) => Some(*w),
            Coord::Masked => None,
            _ => return None,
        };
    }
    Some(Write { form: exp_buf::MEM_RING, kind: 0, base: slot as u16 * 4, src, quad: e.quad, index: None })
}

/// Writes to these slots instead of exporting to their targets; whether all exports have such a write. Without one the code is as it was.
pub fn to_ring(leaves: &mut [Leaf], mir: &Mir, slots: &[((u8, u16), u32)]) -> bool {
    let mut writes = Vec::new();
    for (k, leaf) in leaves.iter().enumerate() {
        for (i, op) in leaf.ops.iter().enumerate() {
            let Kind::Export(e) = &op.kind else { continue };
            let slot = slots.iter().find(|s| s.0 == (e.kind, e.base));
            let idle = e.src.iter().all(|x| *x == Coord::Masked);
            // What only the rasteriser asks for is written to no slot.
            let slot = if idle { slot.map_or(0, |s| s.1) } else if let Some(s) = slot { s.1 } else { return false };
            let Some(write) = write(e, slot, mir) else { return false };
            writes.push((k, i, write));
        }
    }
    for (k, i, write) in writes {
        leaves[k].ops[i].kind = Kind::Write(Box::new(write));
    }
    true
}
