//! What a word reads and writes, place by place: who may pass whom, and what lives in internal registers.
//!
//! The answer comes from the micro-operations that the simulator executes, so that both have one idea of a word.

use crate::isa::forms::{SMBO, SMLSI, TABLE, VMOV, field};
use crate::isa::operands::{Src, is_unified};
use crate::isa::operation::{Advance, Flow, Kind, Micro, translate};
use crate::isa::registers::{Bank, Reg};
use retroshade_emit::form::Decoded;
use retroshade_ir::{Opcode, Scalar};
use smallvec::SmallVec;

/// A 32-bit register, a lane of an internal register (4 × number + lane), or a predicate (in the bank of global registers).
pub type Place = (Bank, u16);

/// A few places.
pub type Places = SmallVec<[Place; 8]>;

/// Places that a word touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Read.
    pub reads: Places,
    /// Written.
    pub writes: Places,
    /// The predicate under which it writes, and whether inverted: otherwise the old values stay.
    pub guard: Option<(u8, bool)>,
    /// Nothing may pass it: texture reads, loads, branches, waits, derivatives, indexed operands, ends.
    pub fixed: bool,
}

impl Access {
    /// Whether the order of two words matters.
    pub fn conflicts(&self, other: &Access) -> bool {
        if self.fixed || other.fixed {
            return true;
        }
        let meet = |a: &[Place], b: &[Place]| a.iter().any(|x| b.contains(x));
        meet(&self.writes, &other.writes) || meet(&self.writes, &other.reads) || meet(&self.reads, &other.writes)
    }

    /// Whether `second` may be executed together with this word, all reads before all writes.
    pub fn joins(&self, second: &Access) -> bool {
        !self.writes.iter().any(|w| second.reads.contains(w) || second.writes.contains(w))
    }

    /// Whether it writes a predicate.
    pub fn decides(&self, p: u8) -> bool {
        self.writes.contains(&(Bank::Global, p.into()))
    }

    /// Lanes of internal registers among some places.
    pub fn lanes(places: &[Place]) -> [u8; 3] {
        let mut out = [0; 3];
        for (_, n) in places.iter().filter(|p| p.0 == Bank::I && p.1 < 12) {
            out[*n as usize / 4] |= 1 << (n & 3);
        }
        out
    }
}

/// The place of a lane of an operand.
pub fn lane(reg: Reg, lane: usize, ty: Scalar) -> Option<Place> {
    match reg.bank {
        Bank::I => Some((Bank::I, 4 * reg.n + lane as u16)),
        b if is_unified(b) => Some((b, reg.n + if ty == Scalar::F16 { lane as u16 / 2 } else { lane as u16 })),
        _ => None,
    }
}

fn word(reg: Reg) -> Option<Place> {
    lane(reg, 0, Scalar::I32)
}

/// What a word touches.
pub fn of(d: &Decoded) -> Access {
    let mut out = Access::default();
    out.fixed = collect(d, &mut out).is_none();
    out
}

fn collect(d: &Decoded, out: &mut Access) -> Option<()> {
    let name = d.form;
    if matches!(name, SMLSI | SMBO) {
        return None;
    }
    let mut state = Advance::START;
    for m in translate(d, name, false, &mut state).ok()? {
        add(&m, out)?;
    }
    let move_end = name == VMOV && TABLE.get(d, field!(move_type)) == Some(0) && TABLE.get(d, field!(end_or_src0_bank_ext)) == Some(1);
    let ends = TABLE.get(d, field!(end)) == Some(1) || move_end;
    (!ends).then_some(())
}

/// The places that a texture read or load brings, `None` for all others.
pub fn brought(m: &Micro) -> Option<Places> {
    let mut places: Places = match m.kind {
        Kind::Sample(_) => (0..4).filter_map(|k| lane(m.dst, k, m.ty)).collect(),
        Kind::Load { count, .. } => (0..count).map(|k| (m.dst.bank, m.dst.n + k)).collect(),
        _ => return None,
    };
    // Two lanes of halves share a register.
    places.dedup();
    Some(places)
}

