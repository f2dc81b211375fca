//! Colouring along the dominator tree: the step for files that are nearly full.
//!
//! SSA programs without fixed operands can always be coloured with as many registers as are live at once. Blocks are
//! walked in reverse post-order, so that every value is placed before its uses are seen; a definition takes the lowest
//! free register, preferring one that saves a move at a join. A value keeps its place for life. What does not work out
//! (a fixed register that is taken, a cycle of edge moves without a free register) ends the attempt with `None`: the
//! ladder has other steps, and the checker judges what comes out of here like everything else.

use crate::file::RegFile;
use crate::flow::Live;
use crate::known::Known;
use crate::liveness::VRegSet;
use crate::places::Places;
use crate::program::{Part, Program};
use regalloc2::{
    Allocation, Edit, Function, Inst, OperandConstraint, OperandKind, OperandPos, Output, PReg, PRegSet, ProgPoint, RegClass, SpillSlot,
};
use smallvec::SmallVec;

/// A program to be coloured.
pub struct Tree<'a> {
    p: &'a Program,
    file: &'a RegFile,
    live: &'a Live,
    wishes: &'a Wishes,
}

/// A program that is coloured.
pub struct Coloured {
    /// Places and moves.
    pub output: Output,
    /// Moves that other places might do without: those of values that are not needed where they were.
    pub avoidable: usize,
}

impl<'a> Tree<'a> {
    /// A program in a register file.
    pub fn new(p: &'a Program, file: &'a RegFile, known: &'a Known) -> Tree<'a> {
        Tree { p, file, live: &known.live, wishes: known.wishes(p) }
    }
    /// Tries to colour the program with at most `limits` registers per class.
    pub fn scan(&self, limits: [u32; 3]) -> Option<Coloured> {
        Scan::new(self, limits, true).run().or_else(|| Scan::new(self, limits, false).run())
    }
    /// As [`Tree::scan`], with values in the registers that have been free for longest, so that instructions depend less on others'
    /// registers.
    pub fn spread(&self, limits: [u32; 3]) -> Option<Coloured> {
        Scan { spread: true, ..Scan::new(self, limits, true) }.run()
    }
}

const CLASSES: [RegClass; 3] = [RegClass::Int, RegClass::Float, RegClass::Vector];

/// What values ask for wherever others go, by value.
pub(crate) struct Wishes {
    /// Registers that a value must not take, because something fixed needs them during its life.
    forbidden: Vec<PRegSet>,
    /// Registers that others want, or that what is made in a value's place must not take: from there it would have to be copied.
    avoid: Vec<PRegSet>,
    /// Values that are joined with each value by block parameters.
    kin: Vec<Vec<u32>>,
    /// The register that a value goes to in the end: an operand is fixed to it, or what is made of the value in its place.
    wish: Vec<Option<PReg>>,
    /// Values that some operand demands in a register proper.
    needs_register: Vec<bool>,
}

struct Scan<'a> {
    p: &'a Program,
    file: &'a RegFile,
    live: &'a Live,
    wishes: &'a Wishes,
    /// Registers that may be handed out, per class.
    allowed: [PRegSet; 3],
    /// Where each value lives.
    home: Vec<Option<Allocation>>,
    /// Places of all operands, in the order of the instructions.
    allocs: Vec<Allocation>,
    offsets: Vec<u32>,
    edits: Vec<(ProgPoint, Edit)>,
    slots: u32,
    /// See [`Coloured::avoidable`].
    avoidable: usize,
    hints: bool,
    /// Whether values go to the registers that have been free for longest, and since when each is.
    spread: bool,
    freed: [u32; PReg::NUM_INDEX],
    /// For walks through a block.
    scratch: VRegSet,
}

/// What is live at a block's end, arguments of its branches included.
fn live_at_end(p: &Program, live: &Live, b: usize, now: &mut VRegSet) {
    now.clear();
    let args = p.blocks[b].args.iter().flatten().map(|v| v.vreg());
    live.end[b].ones().chain(args).for_each(|v| {
        now.insert(v);
    });
}

