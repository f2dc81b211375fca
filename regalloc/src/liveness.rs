//! What lives in a [`Program`], and the highest register pressure.

use crate::file::RegFile;
use crate::flow::{Live, Touched, solve};
use crate::program::{Part, Program};
use regalloc2::{Function, OperandConstraint, OperandKind, OperandPos};
use smallvec::SmallVec;

/// A set of virtual registers whose operations take constant time, clearing included; its members have no order.
#[derive(Clone, Debug, Default)]
pub struct VRegSet {
    members: Vec<u32>,
    /// Where a register stands in `members`, if it does.
    place: Vec<u32>,
}

impl VRegSet {
    /// An empty set over `n` registers.
    pub fn new(n: usize) -> VRegSet {
        VRegSet { members: Vec::new(), place: vec![0; n] }
    }
    /// Adds a register; whether it was new.
    pub fn insert(&mut self, v: usize) -> bool {
        let new = !self.contains(v);
        if new {
            self.place[v] = self.members.len() as u32;
            self.members.push(v as u32);
        }
        new
    }
    /// Removes a register; whether it was there.
    pub fn remove(&mut self, v: usize) -> bool {
        let had = self.contains(v);
        if had {
            let at = self.place[v] as usize;
            self.members.swap_remove(at);
            if let Some(moved) = self.members.get(at) {
                self.place[*moved as usize] = at as u32;
            }
        }
        had
    }
    /// Whether the register is in the set.
    pub fn contains(&self, v: usize) -> bool {
        self.members.get(self.place[v] as usize) == Some(&(v as u32))
    }
    /// Removes all registers.
    pub fn clear(&mut self) {
        self.members.clear();
    }
    /// The members.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.members.iter().map(|v| *v as usize)
    }
}

/// Where the pressure of a class peaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// The class.
    pub class: usize,
    /// The most values live at once.
    pub live: u32,
    /// The instruction there.
    pub inst: u32,
    /// The block, and the number of the point in it.
    place: (usize, usize),
}

impl Peak {
    /// The values live at the peak, in ascending order.
    pub fn vregs(&self, p: &Program, file: &RegFile, live: &Live) -> Vec<u32> {
        let (mut point, mut vregs) = (0, Vec::new());
        let mut now = VRegSet::new(p.num_vregs());
        walk(p, live, &resting_inputs(p, file), self.place.0, &mut now, |at| {
            if point == self.place.1 && self.live > 0 {
                let of_class = at.ops.iter().filter(|o| o.is_tracked() && o.class() as usize == self.class).map(|o| o.vreg());
                vregs = at.now.iter().filter(|v| p.classes()[*v] as usize == self.class).chain(of_class).map(|v| v as u32).collect();
            }
            point += 1;
        });
        vregs.sort_unstable();
        vregs.dedup();
        vregs
    }
}

/// What lives at the boundaries of every block: at its start without its parameters, at its end after the branch arguments are
/// read.
pub fn live(p: &Program) -> Live {
    let preds: Vec<SmallVec<[u32; 2]>> = p.blocks.iter().map(|b| b.preds.iter().map(|q| q.index() as u32).collect()).collect();
    let (mut reads, mut writes) = (Touched::new(), Touched::new());
    let mut home = vec![u32::MAX; p.num_vregs()];
    for (b, info) in p.blocks.iter().enumerate() {
        let b = b as u32;
        let mut define = |v: usize, home: &mut Vec<u32>| {
            home[v] = b;
            writes.push((v as u32, b));
        };
        info.params.iter().for_each(|v| define(v.vreg(), &mut home));
        for i in info.start..info.end {
            let ops = p.parts(i as usize).iter().filter(|o| o.is_tracked());
            let uses = ops.clone().filter(|o| o.kind() == OperandKind::Use).map(|o| o.vreg());
            reads.extend(uses.filter(|v| home[*v] != b).map(|v| (v as u32, b)));
            ops.filter(|o| o.kind() == OperandKind::Def).for_each(|o| define(o.vreg(), &mut home));
        }
        reads.extend(info.args.iter().flatten().filter(|v| home[v.vreg()] != b).map(|v| (v.vreg() as u32, b)));
    }
    solve(&preds, reads, writes)
}

