//! Liveness and the highest register pressure of a [`Program`].

use crate::file::RegFile;
use crate::program::Program;
use regalloc2::{Function, Inst, Operand, OperandConstraint, OperandKind, OperandPos, VReg};

/// A dense set of virtual registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VRegSet {
    words: Vec<u64>,
}

impl VRegSet {
    /// An empty set over `n` registers.
    pub fn new(n: usize) -> VRegSet {
        VRegSet { words: vec![0; n.div_ceil(64)] }
    }
    /// Adds a register; whether it was new.
    pub fn insert(&mut self, v: usize) -> bool {
        let (w, b) = (v / 64, 1 << (v % 64));
        let new = self.words[w] & b == 0;
        self.words[w] |= b;
        new
    }
    /// Removes a register; whether it was there.
    pub fn remove(&mut self, v: usize) -> bool {
        let (w, b) = (v / 64, 1 << (v % 64));
        let had = self.words[w] & b != 0;
        self.words[w] &= !b;
        had
    }
    /// Whether the register is in the set.
    pub fn contains(&self, v: usize) -> bool {
        self.words[v / 64] & (1 << (v % 64)) != 0
    }
    /// Adds all of another set; whether anything was new.
    pub fn union(&mut self, other: &VRegSet) -> bool {
        let mut changed = false;
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            changed |= *b & !*a != 0;
            *a |= *b;
        }
        changed
    }
    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, w)| {
            let mut w = *w;
            std::iter::from_fn(move || {
                (w != 0).then(|| {
                    let b = w.trailing_zeros() as usize;
                    w &= w - 1;
                    i * 64 + b
                })
            })
        })
    }
}

/// Live-in and live-out sets of every block.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// Live at each block's start, its parameters not counted.
    pub live_in: Vec<VRegSet>,
    /// Live at each block's end, after the branch arguments are read.
    pub live_out: Vec<VRegSet>,
}

/// Where pressure peaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// The most values live at once.
    pub live: u32,
    /// The instruction there.
    pub inst: u32,
    /// The values live there.
    pub vregs: Vec<u32>,
}

impl Liveness {
    /// Computes liveness by iterating backwards until nothing changes.
    pub fn new(p: &Program) -> Liveness {
        let n = p.num_vregs();
        let nb = p.blocks.len();
        let mut uses = vec![VRegSet::new(n); nb];
        let mut defs = vec![VRegSet::new(n); nb];
        for (b, info) in p.blocks.iter().enumerate() {
            let args = info.args.iter().flatten();
            args.for_each(|v| {
                uses[b].insert(v.vreg());
            });
            for i in (info.start..info.end).rev() {
                let ops = p.inst_operands(Inst::new(i as usize));
                for o in ops.iter().filter(|o| tracked(o) && o.kind() == OperandKind::Def) {
                    uses[b].remove(o.vreg().vreg());
                    defs[b].insert(o.vreg().vreg());
                }
                for o in ops.iter().filter(|o| tracked(o) && o.kind() == OperandKind::Use) {
                    uses[b].insert(o.vreg().vreg());
                }
            }
            for v in &info.params {
                uses[b].remove(v.vreg());
                defs[b].insert(v.vreg());
            }
        }
        let mut live_in = uses;
        let mut live_out = vec![VRegSet::new(n); nb];
        let mut work: Vec<usize> = (0..nb).collect();
        let mut queued = vec![true; nb];
        while let Some(b) = work.pop() {
            queued[b] = false;
            let mut out = std::mem::take(&mut live_out[b]);
            for s in &p.blocks[b].succs {
                out.union(&live_in[s.index()]);
            }
            let mut through = out.clone();
            for (t, d) in through.words.iter_mut().zip(&defs[b].words) {
                *t &= !*d;
            }
            live_out[b] = out;
            if live_in[b].union(&through) {
                for q in &p.blocks[b].preds {
                    if !std::mem::replace(&mut queued[q.index()], true) {
                        work.push(q.index());
                    }
                }
            }
        }
        Liveness { live_in, live_out }
    }
}

/// Whether the allocator follows this operand at all.
pub fn tracked(o: &Operand) -> bool {
    o.as_fixed_nonallocatable().is_none()
}

