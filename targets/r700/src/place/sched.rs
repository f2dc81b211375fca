//! Scheduling and channel assignment as one problem: operations of a piece of straight-line code become groups and clauses.
//!
//! A list scheduler fills one group after the other; where an operation is placed settles the channel of its result. Legality
//! (slots, read ports, constant pairs, literals, kcache lines, clause length) is tried at every placement. Several seeded
//! orders are tried and the cheapest kept; the work is counted in tries, so the result is deterministic.

use crate::isa::forms::Unit;
use crate::isa::ports::{Read, SlotReads};
use crate::place::bound::bound;
use crate::place::deps::{ELSEWHERE, Facts, Graph, Numbering, Operand, facts, graph};
use crate::place::open::{Lines, Open, Taken};
use crate::place::waves::{Wave, waves};
use crate::select::mir::*;
use retroshade_emit::form::FormId;
use smallvec::SmallVec;
use std::cell::LazyCell;
use std::collections::BTreeSet;

/// Attempts without a better schedule after which the search ends; in short programs, where one costs little and a group is much, and in others.
const PATIENCE: [u32; 2] = [50, 16];
/// Operations of a short program.
const SHORT: usize = 64;
/// Slots of a clause in 64-bit units.
pub const CLAUSE_SLOTS: usize = 128;
/// Fetches of a clause.
pub const CLAUSE_FETCHES: usize = 16;
/// Slots that a MOVA leaves free in its clause for the groups that use AR.
const AR_ROOM: usize = 40;
/// A cycle in bytes of code: those of one slot.
const CYCLE: u64 = 8;
/// What a group costs beside the bytes of its slots: it occupies the 16 units for the four cycles that a wavefront of 64 lanes takes.
pub const GROUP_COST: u64 = 4 * CYCLE;
/// What a fetch clause costs beside its bytes: a result is there eight cycles after its group began, so the wavefront leaves at least
/// that many unused where it changes clauses.
pub const FETCH_COST: u64 = 8 * CYCLE;

/// An operation in its slot, registers still named by webs.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Number of the operation in its piece of code.
    pub op: usize,
    /// Form.
    pub form: FormId,
    /// Sources.
    pub src: SmallVec<[Opnd; 3]>,
    /// Sources taken from PV or PS, by bit; the unit that made them.
    pub forward: [Option<u8>; 3],
    /// Result.
    pub dst: Option<Web>,
    /// Array element written.
    pub store: Option<(u8, u8, u8, bool)>,
    /// Unit, 4 = T.
    pub unit: u8,
    /// Destination channel.
    pub chan: u8,
    /// Bank swizzle.
    pub bank: u8,
    /// Updates the execute mask.
    pub pred: bool,
    /// Output modifier.
    pub omod: u8,
    /// Clamp.
    pub clamp: bool,
}

/// A group with its literal words.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Slots by unit.
    pub slots: Vec<Slot>,
    /// Literals, without their signs where operands carry them.
    pub literals: SmallVec<[u32; 4]>,
}

/// What a piece of code becomes.
#[derive(Clone, Debug)]
pub enum Item {
    /// A group of the current ALU clause.
    Group(Group),
    /// The ALU clause ends here.
    Cut,
    /// A fetch clause: operations by number.
    Fetch(Vec<usize>),
    /// An export or another control-flow instruction: the operation.
    Control(usize),
}

/// Why a piece of code could not be scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// The operation fits no group, however empty; its operands should move to other channels.
    Op(usize),
}

/// Why an attempt ends early.
enum Stop {
    /// It cannot go on.
    Stuck(Stuck),
    /// It will not be the best.
    Hopeless,
}

/// Everything about a piece of code that does not change between attempts.
struct Code<'a> {
    ops: &'a [Op],
    facts: &'a [Facts],
    graph: &'a Graph,
    waves: &'a [Wave],
    mir: &'a Mir,
    /// The lane of a dot product's factors that each web of this piece is, by number.
    prefer: &'a [Option<u8>],
    /// The lane of an export in a burst that each web of this piece goes to, by number.
    exported: &'a [Option<u8>],
    /// The number of each web within this piece, by web; [`ELSEWHERE`] for those that it does not name.
    local: &'a [u32],
    /// The webs that this piece names.
    webs: &'a [Web],
    /// ALU operations.
    alu: usize,
    /// Whether channels share the values evenly, whatever else speaks for one.
    even: bool,
}

/// Halves of constant registers up to which no order is worth trying for their sake: two groups read them.
const FEW_HALVES: usize = 4;
/// What it is worth to read a half that the open group reads already, in tenths of a step.
const HELD: u64 = 40;
/// Attempts in a row, after the first, that end at the same operation before any has found a schedule.
const STUCK: u32 = 3;
/// The most operations that one pass over a group tries: in longer lists the last ones would wait anyway.
const READY: usize = 64;

