//! Placement: virtual registers to `r`, free `pa` and (by preference of their consumers) `o` registers.
//!
//! Registers are 32-bit units; a value takes consecutive ones. Every physical register keeps the stretches of positions in
//! which it is taken; values are placed in order of their first position, at the place that makes a copy vanish if it is
//! free, else at the first free one. Input registers are reused as soon as their input is dead.

pub mod check;
pub mod liveness;

use crate::isa::forms::{V16NMAD, V32NMAD, VDP, VMAD, VMAD2, row_of};
use crate::isa::operands::{Operand, Want, fits};
use crate::isa::registers::{Bank, BankTable, Reg};
use crate::place::liveness::intervals;
use crate::select::mir::{Base, Kind, MProgram, Vreg};
use retroshade_emit::form::FormId;
use retroshade_ir::Scalar;
use retroshade_lower::CompileError;
use std::collections::{BTreeMap, BTreeSet};

/// Temporaries that every operand of the vector forms can name, by the operand tables.
fn temporaries() -> u16 {
    const FORMS: [FormId; 5] = [VMAD2, V32NMAD, V16NMAD, VMAD, VDP];
    let names = |o: &Operand, n: u16| {
        let want = Want { reg: Reg::r(n), lanes: [None; 4], neg: false, abs: false };
        o.table == BankTable::Gpi || fits(o, &want, &[]).is_some()
    };
    let pair = |n: u16| FORMS.iter().flat_map(|f| row_of(*f).operands).all(|o| names(o, n));
    (0..u16::MAX).step_by(2).find(|n| !pair(*n)).unwrap_or(0)
}

/// Where values are.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// First register of each virtual register; `None` where it is never used.
    pub at: Vec<Option<Reg>>,
    /// Temporaries in use.
    pub temps: u16,
    /// Internal registers in use: number and stretches of positions.
    pub inside: Vec<(u16, Vec<(u32, u32)>)>,
}

type Stretch = (u32, u32);

fn overlap(a: &[Stretch], b: &[Stretch]) -> bool {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i].0 < b[j].1 && b[j].0 < a[i].1 {
            return true;
        }
        if a[i].1 <= b[j].1 { i += 1 } else { j += 1 }
    }
    false
}

/// For each register the stretches in which it is taken: end by start. They do not overlap.
#[derive(Default)]
struct Files {
    taken: BTreeMap<Reg, BTreeMap<u32, u32>>,
}

impl Files {
    fn free(&self, first: Reg, regs: u16, s: &[Stretch]) -> bool {
        let clear = |t: &BTreeMap<u32, u32>| s.iter().all(|x| t.range(..x.1).next_back().is_none_or(|(_, end)| *end <= x.0));
        (0..regs).all(|k| self.taken.get(&Reg::new(first.bank, first.n + k)).is_none_or(clear))
    }
    /// The most registers in a row that are free.
    fn longest(&self, bank: Bank, count: u16, s: &[Stretch]) -> u16 {
        let (mut most, mut run) = (0, 0);
        for n in 0..count {
            run = if self.free(Reg::new(bank, n), 1, s) { run + 1 } else { 0 };
            most = most.max(run);
        }
        most
    }
    fn take(&mut self, first: Reg, regs: u16, s: &[Stretch]) {
        for k in 0..regs {
            let t = self.taken.entry(Reg::new(first.bank, first.n + k)).or_default();
            for (from, to) in s {
                // Values with fixed places may share one: what meets becomes one stretch.
                let (mut from, mut to) = (*from, *to);
                while let Some((f, e)) = t.range(..=to).next_back().map(|(f, e)| (*f, *e)).filter(|(_, e)| *e >= from) {
                    t.remove(&f);
                    (from, to) = (from.min(f), to.max(e));
                }
                t.insert(from, to);
            }
        }
    }
}

/// Places a program. `pa` registers below `pa_count` may be used; `o_count` outputs may be used by preference.
pub fn place(
    p: &MProgram,
    fixed: &BTreeMap<Vreg, Reg>,
    pa_count: u16,
    o_count: u16,
    inside: &BTreeSet<Vreg>,
) -> Result<Placement, CompileError> {
    // Pairs at even registers save words; where they do not fit, any place will do.
    let try_it = |pairs| place_aligned(p, fixed, pa_count, o_count, inside, pairs);
    try_it(true).or_else(|_| try_it(false))
}