/// The pressure peak of each class. Values that sit in an input register and are only read in place do not count.
pub fn peaks(p: &Program, file: &RegFile, live: &Liveness) -> [Peak; 3] {
    let mut peak: [Peak; 3] = Default::default();
    let resting = resting_inputs(p, file);
    let counts = |v: usize| !resting.contains(v);
    for (b, info) in p.blocks.iter().enumerate() {
        let mut now = live.live_out[b].clone();
        info.args.iter().flatten().for_each(|v| {
            now.insert(v.vreg());
        });
        let mut n = [0u32; 3];
        now.iter().filter(|v| counts(*v)).for_each(|v| n[p.classes()[v] as usize] += 1);
        for i in (info.start..info.end).rev() {
            let ops = p.inst_operands(Inst::new(i as usize));
            // After the instruction: what lives on, plus results that nobody reads.
            let mut late = n;
            for o in ops.iter().filter(|o| tracked(o) && o.kind() == OperandKind::Def) {
                let v = o.vreg().vreg();
                if !now.contains(v) && counts(v) {
                    late[o.class() as usize] += 1;
                }
            }
            for o in ops.iter().filter(|o| tracked(o) && o.kind() == OperandKind::Use && o.pos() == OperandPos::Late) {
                let v = o.vreg().vreg();
                if !now.contains(v) && counts(v) {
                    late[o.class() as usize] += 1;
                }
            }
            note(&mut peak, late, i, &now, ops, p);
            let mut early_defs = [0u32; 3];
            for o in ops.iter().filter(|o| tracked(o) && o.kind() == OperandKind::Def) {
                let v = o.vreg().vreg();
                if counts(v) && o.pos() == OperandPos::Early {
                    early_defs[o.class() as usize] += 1;
                }
                if now.remove(v) && counts(v) {
                    n[o.class() as usize] -= 1;
                }
            }
            for o in ops.iter().filter(|o| tracked(o) && o.kind() == OperandKind::Use) {
                let v = o.vreg().vreg();
                if now.insert(v) && counts(v) {
                    n[o.class() as usize] += 1;
                }
            }
            let mut early = n;
            early.iter_mut().zip(early_defs).for_each(|(a, b)| *a += b);
            note(&mut peak, early, i, &now, ops, p);
        }
        let mut at_start = n;
        for v in &info.params {
            if !now.contains(v.vreg()) && counts(v.vreg()) {
                at_start[v.class() as usize] += 1;
            }
        }
        note(&mut peak, at_start, info.start, &now, &[], p);
    }
    peak
}

fn note(peak: &mut [Peak; 3], n: [u32; 3], inst: u32, now: &VRegSet, ops: &[Operand], p: &Program) {
    for c in 0..3 {
        if n[c] > peak[c].live {
            let mut vregs: Vec<u32> = now.iter().filter(|v| p.classes()[*v] as usize == c).map(|v| v as u32).collect();
            for o in ops.iter().filter(|o| tracked(o) && o.class() as usize == c) {
                let v = o.vreg().vreg() as u32;
                if !vregs.contains(&v) {
                    vregs.push(v);
                }
            }
            vregs.sort_unstable();
            peak[c] = Peak { live: n[c], inst, vregs };
        }
    }
}

/// Virtual registers that live in an input register throughout: defined there, never demanded elsewhere.
pub fn resting_inputs(p: &Program, file: &RegFile) -> VRegSet {
    let mut set = VRegSet::new(p.num_vregs());
    if file.inputs.is_empty() {
        return set;
    }
    let mut demanded = VRegSet::new(p.num_vregs());
    for i in 0..p.num_insts() {
        for o in p.inst_operands(Inst::new(i)).iter().filter(|o| tracked(o)) {
            let v: VReg = o.vreg();
            match (o.kind(), o.constraint()) {
                (OperandKind::Def, OperandConstraint::FixedReg(r)) if file.inputs.contains(&r) => {
                    set.insert(v.vreg());
                }
                (OperandKind::Use, OperandConstraint::Any) => {}
                _ => {
                    demanded.insert(v.vreg());
                }
            }
        }
    }
    p.blocks.iter().flat_map(|b| b.args.iter().flatten()).for_each(|v| {
        demanded.insert(v.vreg());
    });
    for (s, d) in set.words.iter_mut().zip(&demanded.words) {
        *s &= !*d;
    }
    set
}