/// The scheduler of one piece of code under one seed.
struct Run<'a> {
    code: &'a Code<'a>,
    /// Channel of each web of this piece, settled so far.
    chan: Vec<Option<u8>>,
    /// Reads of each web of this piece not yet scheduled.
    pending: Vec<u32>,
    /// Webs that are still to be read, by channel.
    live: [u32; 4],
    /// ALU operations without a time.
    left: usize,
    /// Those among them that use the index register as it is now: it dies with the clause.
    indexed: u32,
    time: Vec<Option<u32>>,
    /// Unscheduled predecessors, and the first time that the scheduled ones allow.
    missing: Vec<u32>,
    earliest: Vec<u32>,
    /// ALU operations without missing predecessors, not yet scheduled.
    ready: Vec<usize>,
    /// Those among them that one pass over a group tries, by priority, and those that another one may try: kept for their room.
    list: Vec<u64>,
    later: Vec<usize>,
    /// Those that the next fetches need, if any do.
    urgent: Vec<bool>,
    now: u32,
    /// What was scheduled; the groups are drafts so far.
    items: Vec<Item>,
    drafts: Vec<Draft>,
    /// Webs in the units of the previous group, if it belongs to the open clause; the unit that forwards each.
    forward: Forward,
    /// Constant lines of the clause so far.
    lines: Lines,
    clause: usize,
    seed: u64,
    noise: u32,
    /// Whether exported values take their lanes' channels, wait for them if need be.
    strict: bool,
    /// Whether exported values whose lanes are taken go to T.
    aside: bool,
    /// Whether what asks for more literals waits for others that do, unless everything waits for it.
    thrifty: bool,
    /// Whether what reads the same half of a constant register stands together, and waits for it, unless everything waits for it.
    gather: bool,
    /// Operations without missing predecessors that read each half of a constant register, and those that miss some.
    halves: Vec<[u32; 2]>,
    /// Operations that became ready while the open group was filled, those that may still join it.
    fresh: Vec<usize>,
    tries: u64,
    /// What the items cost so far, what they may cost, and the slots that are still to come.
    spent: u64,
    limit: u64,
    slots: u64,
    /// Those among them that only T executes, the halves of constant registers that are still to be read, and the fetch clauses to come.
    trans: u64,
    unread: u64,
    waves: u64,
    /// Live values by channel when the open group began.
    load: [u32; 4],
}

/// What became of an operation that was tried in a group.
enum Outcome {
    /// It fits.
    Fits,
    /// It may fit when other operations have joined the group: T takes it once its own unit is busy.
    Perhaps,
    /// It will not fit this group.
    No,
}

/// Webs in the units of a group, and the unit that forwards each.
type Forward = SmallVec<[(Web, u8); 5]>;

/// The best attempt so far.
struct Best {
    items: Vec<Item>,
    drafts: Vec<Draft>,
    chan: Vec<Option<u8>>,
}

/// A group as it was filled, and what the one before it forwards: only those of the best attempt are written out.
struct Draft {
    slots: SmallVec<[Taken; 5]>,
    literals: SmallVec<[u32; 4]>,
    forward: Forward,
}