fn place_aligned(
    p: &MProgram,
    fixed: &BTreeMap<Vreg, Reg>,
    pa_count: u16,
    o_count: u16,
    inside: &BTreeSet<Vreg>,
    pairs: bool,
) -> Result<Placement, CompileError> {
    let live = intervals(p);
    let mut files = Files::default();
    let mut out = Placement { at: vec![None; p.vregs.len()], ..Placement::default() };
    let mut order: Vec<Vreg> = inside.iter().copied().filter(|v| !live[v.0 as usize].is_empty()).collect();
    order.sort_by_key(|v| (live[v.0 as usize][0].0, *v));
    let sources = lane_sources(p);
    for v in order {
        let s = &live[v.0 as usize];
        let taken = |n: u16, out: &Placement| out.inside.iter().any(|(m, t)| *m == n && overlap(t, s));
        // An operation may be split by lanes: a source may share the register only lane for lane.
        let shared = |n: u16, out: &Placement| {
            let list = sources.get(&v.0).map_or(&[][..], |l| l);
            list.iter().any(|(s, same)| !same && out.at[s.0 as usize] == Some(Reg::i(n)))
        };
        let n = (0..3)
            .find(|n| !taken(*n, &out) && !shared(*n, &out))
            .ok_or_else(|| CompileError::Internal("no internal register is free".to_string()))?;
        out.inside.push((n, s.clone()));
        out.at[v.0 as usize] = Some(Reg::i(n));
    }
    for (v, reg) in fixed {
        out.at[v.0 as usize] = Some(*reg);
        let s = &live[v.0 as usize];
        files.take(*reg, p.data(*v).regs(), s);
        if reg.bank == Bank::R {
            out.temps = out.temps.max(reg.n + p.data(*v).regs());
        }
    }
    let hints = hints(p);
    let temporaries = temporaries();
    let mut order: Vec<u32> =
        (0..p.vregs.len() as u32).filter(|v| out.at[*v as usize].is_none() && !live[*v as usize].is_empty()).collect();
    order.sort_by_key(|v| (live[*v as usize][0].0, *v));
    // Texture reads and loads write r and pa only.
    let fetched: BTreeSet<Vreg> = p
        .blocks
        .iter()
        .flat_map(|b| &b.ops)
        .filter(|o| matches!(o.kind, Kind::Sample { .. } | Kind::Load { .. }))
        .filter_map(|o| o.dst)
        .collect();
    for v in order {
        let s = &live[v as usize];
        let d = &p.vregs[v as usize];
        let (regs, step) = (d.regs(), if (d.regs() > 1 && pairs) || d.even { 2u16 } else { 1 });
        let mut place = None;
        for (other, off) in hints.get(&Vreg(v)).map_or(&[][..], |h| h) {
            let Some(o) = out.at[other.0 as usize].filter(|o| o.bank != Bank::I) else { continue };
            if o.bank == Bank::O && fetched.contains(&Vreg(v)) {
                continue;
            }
            let Ok(n) = u16::try_from(o.n as i32 + off) else { continue };
            let limit = match o.bank {
                Bank::R => temporaries,
                Bank::Pa => pa_count,
                _ => o_count,
            };
            let reg = Reg::new(o.bank, n);
            if n + regs <= limit && n.is_multiple_of(step) && files.free(reg, regs, s) && clear(&sources, p, &out, v, reg) {
                place = Some(reg);
                break;
            }
        }
        let search = |bank: Bank, count: u16| {
            (0..=count.saturating_sub(regs))
                .step_by(step as usize)
                .map(|n| Reg::new(bank, n))
                .find(|r| count >= regs && files.free(*r, regs, s) && clear(&sources, p, &out, v, *r))
        };
        // Inputs that are dead first, then temporaries.
        let place = place.or_else(|| search(Bank::Pa, pa_count)).or_else(|| search(Bank::R, temporaries));
        let Some(reg) = place else {
            let at = s[0].0;
            let alive = |s: &&Vec<Stretch>| s.iter().any(|x| x.0 <= at && at < x.1);
            let taken: u32 = live.iter().zip(&p.vregs).filter(|(s, _)| alive(s)).map(|(_, d)| d.regs() as u32).sum();
            let longest = [(Bank::Pa, pa_count), (Bank::R, temporaries)].map(|(bank, n)| files.longest(bank, n, s));
            let what = format!("too many values are live here: they take {taken} registers, and no {regs} in a row are left");
            let (needed, room) = match taken > (temporaries + pa_count) as u32 {
                true => (taken as u64, (temporaries + pa_count) as u64),
                false => (regs as u64, longest.into_iter().max().unwrap_or(0) as u64),
            };
            return Err(CompileError::limit("U0120", d.span, what, needed, room));
        };
        if reg.bank == Bank::R {
            out.temps = out.temps.max(reg.n + regs);
        }
        files.take(reg, regs, s);
        out.at[v as usize] = Some(reg);
    }
    Ok(out)
}