impl Wishes {
    /// Of a program in which this lives.
    pub(crate) fn new(p: &Program, live: &Live) -> Wishes {
        let n = p.num_vregs();
        let mut wishes = Wishes {
            forbidden: vec![PRegSet::default(); n],
            avoid: vec![PRegSet::default(); n],
            kin: vec![Vec::new(); n],
            wish: vec![None; n],
            needs_register: vec![false; n],
        };
        wishes.prepare(p, live);
        wishes.look_ahead(p);
        wishes
    }

    /// Finds kin, forbidden registers and what may not sit in a slot.
    fn prepare(&mut self, p: &Program, live: &Live) {
        for b in &p.blocks {
            for (s, args) in b.succs.iter().zip(&b.args) {
                for (param, arg) in p.blocks[s.index()].params.iter().zip(args) {
                    self.kin[param.vreg()].push(arg.vreg() as u32);
                    self.kin[arg.vreg()].push(param.vreg() as u32);
                }
            }
        }
        let mut now = VRegSet::new(p.num_vregs());
        for (b, info) in p.blocks.iter().enumerate().rev() {
            live_at_end(p, live, b, &mut now);
            for (s, args) in info.succs.iter().zip(&info.args) {
                for (param, arg) in p.blocks[s.index()].params.iter().zip(args) {
                    self.wish[arg.vreg()] = self.wish[arg.vreg()].or(self.wish[param.vreg()]);
                }
            }
            for i in (info.start..info.end).rev() {
                let ops = p.parts(i as usize);
                let (mut early, mut late) = (PRegSet::default(), p.inst_clobbers(Inst::new(i as usize)));
                for o in ops {
                    let fixed = match o.constraint() {
                        OperandConstraint::FixedReg(r) => Some(r),
                        _ => None,
                    };
                    if let Some(r) = fixed {
                        if o.kind() == OperandKind::Use || o.pos() == OperandPos::Early {
                            early.add(r);
                        }
                        if o.kind() == OperandKind::Def || o.pos() == OperandPos::Late {
                            late.add(r);
                        }
                    }
                    if o.is_tracked() {
                        match o.constraint() {
                            OperandConstraint::Any | OperandConstraint::Stack => {}
                            _ => self.needs_register[o.vreg()] = true,
                        }
                    }
                }
                let quiet = early == PRegSet::default() && late == PRegSet::default();
                let defs = ops.iter().filter(|o| o.is_def());
                for o in defs.clone() {
                    now.remove(o.vreg());
                }
                for r in defs.clone().filter_map(|o| self.wish[o.vreg()]) {
                    now.iter().for_each(|v| self.avoid[v].add(r));
                }
                if !quiet {
                    // Live through: neither register set may hold it, unless it is the operand fixed there.
                    for v in now.iter() {
                        let own = own_fixed(ops, v, OperandKind::Use);
                        self.forbidden[v].union_from(without(early, own));
                        self.forbidden[v].union_from(late);
                    }
                    for o in defs {
                        let v = o.vreg();
                        let own = own_fixed(ops, v, OperandKind::Def);
                        self.forbidden[v].union_from(without(late, own));
                    }
                }
                let made = ops.iter().filter(|o| o.is_def()).find_map(|o| match o.constraint() {
                    OperandConstraint::FixedReg(r) => Some(r),
                    _ => self.wish[o.vreg()],
                });
                let tied = ops.iter().filter(|o| o.is_def()).find_map(|o| match o.constraint() {
                    OperandConstraint::Reuse(n) => Some(n),
                    _ => None,
                });
                for (k, o) in ops.iter().enumerate().filter(|(_, o)| o.is_use()) {
                    let wish = match o.constraint() {
                        OperandConstraint::FixedReg(r) => Some(r),
                        // The place goes to the operand that the result overwrites, if there is one.
                        _ if tied.is_some_and(|t| t != k) => None,
                        _ => made.filter(|_| !now.contains(o.vreg())),
                    };
                    let old = &mut self.wish[o.vreg()];
                    *old = old.or(wish);
                }
                for o in ops.iter().filter(|o| o.is_use()) {
                    if now.insert(o.vreg()) && !quiet {
                        let own = own_fixed(ops, o.vreg(), OperandKind::Use);
                        self.forbidden[o.vreg()].union_from(without(early, own));
                    }
                }
            }
            for r in info.params.iter().filter_map(|v| self.wish[v.vreg()]) {
                let others = now.iter().filter(|v| self.wish[*v] != Some(r));
                others.for_each(|v| self.avoid[v].add(r));
            }
        }
    }

