//! What a program of macro-operations reads and writes, register by register.
//!
//! Each register of a virtual register is a value of its own for `regalloc`. Where room is short a vector's lanes die one by one;
//! otherwise it stays whole, so that its neighbours keep to even registers. What texture reads and loads deliver stays whole until
//! it is read first: up to then it arrives when it likes.

use crate::isa::names::Format;
use crate::select::mir::{Base, Kind, MProgram, Mop, Vreg};
use retroshade_ir::Scalar;
use retroshade_regalloc::flow::{Live, Values};
use retroshade_regalloc::{Flow, FlowBlock, Point};
use std::collections::BTreeSet;
use std::ops::Range;

/// A program as `regalloc` reads it.
pub struct Registers {
    /// Reads and writes.
    pub flow: Flow,
    /// The first value of each virtual register, and the number of values.
    first: Vec<u32>,
}

impl Registers {
    /// Numbers the registers of a program; `apart`: the lanes of a vector die one by one.
    pub fn of(p: &MProgram, apart: bool) -> Registers {
        let mut first = vec![0];
        for d in &p.vregs {
            first.push(first.last().copied().unwrap_or(0) + d.regs() as u32);
        }
        let values = first.last().copied().unwrap_or(0) as usize;
        let mut r = Registers { flow: Flow { blocks: Vec::new(), values }, first };
        // Where a vector stays whole anyway nobody asks.
        let fetched = if apart { fetched(p) } else { BTreeSet::new() };
        let block = |b: &crate::select::mir::MBlock| {
            // What may still be on its way.
            let mut flying = fetched.clone();
            let mut point = |o: &Mop| {
                let point = r.point(p, o, &|v: Vreg| !apart || flying.contains(&v));
                for v in o.reads() {
                    flying.remove(&v);
                }
                flying.extend(o.writes().filter(|v| fetched.contains(v)));
                point
            };
            FlowBlock { points: b.ops.iter().map(&mut point).collect(), succs: b.succs.iter().map(|s| *s as u32).collect() }
        };
        r.flow.blocks = p.blocks.iter().map(block).collect();
        r
    }

    /// The values of a virtual register.
    pub fn values(&self, v: Vreg) -> Range<u32> {
        self.first[v.0 as usize]..self.first[v.0 as usize + 1]
    }

    /// The virtual register of a value.
    pub fn vreg(&self, value: u32) -> Vreg {
        Vreg(self.first.partition_point(|f| *f <= value) as u32 - 1)
    }

    fn point(&self, p: &MProgram, op: &Mop, whole: &dyn Fn(Vreg) -> bool) -> Point {
        let mut out = Point::default();
        let read = |v: Vreg, lane: u8| {
            let all = self.values(v);
            if whole(v) {
                return all;
            }
            let at = all.start + if p.data(v).ty == Scalar::F16 { lane as u32 / 2 } else { lane as u32 };
            at..at + 1
        };
        for (k, src) in op.src.iter().enumerate() {
            // What a select takes under its predicate is read after the other side was written.
            let list: &mut Values = if Some(k) == op.kind.late() { &mut out.late } else { &mut out.reads };
            for l in src {
                if let Base::V(v, lane) = l.base {
                    list.extend(read(v, lane));
                }
            }
        }
        for w in op.writes() {
            let list = if early(&op.kind, p, w) { &mut out.early } else { &mut out.writes };
            list.extend(self.values(w));
        }
        out
    }
}

/// Virtual registers that texture reads and loads write: those arrive in `r` and `pa` only.
pub fn fetched(p: &MProgram) -> BTreeSet<Vreg> {
    let fetches = |o: &&Mop| matches!(o.kind, Kind::Sample { .. } | Kind::Load { .. });
    p.blocks.iter().flat_map(|b| &b.ops).filter(fetches).filter_map(|o| o.dst).collect()
}