/// Adds what a micro-operation touches; `None` for what nothing may pass, of which not everything is told.
pub fn add(m: &Micro, out: &mut Access) -> Option<()> {
    if let Some(places) = brought(m) {
        out.guard = m.pred;
        out.writes.extend(places);
    }
    let indexed = |r: Reg| matches!(r.bank, Bank::Indexed(_) | Bank::Index | Bank::Global);
    if m.flow != Flow::Next || indexed(m.dst) || m.src.iter().any(|s| indexed(s.reg)) {
        return None;
    }
    if let Some((p, _)) = m.pred {
        out.reads.push((Bank::Global, p as u16));
        out.guard = m.pred;
    }
    let lanes: SmallVec<[usize; 4]> = (0..4).filter(|k| m.mask >> k & 1 == 1).collect();
    let read = |s: &Src, k: usize, ty: Scalar| if s.sel[k] < 4 { lane(s.reg, s.sel[k] as usize, ty) } else { None };
    let s = &m.src;
    let (mut ty, mut fixed) = (m.ty, false);
    match &m.kind {
        Kind::Float(Opcode::Dot, n) => out.reads.extend((0..*n as usize).flat_map(|k| s.iter().filter_map(move |s| read(s, k, m.ty)))),
        Kind::Float(op, _) => {
            // A derivative is read by the neighbours too.
            fixed = matches!(op, Opcode::Ddx | Opcode::Ddy);
            for &k in &lanes {
                let at = if m.scalar { 0 } else { k };
                out.reads.extend(s.iter().filter_map(|s| read(s, at, m.src_ty)));
            }
        }
        Kind::Pair(halves) => return halves.iter().try_for_each(|h| add(h, out)),
        Kind::FloatMove(cond) => {
            let by_byte = matches!(cond, Some((_, true)));
            for &k in &lanes {
                out.reads.extend(s.iter().take(2).filter_map(|s| read(s, k, ty)));
                let third = s.get(2).and_then(|c| if by_byte { word(c.reg) } else { read(c, k, ty) });
                out.reads.extend(third);
            }
        }
        Kind::IntMove(..) | Kind::Int(_) => {
            out.reads.extend(s.iter().filter_map(|s| word(s.reg)));
            out.writes.extend(word(m.dst));
            return Some(());
        }
        Kind::Pack { from, to, .. } => {
            for &k in &lanes {
                let sel = s[0].sel[k] as usize;
                out.reads.extend(match from {
                    6 if s[1].reg.bank != Bank::Imm => lane(s[sel >> 1].reg, sel & 1, Scalar::F32),
                    6 => lane(s[0].reg, sel, Scalar::F32),
                    5 => lane(s[0].reg, sel, Scalar::F16),
                    3 | 4 if s[0].reg.bank != Bank::I => lane(s[0].reg, sel, Scalar::F16),
                    _ => word(s[0].reg),
                });
            }
            ty = match to {
                6 => Scalar::F32,
                5 => Scalar::F16,
                // Integers go into halves or bytes of registers.
                _ => {
                    let each = if matches!(to, 3 | 4) { 2 } else { 4 };
                    let inside = m.dst.bank == Bank::I;
                    let at = |k: usize| word(Reg::new(m.dst.bank, m.dst.n + if inside { 0 } else { (k / each) as u16 }));
                    out.writes.extend(lanes.iter().filter_map(|k| at(*k)));
                    return Some(());
                }
            };
        }
        Kind::Test { alu, to, .. } => {
            let p = (*to)?;
            if alu.0 == 0 {
                let k = s[0].sel[0] as usize;
                out.reads.extend(lane(s[0].reg, k, ty));
                out.reads.extend(lane(s[1].reg, if m.scalar { 0 } else { k }, ty));
            } else {
                out.reads.extend(s.iter().filter_map(|s| word(s.reg)));
            }
            out.writes.push((Bank::Global, p as u16));
            return Some(());
        }
        Kind::Immediate(_) => {
            out.writes.extend(word(m.dst));
            return Some(());
        }
        Kind::Nothing | Kind::Kill | Kind::Depth | Kind::Sample(_) | Kind::Load { .. } => return None,
    }
    for k in lanes {
        out.writes.extend(lane(m.dst, k, ty));
    }
    (!fixed).then_some(())
}