/// Sources of lane-wise operations on several lanes: words are written one after the other, so a source may share the
/// destination's place only lane for lane.
fn lane_sources(p: &MProgram) -> BTreeMap<u32, Vec<(Vreg, bool)>> {
    let mut out: BTreeMap<u32, Vec<(Vreg, bool)>> = BTreeMap::new();
    for op in p.blocks.iter().flat_map(|b| &b.ops) {
        let Some(d) = op.dst else { continue };
        if p.data(d).lanes < 2 || !matches!(op.kind, Kind::Float(_) | Kind::Complex(_) | Kind::Bit(_)) {
            continue;
        }
        for src in &op.src {
            for (k, l) in src.iter().enumerate() {
                if let Base::V(v, j) = l.base {
                    let same = j as usize == k && p.data(v).ty == p.data(d).ty;
                    out.entry(d.0).or_default().push((v, same));
                }
            }
        }
    }
    out
}

/// Whether a place does not disturb the sources of the operation that defines `v`.
fn clear(sources: &BTreeMap<u32, Vec<(Vreg, bool)>>, p: &MProgram, out: &Placement, v: u32, reg: Reg) -> bool {
    let regs = p.vregs[v as usize].regs();
    sources.get(&v).is_none_or(|list| {
        list.iter().all(|(s, same)| {
            let Some(at) = out.at[s.0 as usize].filter(|a| a.bank != Bank::I) else { return true };
            let apart = at.bank != reg.bank || at.n + p.data(*s).regs() <= reg.n || reg.n + regs <= at.n;
            apart || (*same && at == reg)
        })
    })
}

/// For each register the places that would make a copy vanish: (other register, distance).
fn hints(p: &MProgram) -> BTreeMap<Vreg, Vec<(Vreg, i32)>> {
    let mut out: BTreeMap<Vreg, Vec<(Vreg, i32)>> = BTreeMap::new();
    let mut pair = |dst: Vreg, k: usize, src: Vreg, j: u8| {
        let half = |v: Vreg, n: i32| if p.data(v).ty == Scalar::F16 { n / 2 } else { n };
        if (p.data(dst).ty == Scalar::F16) != (p.data(src).ty == Scalar::F16) {
            return;
        }
        let off = half(dst, k as i32) - half(src, j as i32);
        out.entry(src).or_default().push((dst, off));
        out.entry(dst).or_default().push((src, -off));
    };
    for op in p.blocks.iter().flat_map(|b| &b.ops) {
        let dsts: Vec<Vreg> = match &op.kind {
            Kind::Copy => op.dst.into_iter().collect(),
            Kind::Select(_) => op.dst.into_iter().collect(),
            Kind::Parallel(d) => d.clone(),
            _ => continue,
        };
        let srcs: Vec<&Vec<crate::select::mir::Lane>> =
            if let Kind::Select(_) = op.kind { op.src.iter().rev().collect() } else { op.src.iter().collect() };
        for (n, src) in srcs.iter().enumerate() {
            let Some(dst) = dsts.get(if matches!(op.kind, Kind::Select(_)) { 0 } else { n }) else { continue };
            for (k, l) in src.iter().enumerate() {
                if let (Base::V(v, j), true) = (l.base, l.is_plain()) {
                    pair(*dst, k, v, j);
                }
            }
        }
    }
    out
}