/// Virtual registers that texture reads and loads take as coordinates, levels and addresses.
pub fn addresses(p: &MProgram) -> BTreeSet<Vreg> {
    let fetches = |o: &&Mop| matches!(o.kind, Kind::Sample { .. } | Kind::Load { .. });
    p.blocks.iter().flat_map(|b| &b.ops).filter(fetches).flat_map(|o| o.reads()).collect()
}

/// Virtual registers of which something is live where the program starts.
pub fn at_entry(p: &MProgram) -> BTreeSet<Vreg> {
    let r = Registers::of(p, false);
    r.flow.live().start.first().map(|s| s.ones().map(|v| r.vreg(v as u32)).collect()).unwrap_or_default()
}

/// Whether the destination needs a place of its own whatever its sources are. Lane-wise operations on several lanes are
/// checked against their sources at placement instead.
pub fn early(kind: &Kind, p: &MProgram, dst: Vreg) -> bool {
    match kind {
        // One word reads everything before it writes four halves or bytes.
        Kind::Convert(_, Format::F16, _) | Kind::Convert(_, Format::U8, true) => false,
        Kind::Convert(_, to, _) => p.data(dst).lanes > 1 || !to.is_float(),
        // Each product reads the vector after the lanes before were written.
        Kind::Rows => true,
        Kind::Mad | Kind::SelectZero(_) | Kind::SelectBool => p.data(dst).lanes > 1,
        _ => false,
    }
}

/// Vectors that could live in an internal register, made and used up within one block, with nothing between that loses it; and whether
/// they are copies.
pub fn candidates(p: &MProgram, registers: &Registers, live: &Live) -> Vec<(Vreg, bool)> {
    let mut out = Vec::new();
    let across: BTreeSet<Vreg> = live.start.iter().flat_map(|s| s.ones()).map(|v| registers.vreg(v as u32)).collect();
    let mut writes = vec![0u32; p.vregs.len()];
    for op in p.blocks.iter().flat_map(|b| &b.ops) {
        op.writes().for_each(|w| writes[w.0 as usize] += 1);
    }
    // Bytes and halves of integers are taken from registers of 32 bits.
    let parts = |k: &Kind| matches!(k, Kind::Convert(from, ..) if !from.is_float());
    let taken_apart: BTreeSet<Vreg> = p.blocks.iter().flat_map(|b| &b.ops).filter(|o| parts(&o.kind)).flat_map(|o| o.reads()).collect();
    let mut last = vec![None; p.vregs.len()];
    for b in &p.blocks {
        // The last read of each register in this block, and the next operation behind which internal registers are lost.
        for (n, op) in b.ops.iter().enumerate() {
            op.reads().for_each(|r| last[r.0 as usize] = Some(n));
        }
        let mut lost = vec![b.ops.len(); b.ops.len() + 1];
        for (n, op) in b.ops.iter().enumerate().rev() {
            lost[n] = if loses(&op.kind) { n } else { lost[n + 1] };
        }
        for (n, op) in b.ops.iter().enumerate() {
            let Some(v) = op.dst else { continue };
            let d = p.data(v);
            let kind = matches!(op.kind, Kind::Float(_) | Kind::Copy | Kind::Select(_) | Kind::Rows);
            if !kind || d.ty != Scalar::F32 || !(3..=4).contains(&d.lanes) || across.contains(&v) || taken_apart.contains(&v) {
                continue;
            }
            if writes[v.0 as usize] == 1 && last[v.0 as usize].is_some_and(|l| l > n && lost[n] > l) {
                out.push((v, op.kind == Kind::Copy));
            }
        }
        b.ops.iter().flat_map(|o| o.reads()).for_each(|r| last[r.0 as usize] = None);
    }
    out
}

/// Whether internal registers do not survive an operation.
fn loses(kind: &Kind) -> bool {
    matches!(kind, Kind::Sample { .. } | Kind::Load { .. } | Kind::Kill(_) | Kind::Depth | Kind::Branch(..) | Kind::EndPhase | Kind::Keep)
}