/// The pressure peak of each class. Values that sit in an input register and are only read in place do not count.
pub fn peaks(p: &Program, file: &RegFile, live: &Live) -> [Peak; 3] {
    let resting = resting_inputs(p, file);
    let mut now = VRegSet::new(p.num_vregs());
    let mut peak = [0, 1, 2].map(|class| Peak { class, ..Peak::default() });
    for b in 0..p.blocks.len() {
        let mut point = 0;
        walk(p, live, &resting, b, &mut now, |at| {
            for (peak, live) in peak.iter_mut().zip(at.live) {
                if live > peak.live {
                    (peak.live, peak.inst, peak.place) = (live, at.inst, (b, point));
                }
            }
            point += 1;
        });
    }
    peak
}

/// A point of the program at which values are live.
struct Point<'a> {
    /// How many, per class.
    live: [u32; 3],
    inst: u32,
    /// Which; results and late operands of the instruction aside.
    now: &'a VRegSet,
    ops: &'a [Part],
}

/// Goes through a block backwards: the points after and before every instruction, and the block's start. `now` is scratch.
fn walk(p: &Program, live: &Live, resting: &VRegSet, b: usize, now: &mut VRegSet, mut visit: impl FnMut(Point)) {
    let Some(info) = p.blocks.get(b) else { return };
    let all = resting.iter().next().is_none();
    let counts = |v: usize| all || !resting.contains(v);
    now.clear();
    let args = info.args.iter().flatten().map(|v| v.vreg());
    live.end[b].ones().chain(args).for_each(|v| {
        now.insert(v);
    });
    let mut n = [0u32; 3];
    now.iter().filter(|v| counts(*v)).for_each(|v| n[p.classes()[v] as usize] += 1);
    for i in (info.start..info.end).rev() {
        let ops = p.parts(i as usize);
        // After the instruction: what lives on, plus results that nobody reads.
        let mut late = n;
        for o in ops.iter().filter(|o| o.is_def() || o.is_use() && o.pos() == OperandPos::Late) {
            let v = o.vreg();
            if !now.contains(v) && counts(v) {
                late[o.class() as usize] += 1;
            }
        }
        visit(Point { live: late, inst: i, now, ops });
        let mut early_defs = [0u32; 3];
        for o in ops.iter().filter(|o| o.is_def()) {
            let v = o.vreg();
            if counts(v) && o.pos() == OperandPos::Early {
                early_defs[o.class() as usize] += 1;
            }
            if now.remove(v) && counts(v) {
                n[o.class() as usize] -= 1;
            }
        }
        for o in ops.iter().filter(|o| o.is_use()) {
            let v = o.vreg();
            if now.insert(v) && counts(v) {
                n[o.class() as usize] += 1;
            }
        }
        let mut early = n;
        early.iter_mut().zip(early_defs).for_each(|(a, b)| *a += b);
        visit(Point { live: early, inst: i, now, ops });
    }
    let mut at_start = n;
    for v in &info.params {
        if !now.contains(v.vreg()) && counts(v.vreg()) {
            at_start[v.class() as usize] += 1;
        }
    }
    visit(Point { live: at_start, inst: info.start, now, ops: &[] });
}

/// Virtual registers that live in an input register throughout: defined there, never demanded elsewhere.
pub fn resting_inputs(p: &Program, file: &RegFile) -> VRegSet {
    let mut set = VRegSet::new(p.num_vregs());
    if file.inputs.is_empty() {
        return set;
    }
    let mut demanded = VRegSet::new(p.num_vregs());
    for i in 0..p.num_insts() {
        for o in p.parts(i).iter().filter(|o| o.is_tracked()) {
            match (o.kind(), o.constraint()) {
                (OperandKind::Def, OperandConstraint::FixedReg(r)) if file.inputs.contains(&r) => {
                    set.insert(o.vreg());
                }
                (OperandKind::Use, OperandConstraint::Any) => {}
                _ => {
                    demanded.insert(o.vreg());
                }
            }
        }
    }
    p.blocks.iter().flat_map(|b| b.args.iter().flatten()).for_each(|v| {
        demanded.insert(v.vreg());
    });
    demanded.iter().for_each(|v| {
        set.remove(v);
    });
    set
}