impl Run<'_> {
    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    fn channel(&self, w: Web) -> Option<u8> {
        match self.code.local[w.0 as usize] {
            ELSEWHERE => self.code.mir.webs[w.0 as usize].chan,
            n => self.chan[n as usize],
        }
    }

    /// Channels that a definition of `w` may take, by bit: members of a register that have none yet keep apart.
    fn allowed(&self, w: Web) -> u8 {
        if let Some(c) = self.channel(w) {
            return 1 << (c & 3);
        }
        let mir = self.code.mir;
        let mut taken = 0u8;
        if let Some(q) = mir.webs[w.0 as usize].quad {
            let others = mir.quads[q.0 as usize].iter().filter(|m| **m != w);
            others.filter_map(|m| self.channel(*m)).for_each(|c| taken |= 1 << (c & 3));
        }
        !taken & 15
    }

    /// What a slot reads; reserves literals and constants in the group. `None` where they do not fit.
    fn reads(&self, open: &mut Open, operands: &[Operand], unit: u8) -> Option<SlotReads> {
        let mut out = SlotReads { unit, ..SlotReads::default() };
        let mut constants = 0;
        for (k, o) in operands.iter().enumerate() {
            out.reads[k] = match *o {
                Operand::Web(w) if self.forward.iter().any(|f| f.0 == w) => Read::Forward,
                Operand::Web(w) => {
                    let key = self.code.mir.webs[w.0 as usize].quad.map_or(w.0, |q| 0x8000_0000 | q.0);
                    Read::Gpr(key, self.channel(w).unwrap_or(0))
                }
                Operand::Const(half, bank, line) => {
                    constants += 1;
                    if !open.half(half) {
                        return None;
                    }
                    // Lines of the operations before this one in the clause.
                    if open.lines.insert(bank, line) && open.lines.sets().is_none() {
                        return None;
                    }
                    Read::Const(half)
                }
                Operand::Inline => {
                    constants += 1;
                    Read::Inline
                }
                Operand::Literal(bits, float) => {
                    constants += 1;
                    if !open.literal(bits, float) {
                        return None;
                    }
                    Read::Inline
                }
                Operand::Array(key, c) => Read::Gpr(key, c),
            };
        }
        (unit != 4 || constants <= 2).then_some(out)
    }

    /// Tries to put an operation into the open group: `slots` (unit, channel, first operand, whether it has the result). `next` is the
    /// group with it.
    fn place(&mut self, open: &Open, next: &mut Open, i: usize, slots: &[(u8, u8, u8, bool)]) -> Outcome {
        self.tries += 1;
        if self.fits(open, next, i, slots).is_some() { Outcome::Fits } else { Outcome::No }
    }

    fn fits(&self, open: &Open, next: &mut Open, i: usize, slots: &[(u8, u8, u8, bool)]) -> Option<()> {
        if slots.iter().any(|s| open.units[s.0 as usize]) || self.clause + open.size() + slots.len() > CLAUSE_SLOTS {
            return None;
        }
        if !open.has_room_for(&self.code.facts[i].halves) {
            return None;
        }
        *next = *open;
        let from = next.count;
        let reduce = slots.len() > 1;
        for (unit, chan, first, result) in slots {
            next.units[*unit as usize] = true;
            let all = &self.code.facts[i].operands;
            let operands = if reduce { &all[*first as usize..*first as usize + 2] } else { &all[..] };
            next.reads[next.count] = self.reads(next, operands, *unit)?;
            next.slots[next.count] = Taken { op: i as u32, unit: *unit, chan: *chan, bank: 0, first: *first, result: *result };
            next.count += 1;
        }
        (self.clause + next.size() <= CLAUSE_SLOTS && next.banks(from)).then_some(())
    }

    /// Tries every place of an operation in the open group; `next` is the group with it.
    fn try_op(&mut self, open: &Open, next: &mut Open, i: usize) -> Outcome {
        let f = &self.code.facts[i];
        if f.exclusive && open.exclusive || f.mova && (open.relative || open.mova) || f.relative && open.mova {
            return Outcome::No;
        }
        // AR dies with its clause: there must be room for what uses it.
        if f.mova && self.clause > CLAUSE_SLOTS - AR_ROOM {
            return Outcome::No;
        }
        let outcome = self.find_place(open, next, i);
        next.exclusive |= f.exclusive;
        next.mova |= f.mova;
        next.relative |= f.relative;
        outcome
    }

    fn find_place(&mut self, open: &Open, next: &mut Open, i: usize) -> Outcome {
        let code = self.code;
        let (op, f) = (&code.ops[i], &code.facts[i]);
        if f.reduce {
            if open.units[..4].iter().any(|t| *t) {
                return Outcome::No;
            }
            let cube = op.dst.len() == 4;
            if cube {
                if op.dst.iter().enumerate().any(|(c, w)| self.allowed(*w) >> c & 1 == 0) {
                    return Outcome::No;
                }
                return self.place(open, next, i, &[(0, 0, 0, true), (1, 1, 2, true), (2, 2, 4, true), (3, 3, 6, true)]);
            }
            let Some(c) = self.ordered(op.dst[0]).first().copied() else { return Outcome::No };
            return self.place(open, next, i, &[(0, 0, 0, c == 0), (1, 1, 2, c == 1), (2, 2, 4, c == 2), (3, 3, 6, c == 3)]);
        }
        let t_free = f.trans && !open.units[4];
        if !t_free && (f.unit == Unit::Trans || open.units[..4].iter().all(|t| *t)) {
            return Outcome::No;
        }
        let channels: SmallVec<[u8; 4]> = match (op.dst.first(), op.store) {
            (_, Some((_, _, c, _))) => SmallVec::from_slice(&[c]),
            (Some(w), _) => self.ordered(*w),
            // What uses AR names AR.x, which only unit X writes.
            _ if f.mova => SmallVec::from_slice(&[0]),
            _ => SmallVec::from_slice(&[0, 1, 2, 3]),
        };
        // What shares its lane with another export of the group may go there by T, so that they follow each other in a burst.
        let crowded = channels.first().is_some_and(|c| open.units[*c as usize]);
        if self.aside
            && crowded
            && f.trans
            && !open.units[4]
            && let Some(c) = channels.first()
            && op.dst.first().is_some_and(|w| code.exported[code.local[w.0 as usize] as usize] == Some(*c))
            && let Outcome::Fits = self.place(open, next, i, &[(4, *c, 0, true)])
        {
            return Outcome::Fits;
        }
        // Which vector unit or which channel does not matter to the rules: one try for each kind is enough.
        if f.unit != Unit::Trans
            && let Some(c) = channels.iter().find(|c| !open.units[**c as usize])
            && let Outcome::Fits = self.place(open, next, i, &[(*c, *c, 0, true)])
        {
            return Outcome::Fits;
        }
        if t_free {
            // An operation that any unit can execute goes to T only while its own vector unit is busy.
            let busy = channels.iter().find(|c| f.unit == Unit::Trans || open.units[**c as usize]);
            return busy.map_or(Outcome::Perhaps, |c| self.place(open, next, i, &[(4, *c, 0, true)]));
        }
        Outcome::No
    }

    /// Allowed channels, the preferred one first, then by how few values they hold.
    fn ordered(&mut self, w: Web) -> SmallVec<[u8; 4]> {
        let allowed = self.allowed(w);
        let n = self.code.local[w.0 as usize] as usize;
        let exported = self.code.exported[n];
        if let (true, Some(x)) = (self.strict, exported.filter(|x| allowed >> x & 1 == 1)) {
            return SmallVec::from_buf_and_len([x, 0, 0, 0], 1);
        }
        if allowed.is_power_of_two() {
            return SmallVec::from_buf_and_len([allowed.trailing_zeros() as u8, 0, 0, 0], 1);
        }
        // Every second attempt leaves open what need not lie in the lane of its export.
        let lane = self.code.mir.webs[w.0 as usize].lane.filter(|_| !self.strict);
        let prefer = self.code.prefer[n].or(exported).or(lane);
        let r = if self.noise > 0 { self.random() } else { 0 };
        // Each channel below what counts.
        let (mut keys, mut count) = ([0u64; 4], 0);
        for c in (0..4u8).filter(|c| allowed >> c & 1 == 1) {
            let random = self.noise > 0 && !self.code.even;
            let load = if random { (r >> (8 * c)) as u32 & 3 } else { self.load[c as usize] };
            keys[count] = u64::from(Some(c) != prefer) << 40 | u64::from(load) << 8 | u64::from(c);
            count += 1;
        }
        keys[..count].sort_unstable();
        SmallVec::from_buf_and_len(keys.map(|k| k as u8), count)
    }

    /// Notes that an operation has its time; its successors may become ready.
    fn done(&mut self, i: usize) {
        self.time[i] = Some(self.now);
        let code = self.code;
        if code.facts[i].alu {
            if let Some(k) = self.ready.iter().position(|r| *r == i) {
                self.ready.remove(k);
            }
            self.left -= 1;
            self.trans -= u64::from(code.facts[i].unit == Unit::Trans);
            for h in &code.facts[i].halves {
                let readers = &mut self.halves[*h as usize];
                readers[0] -= 1;
                self.unread -= u64::from(*readers == [0, 0]);
            }
            self.indexed += code.facts[i].index_users;
            self.indexed = self.indexed.saturating_sub(code.facts[i].relative as u32);
        }
        for n in &code.facts[i].reads {
            let n = *n as usize;
            self.pending[n] -= 1;
            if let (0, Some(c)) = (self.pending[n], self.chan[n]) {
                self.live[c as usize & 3] -= 1;
            }
        }
        for (s, lat) in &self.code.graph.succs[i] {
            self.earliest[*s] = self.earliest[*s].max(self.now + *lat as u32);
            self.missing[*s] -= 1;
            if self.missing[*s] == 0 && code.facts[*s].alu {
                self.ready.push(*s);
                if self.earliest[*s] <= self.now {
                    self.fresh.push(*s);
                }
                for h in &code.facts[*s].halves {
                    let [ready, missing] = &mut self.halves[*h as usize];
                    (*ready, *missing) = (*ready + 1, *missing - 1);
                }
            }
        }
    }

    fn settle(&mut self, w: Web, c: u8) {
        let n = self.code.local[w.0 as usize] as usize;
        if self.chan[n].is_none() {
            self.chan[n] = Some(c);
            self.live[c as usize & 3] += (self.pending[n] > 0) as u32;
        }
    }

    fn commit(&mut self, i: usize, open: &Open) {
        self.done(i);
        let op = &self.code.ops[i];
        for s in open.slots[..open.count].iter().filter(|s| s.op as usize == i && s.result) {
            match op.dst.len() {
                4 => self.settle(op.dst[s.chan as usize], s.chan),
                1 => self.settle(op.dst[0], s.chan),
                _ => {}
            }
        }
    }

    /// An operation's priority and number as one: those with the highest priority come first, then those with the lowest number.
    fn ranked(&mut self, i: usize, held: &[u32]) -> u64 {
        let f = &self.code.facts[i];
        let special = matches!(f.unit, Unit::Trans | Unit::Reduce) as u64 * 5;
        let held = self.gather && f.halves.iter().any(|h| held.contains(h));
        let noise = if self.noise > 0 { ((self.random() >> 32) * (self.noise as u64 + 1)) >> 32 } else { 0 };
        let p = f.relative as u64 * 1_000_000
            + self.urgent.get(i).is_some_and(|u| *u) as u64 * 100_000
            + self.code.graph.height[i] as u64 * 10
            + special
            + held as u64 * HELD
            + noise;
        (u64::from(u32::MAX) - p.min(u64::from(u32::MAX))) << 32 | i as u64
    }

    /// Fills and closes one group; `false` where nothing could be placed.
    fn group(&mut self) -> bool {
        let (mut open, mut next) = (Open::new(self.lines), Open::new(self.lines));
        self.load = self.live;
        let choosy = self.thrifty || self.gather;
        let mut highest = 0;
        let mut held: SmallVec<[u32; 4]> = SmallVec::new();
        // Operations that may join the group, and those that may do so later, when others have joined it.
        let (mut list, mut later) = (std::mem::take(&mut self.list), std::mem::take(&mut self.later));
        self.fresh.clear();
        self.fresh.extend(self.ready.iter().filter(|i| self.earliest[**i] <= self.now));
        loop {
            list.clear();
            later.append(&mut self.fresh);
            for i in later.drain(..) {
                list.push(self.ranked(i, &held));
            }
            if list.len() > READY {
                list.select_nth_unstable(READY);
                list.truncate(READY);
            }
            list.sort_unstable();
            if choosy {
                highest = highest.max(list.iter().map(|i| self.code.graph.height[*i as u32 as usize]).max().unwrap_or(0));
            }
            let mut placed = false;
            let mut tried = 0;
            for (n, i) in list.iter().enumerate() {
                let i = *i as u32 as usize;
                tried = n + 1;
                match self.try_op(&open, &mut next, i) {
                    Outcome::Fits => {}
                    Outcome::Perhaps => {
                        later.push(i);
                        continue;
                    }
                    Outcome::No => continue,
                }
                let mut costs = self.thrifty && next.words.div_ceil(2) > open.words.div_ceil(2);
                let opens = next.halves > open.halves;
                if self.gather && opens {
                    // Its readers that are still to come would ask for the half again.
                    let more = |h: &u32| self.halves[*h as usize][1] > 0;
                    costs |= self.code.facts[i].halves.iter().filter(|h| !held.contains(h)).any(more);
                }
                if costs && open.count > 0 && self.code.graph.height[i] < highest {
                    later.push(i);
                    continue;
                }
                open = next;
                self.lines = open.lines;
                held.extend_from_slice(&self.code.facts[i].halves);
                self.commit(i, &open);
                placed = true;
                if self.gather && opens || open.units.iter().all(|t| *t) {
                    break;
                }
            }
            if !placed || open.units.iter().all(|t| *t) || self.fresh.is_empty() && later.is_empty() && tried == list.len() {
                break;
            }
            later.extend(list[tried..].iter().map(|i| *i as u32 as usize));
        }
        later.clear();
        (self.list, self.later) = (list, later);
        if open.count == 0 {
            return false;
        }
        self.close(open);
        true
    }

    /// Whether the attempt cannot become cheaper than the best one.
    fn hopeless(&self) -> bool {
        if self.limit == u64::MAX {
            return false;
        }
        let longest = self.ready.iter().map(|i| self.code.graph.groups[*i] as u64).max().unwrap_or(0);
        let groups = longest.max(self.slots.div_ceil(5)).max(self.trans).max(self.unread.div_ceil(2));
        self.spent + 8 * (self.slots + self.waves) + GROUP_COST * groups >= self.limit
    }

    /// Turns the open group into an item.
    fn close(&mut self, open: Open) {
        let slots: SmallVec<[Taken; 5]> = SmallVec::from_slice(&open.slots[..open.count]);
        let forward = std::mem::take(&mut self.forward);
        for t in &slots {
            let op = &self.code.ops[t.op as usize];
            // DOT4 and MAX4 forward their sum in PV.x, whatever channel they write.
            let sum = self.code.facts[t.op as usize].reduce && op.dst.len() == 1;
            if t.unit == 4 && self.code.mir.emulators {
                continue;
            }
            if let Some(w) = result(op, t) {
                self.forward.push((w, if sum { 0 } else { t.unit }));
            }
        }
        self.clause += open.size();
        self.spent += 8 * open.size() as u64 + GROUP_COST;
        self.slots -= open.count as u64;
        self.items.push(Item::Group(Group::default()));
        self.drafts.push(Draft { slots, literals: SmallVec::from_slice(&open.literals[..open.words]), forward });
        self.now += 1;
    }

    fn cut(&mut self) {
        if self.clause > 0 {
            self.spent += 8;
            self.items.push(Item::Cut);
        }
        self.forward.clear();
        self.lines = Lines::default();
        self.clause = 0;
    }

    /// Schedules ALU operations until those are done that a wave of fetches needs, others filling holes; all of them if there is none.
    fn alu(&mut self, wave: Option<&Wave>) -> Result<(), Stop> {
        // Those of the wave that may still be open.
        let mut open = wave.map_or(Vec::new(), |w| w.needs.clone());
        self.urgent = vec![false; if open.is_empty() { 0 } else { self.code.ops.len() }];
        open.iter().for_each(|i| self.urgent[*i] = true);
        loop {
            while open.last().is_some_and(|i| self.time[*i].is_some()) {
                open.pop();
            }
            if if wave.is_some() { open.is_empty() && self.indexed == 0 } else { self.left == 0 } {
                return Ok(());
            }
            if !self.group() {
                if self.clause > 0 {
                    self.cut();
                    continue;
                }
                // An operation may wait for a time that has not come although its predecessors are done.
                if self.ready.iter().any(|i| self.earliest[*i] > self.now) {
                    self.now += 1;
                    continue;
                }
                return Err(Stop::Stuck(Stuck::Op(self.ready.iter().copied().min().unwrap_or(0))));
            }
            if self.hopeless() {
                return Err(Stop::Hopeless);
            }
        }
    }

    fn run(&mut self) -> Result<(), Stop> {
        let ops = self.code.ops;
        for wave in self.code.waves {
            self.alu(Some(wave))?;
            self.cut();
            for i in &wave.fetches {
                self.done(*i);
                for w in ops[*i].writes() {
                    if let Some(c) = self.channel(w).or_else(|| self.ordered(w).first().copied()) {
                        self.settle(w, c);
                    }
                }
            }
            self.now += 1;
            self.spent += 8;
            self.waves -= 1;
            self.items.push(Item::Fetch(wave.fetches.clone()));
        }
        self.alu(None)?;
        for i in 0..ops.len() {
            if self.time[i].is_none() {
                // A fetch into what is written out before: nothing is left to be fetched by now.
                if matches!(ops[i].kind, Kind::Fetch(_)) {
                    return Err(Stop::Stuck(Stuck::Op(i)));
                }
                self.items.push(Item::Control(i));
            }
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        // Exports that cannot follow each other in a burst.
        let apart = bursts(self.code.ops).filter(|(a, b)| !a.src.iter().zip(&b.src).all(|(x, y)| self.agree(a.kind, *x, *y)));
        self.spent + 8 * apart.count() as u64
    }

    /// Whether one select serves a lane of two exports.
    fn agree(&self, kind: u8, x: Coord, y: Coord) -> bool {
        match (x, y) {
            (Coord::Web(x), Coord::Web(y)) => self.channel(x).zip(self.channel(y)).is_none_or(|(x, y)| x == y),
            (Coord::Masked, _) | (_, Coord::Masked) if kind == PARAMETER => true,
            _ => x == y,
        }
    }
}