    /// Finds what to avoid: a result that takes its operand's place, or a parameter its argument's, must not take these registers.
    fn look_ahead(&mut self, p: &Program) {
        for info in p.blocks.iter().rev() {
            for (s, args) in info.succs.iter().zip(&info.args) {
                for (param, arg) in p.blocks[s.index()].params.iter().zip(args) {
                    self.hand_back(param.vreg(), arg.vreg());
                }
            }
            for i in (info.start..info.end).rev() {
                let ops = p.parts(i as usize);
                for o in ops {
                    if let OperandConstraint::Reuse(n) = o.constraint() {
                        self.hand_back(o.vreg(), ops[n].vreg());
                    }
                }
            }
        }
    }

    fn hand_back(&mut self, from: usize, to: usize) {
        let mut all = self.avoid[from];
        all.union_from(self.forbidden[from]);
        self.avoid[to].union_from(all);
    }
}

impl<'a> Scan<'a> {
    fn new(tree: &'a Tree<'a>, limits: [u32; 3], hints: bool) -> Scan<'a> {
        let Tree { p, file, live, wishes } = tree;
        let n = p.num_vregs();
        let allowed = [0, 1, 2].map(|c| {
            let all = (0..file.classes[c].count as usize).map(|i| PReg::new(i, CLASSES[c]));
            all.filter(|r| !file.reserved.contains(*r)).take(limits[c] as usize).collect()
        });
        Scan {
            p,
            file,
            live,
            wishes,
            allowed,
            home: vec![None; n],
            allocs: Vec::new(),
            offsets: Vec::new(),
            edits: Vec::new(),
            slots: 0,
            avoidable: 0,
            hints,
            spread: false,
            freed: [0; PReg::NUM_INDEX],
            scratch: VRegSet::new(n),
        }
    }

    fn run(mut self) -> Option<Coloured> {
        let (insts, mut operands) = (self.p.num_insts(), 0);
        self.offsets.reserve(insts);
        for i in 0..insts {
            self.offsets.push(operands);
            operands += self.p.parts(i).len() as u32;
        }
        self.allocs.resize(operands as usize, Allocation::none());
        for b in self.order() {
            self.block(b)?;
        }
        for b in 0..self.p.blocks.len() {
            self.edges(b)?;
        }
        // Stable: moves of one point stay in the order in which they were made.
        self.edits.sort_by_key(|(at, _)| *at);
        let output = Output {
            num_spillslots: self.slots as usize,
            edits: self.edits,
            allocs: self.allocs,
            inst_alloc_offsets: self.offsets,
            ..Output::default()
        };
        Some(Coloured { output, avoidable: self.avoidable })
    }

    /// Reverse post-order from block 0; unreachable blocks behind.
    fn order(&self) -> Vec<usize> {
        let n = self.p.blocks.len();
        let (mut seen, mut post) = (vec![false; n], Vec::new());
        for root in 0..n {
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            let mut stack = vec![(root, 0)];
            let from = post.len();
            while let Some((b, k)) = stack.last_mut() {
                match self.p.blocks[*b].succs.get(*k) {
                    Some(s) => {
                        *k += 1;
                        if !std::mem::replace(&mut seen[s.index()], true) {
                            stack.push((s.index(), 0));
                        }
                    }
                    None => {
                        post.push(*b);
                        stack.pop();
                    }
                }
            }
            post[from..].reverse();
        }
        post
    }

    fn block(&mut self, b: usize) -> Option<()> {
        let info = &self.p.blocks[b];
        let mut busy: Places = self.live.start[b].ones().filter_map(|v| self.home[v]).collect();
        for v in &info.params {
            let a = self.choose(v.vreg(), v.class(), &busy, None)?;
            self.home[v.vreg()] = Some(a);
            busy.insert(a);
        }
        let dying = self.dying(b);
        for v in &info.params {
            if dying.unused_params.contains(&v.vreg()) {
                busy.remove(self.home[v.vreg()]?);
            }
        }
        for i in info.start..info.end {
            self.inst(i, &mut busy, dying.after((i - info.start) as usize))?;
        }
        Some(())
    }

    /// For each instruction of a block, the values whose last use it is and the results that nobody reads.
    fn dying(&mut self, b: usize) -> Dying {
        let info = &self.p.blocks[b];
        let mut now = std::mem::take(&mut self.scratch);
        live_at_end(self.p, self.live, b, &mut now);
        let mut dead = Vec::new();
        let mut ends = vec![0; (info.end - info.start) as usize + 1];
        for i in (info.start..info.end).rev() {
            let ops = self.p.parts(i as usize);
            for o in ops.iter().filter(|o| o.is_def()) {
                if !now.remove(o.vreg()) {
                    dead.push(o.vreg());
                }
            }
            for o in ops.iter().filter(|o| o.is_use()) {
                if now.insert(o.vreg()) {
                    dead.push(o.vreg());
                }
            }
            ends[(i - info.start) as usize] = dead.len();
        }
        let unused_params = info.params.iter().map(|v| v.vreg()).filter(|v| !now.contains(*v)).collect();
        self.scratch = now;
        Dying { dead, ends, unused_params }
    }

    fn inst(&mut self, i: u32, busy: &mut Places, dying: &[usize]) -> Option<()> {
        let inst = Inst::new(i as usize);
        let ops = self.p.parts(i as usize);
        let mut out: SmallVec<[Allocation; 8]> = SmallVec::from_elem(Allocation::none(), ops.len());
        // Places held only while inputs are read, and those held to the end of the instruction.
        let (mut early, mut late) = (Places::default(), Places::default());
        let mut reuses = false;
        for (k, o) in ops.iter().enumerate() {
            match o.constraint() {
                OperandConstraint::FixedReg(r) if !o.is_tracked() => out[k] = Allocation::reg(r),
                OperandConstraint::Reuse(_) => reuses = true,
                _ => {}
            }
        }
        // The operand that takes the place of another one.
        let taker = |k: usize| ops.iter().position(|d| reuses && d.constraint() == OperandConstraint::Reuse(k));
        for (k, o) in ops.iter().enumerate().filter(|(_, o)| o.is_use()) {
            let v = o.vreg();
            let at = self.home[v]?;
            let tied = taker(k);
            let fits = match o.constraint() {
                OperandConstraint::FixedReg(r) => at == Allocation::reg(r),
                OperandConstraint::Any => true,
                OperandConstraint::Stack => at.is_stack(),
                OperandConstraint::Limit(n) => at.as_reg().is_some_and(|r| r.hw_enc() < n && !self.file.inputs.contains(&r)),
                OperandConstraint::Reg | OperandConstraint::Reuse(_) => at.as_reg().is_some_and(|r| !self.file.inputs.contains(&r)),
            };
            // Another operand may read the same value, if it does so before results are written, and none takes its place.
            let alone = |(n, q): (usize, &Part)| {
                let tied = || taker(n).is_some();
                n == k || !q.is_tracked() || q.kind() == OperandKind::Def || q.vreg() != o.vreg() || q.pos() == OperandPos::Early && !tied()
            };
            let last = dying.contains(&v) && ops.iter().enumerate().all(alone);
            // A result that overwrites its input needs a copy where the input lives on, or is where the result must not be.
            let barred = tied.map_or(PRegSet::default(), |d| self.wishes.forbidden[ops[d].vreg()]);
            let allowed = |a: &Allocation| a.as_reg().is_none_or(|r| !barred.contains(r));
            let in_place = fits && (tied.is_none() || (last && at.is_reg() && !self.is_input(at) && allowed(&at)));
            if in_place {
                out[k] = at;
            } else {
                let taken = |a: &Allocation| busy.contains(*a) || early.contains(*a) || late.contains(*a);
                let to = match o.constraint() {
                    OperandConstraint::FixedReg(r) => Some(Allocation::reg(r)).filter(|a| !taken(a)),
                    OperandConstraint::Stack => None,
                    OperandConstraint::Limit(n) => self.free(o.class(), |a| taken(a) || a.as_reg().is_none_or(|r| r.hw_enc() >= n)),
                    _ => self.free(o.class(), |a| taken(a) || !allowed(a)),
                }?;
                self.edits.push((ProgPoint::before(inst), Edit::Move { from: at, to }));
                self.avoidable += usize::from(last);
                out[k] = to;
                if o.pos() == OperandPos::Late || tied.is_some() {
                    late.insert(to)
                } else {
                    early.insert(to)
                };
            }
            if o.pos() == OperandPos::Late {
                late.insert(out[k]);
            }
        }
        for (k, o) in ops.iter().enumerate().filter(|(_, o)| o.is_def() && o.pos() == OperandPos::Early) {
            let blocked = busy.with(&early).with(&late);
            out[k] = self.define(o, &blocked)?;
            late.insert(out[k]);
        }
        for v in dying.iter().filter(|v| ops.iter().any(|o| o.is_use() && o.vreg() == **v)) {
            if let Some(a) = self.home[*v] {
                busy.remove(a);
                if let (true, Some(r)) = (self.spread, a.as_reg()) {
                    self.freed[r.index()] = i + 1;
                }
            }
        }
        let turn = |o: &Part| match o.constraint() {
            OperandConstraint::FixedReg(_) => 0,
            OperandConstraint::Reuse(_) => 1,
            _ => 2,
        };
        let late_defs = ops.iter().enumerate().filter(|(_, o)| o.is_def() && o.pos() == OperandPos::Late);
        let mut late_defs: SmallVec<[usize; 4]> = late_defs.map(|(k, _)| k).collect();
        if late_defs.len() > 1 {
            late_defs.sort_by_key(|k| turn(&ops[*k]));
        }
        for k in late_defs {
            let o = &ops[k];
            let mut blocked = busy.with(&late);
            if let OperandConstraint::Reuse(n) = o.constraint() {
                // The copy made for the input, or the dying input's own register.
                if busy.contains(out[n]) || out[n].is_none() {
                    return None;
                }
                out[k] = out[n];
                self.home[o.vreg()] = Some(out[n]);
                if self.wishes.forbidden[o.vreg()].contains(out[n].as_reg()?) {
                    return None;
                }
            } else {
                // A place promised to a tied result is not free for others.
                for (n, d) in ops.iter().enumerate().filter(|_| reuses) {
                    if let (true, OperandConstraint::Reuse(u)) = (n != k && d.is_def(), d.constraint()) {
                        blocked.insert(out[u]);
                    }
                }
                out[k] = self.define(o, &blocked)?;
            }
            late.insert(out[k]);
        }
        for o in ops.iter().filter(|o| o.is_def()) {
            let v = o.vreg();
            if !dying.contains(&v) {
                busy.insert(self.home[v]?);
            }
        }
        let at = self.offsets[i as usize] as usize;
        self.allocs[at..at + out.len()].copy_from_slice(&out);
        Some(())
    }

    fn define(&mut self, o: &Part, blocked: &Places) -> Option<Allocation> {
        let v = o.vreg();
        let a = match o.constraint() {
            OperandConstraint::FixedReg(r) => Some(Allocation::reg(r)).filter(|a| !blocked.contains(*a)),
            OperandConstraint::Limit(n) => self.choose(v, o.class(), blocked, Some(n)),
            _ => self.choose(v, o.class(), blocked, None),
        }?;
        if a.as_reg().is_some_and(|r| self.wishes.forbidden[v].contains(r)) {
            return None;
        }
        self.home[v] = Some(a);
        Some(a)
    }

    fn is_input(&self, a: Allocation) -> bool {
        a.as_reg().is_some_and(|r| self.file.inputs.contains(&r))
    }

    /// A free register of a class.
    fn free(&self, class: RegClass, taken: impl Fn(&Allocation) -> bool) -> Option<Allocation> {
        self.allowed[class as usize].into_iter().map(Allocation::reg).find(|a| !taken(a))
    }

    /// A place for a new value: one that kin already has, else the lowest free register, else a register slot.
    fn choose(&mut self, v: usize, class: RegClass, blocked: &Places, limit: Option<usize>) -> Option<Allocation> {
        let Wishes { forbidden, avoid, kin, wish, needs_register } = self.wishes;
        let mut usable = without(self.allowed[class as usize], forbidden[v]);
        usable = without(usable, blocked.registers());
        if let Some(n) = limit {
            usable = usable.into_iter().filter(|r| r.hw_enc() < n).collect();
        }
        if self.hints {
            let fits = |r: &PReg| usable.contains(*r);
            let of = |k: &u32| self.home[*k as usize]?.as_reg().filter(fits);
            let first = kin[v].iter().find_map(of);
            let second = || kin[v].iter().flat_map(|k| &kin[*k as usize]).find_map(of);
            if let Some(r) = first.or_else(second).or_else(|| wish[v].filter(fits)) {
                return Some(Allocation::reg(r));
            }
        }
        let mut best = without(usable, avoid[v]);
        if best.is_empty(class) {
            best = usable;
        }
        let mut best = best.into_iter();
        let best = if self.spread { best.min_by_key(|r| self.freed[r.index()]) } else { best.next() }.map(Allocation::reg);
        if best.is_some() {
            return best;
        }
        if needs_register[v] || self.file.classes[class as usize].slot_units > 1 {
            return None;
        }
        let slot =
            (0..self.file.register_slots()).map(|n| Allocation::stack(SpillSlot::new(n as usize))).find(|a| !blocked.contains(*a))?;
        self.slots = self.slots.max(slot.as_stack()?.index() as u32 + 1);
        Some(slot)
    }

    /// Moves branch arguments to parameters on every edge that leaves a block.
    fn edges(&mut self, b: usize) -> Option<()> {
        let info = &self.p.blocks[b];
        for (s, args) in info.succs.iter().zip(&info.args) {
            let to = &self.p.blocks[s.index()];
            let mut moves: Vec<(Allocation, Allocation)> = Vec::new();
            for (param, arg) in to.params.iter().zip(args) {
                let (from, into) = (self.home[arg.vreg()]?, self.home[param.vreg()]?);
                if from != into {
                    moves.push((from, into));
                    self.avoidable += usize::from(!self.live.start[s.index()].contains(arg.vreg()));
                }
            }
            if moves.is_empty() {
                continue;
            }
            let point = if info.succs.len() == 1 {
                ProgPoint::before(Inst::new(info.end as usize - 1))
            } else {
                ProgPoint::before(Inst::new(to.start as usize))
            };
            let mut held: Places = self.live.start[s.index()].ones().filter_map(|v| self.home[v]).collect();
            held.extend(to.params.iter().filter_map(|p| self.home[p.vreg()]));
            held.extend(args.iter().filter_map(|a| self.home[a.vreg()]));
            for o in self.p.parts(info.end as usize - 1).iter().filter(|o| o.is_tracked()) {
                held.extend(self.home[o.vreg()]);
            }
            self.parallel(moves, point, &held)?;
        }
        Some(())
    }

    /// Puts simultaneous moves into an order; a cycle needs a free register.
    fn parallel(&mut self, mut moves: Vec<(Allocation, Allocation)>, at: ProgPoint, held: &Places) -> Option<()> {
        let class_of = |a: Allocation| a.as_reg().map(|r| r.class());
        while !moves.is_empty() {
            if let Some(k) = moves.iter().position(|(_, to)| !moves.iter().any(|(from, _)| from == to)) {
                let (from, to) = moves.remove(k);
                if from.is_stack() && to.is_stack() {
                    return None;
                }
                self.edits.push((at, Edit::Move { from, to }));
                continue;
            }
            let (from, _) = moves[0];
            let class = moves.iter().find_map(|(f, t)| class_of(*f).or(class_of(*t)))?;
            let temp = self.free(class, |a| held.contains(*a) || moves.iter().any(|(f, t)| f == a || t == a))?;
            self.edits.push((at, Edit::Move { from, to: temp }));
            moves.iter_mut().filter(|(f, _)| *f == from).for_each(|(f, _)| *f = temp);
        }
        Some(())
    }
}

struct Dying {
    /// From the last instruction to the first, and how many up to each.
    dead: Vec<usize>,
    ends: Vec<usize>,
    unused_params: Vec<usize>,
}

impl Dying {
    /// What dies in the block's instruction `n`.
    fn after(&self, n: usize) -> &[usize] {
        &self.dead[self.ends[n + 1]..self.ends[n]]
    }
}

/// The registers to which operands of kind `kind` fix `v` itself.
fn own_fixed(ops: &[Part], v: usize, kind: OperandKind) -> PRegSet {
    let mut set = PRegSet::default();
    for o in ops.iter().filter(|o| o.is_tracked() && o.kind() == kind && o.vreg() == v) {
        if let OperandConstraint::FixedReg(r) = o.constraint() {
            set.add(r);
        }
    }
    set
}

fn without(set: PRegSet, less: PRegSet) -> PRegSet {
    set & less.invert()
}