/// What lives around a piece of code, for channels that share the values evenly where registers do not suffice.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Webs that live through the piece, by channel.
    pub through: [u32; 4],
    /// Webs of the piece that live behind it.
    pub behind: BTreeSet<Web>,
}

/// How far a search went and what it found, so that a longer one goes on from there.
#[derive(Clone, Debug)]
pub struct Searched {
    /// What the schedule costs.
    cost: u64,
    /// What was spent, and how many attempts that made.
    spent: u64,
    attempts: u32,
    /// The channels of the webs that the piece of code names, where they have one.
    pub chan: Vec<(Web, u8)>,
}

/// Schedules a piece of code; `budget` bounds the tries. None where a search that goes on from another one finds nothing better.
pub fn schedule(
    ops: &[Op],
    mir: &Mir,
    budget: u64,
    around: Option<&Around>,
    names: &mut Numbering,
    from: Option<&Searched>,
) -> Result<Option<(Vec<Item>, Searched)>, Stuck> {
    if from.is_some_and(|f| f.spent >= budget) {
        return Ok(None);
    }
    names.start(ops, mir.webs.len());
    let facts = facts(ops, names);
    let graph = graph(ops, &facts, mir, names);
    let waves = waves(ops, &facts, &graph, mir);
    let mut prefer = vec![None; names.webs.len()];
    for op in ops.iter().filter(|o| o.kind == Kind::Reduce && o.dst.len() == 1) {
        for (k, s) in op.src.iter().enumerate() {
            if let Some(w) = s.as_web() {
                prefer[names.local[w.0 as usize] as usize].get_or_insert((k / 2) as u8);
            }
        }
    }
    let mut exported = vec![None; names.webs.len()];
    for e in bursts(ops).flat_map(|(a, b)| [a, b]) {
        for (lane, c) in e.src.iter().enumerate() {
            if let Coord::Web(w) = c {
                exported[names.local[w.0 as usize] as usize].get_or_insert(lane as u8);
            }
        }
    }
    let bursting = exported.iter().any(Option::is_some);
    let alu = facts.iter().filter(|f| f.alu).count();
    let chan: Vec<Option<u8>> = names.webs.iter().map(|w| mir.webs[w.0 as usize].chan).collect();
    let mut pending = vec![0u32; names.webs.len()];
    facts.iter().flat_map(|f| &f.reads).for_each(|n| pending[*n as usize] += 1);
    let mut live = [0u32; 4];
    if let Some(a) = around {
        live = a.through;
        a.behind.iter().for_each(|w| pending[names.local[w.0 as usize] as usize] += 1);
    }
    for (c, p) in chan.iter().zip(&pending) {
        if let (Some(c), true) = (c, *p > 0) {
            live[*c as usize & 3] += 1;
        }
    }
    let missing: Vec<u32> = graph.preds.iter().map(|p| p.len() as u32).collect();
    let ready: Vec<usize> = (0..ops.len()).filter(|i| facts[*i].alu && missing[*i] == 0).collect();
    let mut waiting: Vec<[u32; 2]> = Vec::new();
    for (i, h) in facts.iter().enumerate().flat_map(|(i, f)| f.halves.iter().map(move |h| (i, *h as usize))) {
        waiting.resize(waiting.len().max(h + 1), [0; 2]);
        waiting[h][(missing[i] > 0) as usize] += 1;
    }
    let crowded = waiting.len() > FEW_HALVES;
    let webs = &names.webs;
    let code = Code {
        ops,
        facts: &facts,
        graph: &graph,
        waves: &waves,
        mir,
        prefer: &prefer,
        exported: &exported,
        local: &names.local,
        webs,
        alu,
        even: around.is_some(),
    };
    let slots = (0..ops.len()).filter(|i| facts[*i].alu).map(|i| slots(&ops[i])).sum();
    let trans = facts.iter().filter(|f| f.alu && f.unit == Unit::Trans).count() as u64;
    // Asked for only where the search would go on.
    let enough = LazyCell::new(|| bound(ops, &facts, &graph, &waves));
    let mut best: Option<Best> = None;
    let (mut spent, mut attempt) = from.map_or((0, 0), |f| (f.spent, f.attempts));
    let mut least = from.map(|f| f.cost);
    let (mut improved, mut stuck, mut same) = (0u32, None, 0);
    let patience = PATIENCE[usize::from(alu > SHORT)];
    loop {
        // What no attempt finds room for needs its operands elsewhere.
        let no_room = least.is_none() && same >= STUCK;
        if attempt > 0
            && (spent >= budget
                || alu <= 1
                || attempt >= 400
                || attempt - improved > patience
                || no_room
                || least.is_some_and(|l| l <= *enough))
        {
            break;
        }
        let mut run = Run {
            code: &code,
            chan: chan.clone(),
            pending: pending.clone(),
            live,
            left: code.alu,
            indexed: 0,
            time: vec![None; ops.len()],
            missing: missing.clone(),
            earliest: vec![0; ops.len()],
            ready: ready.clone(),
            urgent: Vec::new(),
            now: 0,
            list: Vec::new(),
            later: Vec::new(),
            fresh: Vec::new(),
            items: Vec::with_capacity(alu / 2 + 2),
            drafts: Vec::with_capacity(alu / 2 + 2),
            forward: Forward::new(),
            lines: Lines::default(),
            clause: 0,
            seed: 0x9e37_79b9_7f4a_7c15 ^ (attempt as u64) << 32 | 1,
            noise: if attempt < 2 { 0 } else { 3 + attempt % 25 },
            strict: attempt % 2 == 1,
            aside: bursting && attempt / 4 % 2 == 1,
            thrifty: attempt / 2 % 2 == 1,
            gather: crowded && attempt / 4 % 3 == 1,
            halves: waiting.clone(),
            tries: 0,
            spent: 0,
            limit: least.unwrap_or(u64::MAX),
            slots,
            trans,
            unread: waiting.len() as u64,
            waves: waves.len() as u64,
            load: [0; 4],
        };
        let done = run.run();
        let tries = run.tries;
        match done {
            Ok(()) => {
                let cost = run.cost();
                if least.is_none_or(|l| cost < l) {
                    least = Some(cost);
                    best = Some(Best { items: run.items, drafts: run.drafts, chan: run.chan });
                    improved = attempt;
                }
            }
            Err(Stop::Stuck(s)) => {
                same = if stuck.as_ref() == Some(&s) { same + 1 } else { 0 };
                stuck = Some(s);
            }
            Err(Stop::Hopeless) => {}
        }
        // Without exports to be strict about, the second attempt would be the first again.
        let times = if attempt == 0 && !bursting { 2 } else { 1 };
        spent += times * (tries.max(1) + alu as u64);
        attempt += times as u32;
    }
    match (best, stuck) {
        (Some(Best { items, drafts, chan }), _) => {
            // Only those settle here whose channel this piece chose.
            let chan = code.webs.iter().zip(chan).filter_map(|(w, c)| Some((*w, c?))).collect();
            Ok(Some((write_out(ops, items, drafts), Searched { cost: least.unwrap_or(0), spent, attempts: attempt, chan })))
        }
        (None, _) if from.is_some() => Ok(None),
        (None, Some(s)) => Err(s),
        (None, None) => Ok(Some((Vec::new(), Searched { cost: 0, spent, attempts: attempt, chan: Vec::new() }))),
    }
}

/// What an operation writes in a slot.
fn result(op: &Op, t: &Taken) -> Option<Web> {
    match op.dst.len() {
        4 => Some(op.dst[t.chan as usize]),
        _ if t.result => op.dst.first().copied(),
        _ => None,
    }
}

/// Writes the groups of an attempt out.
fn write_out(ops: &[Op], mut items: Vec<Item>, drafts: Vec<Draft>) -> Vec<Item> {
    let slot = |t: &Taken, known: &Forward| {
        let op = &ops[t.op as usize];
        let src: SmallVec<[Opnd; 3]> = match op.kind {
            Kind::Reduce => SmallVec::from_slice(&op.src[t.first as usize..t.first as usize + 2]),
            _ => op.src.iter().copied().collect(),
        };
        let mut forward = [None; 3];
        for (k, o) in src.iter().enumerate() {
            forward[k] = o.as_web().and_then(|w| known.iter().find(|f| f.0 == w).map(|f| f.1));
        }
        Slot {
            op: t.op as usize,
            form: op.form,
            src,
            forward,
            dst: result(op, t),
            store: op.store,
            unit: t.unit,
            chan: t.chan,
            bank: t.bank,
            pred: matches!(op.kind, Kind::Pred(_)),
            omod: op.omod,
            clamp: op.clamp,
        }
    };
    let groups = items.iter_mut().filter_map(|i| if let Item::Group(g) = i { Some(g) } else { None });
    for (group, d) in groups.zip(drafts) {
        let mut slots: Vec<Slot> = d.slots.iter().map(|t| slot(t, &d.forward)).collect();
        slots.sort_by_key(|s| s.unit);
        *group = Group { slots, literals: d.literals };
    }
    items
}

/// Slots that an ALU operation takes.
pub fn slots(op: &Op) -> u64 {
    if op.kind == Kind::Reduce { 4 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::op2;

    /// Products, sums and sines of earlier values, every second time of constants too, which give a search something to find.
    fn code(seed: u32) -> Vec<Op> {
        let mut state = seed;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let reach = 2 + 2 * seed;
        let op = |k: u32| {
            let form = [op2::MUL, op2::ADD, op2::SIN][random(7) as usize % 3];
            let constant = Place::Const(0, random(12) as u16, random(4) as u8);
            let place = match random(if seed.is_multiple_of(2) { 1 } else { 4 }) {
                0 => Place::Web(Web(k.saturating_sub(1 + random(reach)))),
                1 => Place::Bits(0x4000_0000 + random(9)),
                _ => constant,
            };
            let sources = [Opnd { place, neg: false, abs: false }, Opnd::web(Web(k.saturating_sub(1 + random(reach))))];
            Op::alu(form, &sources[usize::from(form == op2::SIN)..], Some(Web(k)))
        };
        (1..60).map(op).collect()
    }

    #[test]
    fn a_longer_search_goes_on_where_a_short_one_ended() {
        let mir = Mir { webs: vec![WebInfo::default(); 64], ..Mir::default() };
        let (mut better, mut same) = (0, 0);
        for seed in 0..40 {
            let ops = code(seed);
            let search = |budget: u64, from: Option<&Searched>| {
                schedule(&ops, &mir, budget, None, &mut Numbering::default(), from).unwrap_or_else(|s| panic!("seed {seed}: {s:?}"))
            };
            let (Some((short, searched)), Some((long, _))) = (search(1, None), search(4_000, None)) else { panic!("seed {seed}") };
            let text = |items: &[Item]| format!("{items:?}");
            match search(4_000, Some(&searched)) {
                Some((items, _)) => {
                    better += 1;
                    assert_eq!(text(&items), text(&long), "seed {seed}");
                }
                None => {
                    same += 1;
                    assert_eq!(text(&short), text(&long), "seed {seed}");
                }
            }
            assert!(search(1, Some(&searched)).is_none(), "nothing is left to spend");
        }
        assert!(better > 1 && same > 1, "{better} {same}");
    }
}
