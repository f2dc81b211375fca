//! Scheduling and channel assignment as one problem: operations of a piece of straight-line code become groups and clauses.
//!
//! A list scheduler fills one group after the other; where an operation is placed settles the channel of its result. Legality
//! (slots, read ports, constant pairs, literals, kcache lines, clause length) is tried at every placement. Several seeded
//! orders are tried and the cheapest kept; the work is counted in tries, so the result is deterministic.

use crate::forms::{self, TABLE, Unit};
use crate::mir::*;
use crate::ports::{self, Read, SlotReads};
use crate::webs::{Range, overlap};
use retroshade_emit::form::FormId;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// Slots of a clause in 64-bit units.
pub const CLAUSE_SLOTS: usize = 128;
/// Fetches of a clause.
pub const CLAUSE_FETCHES: usize = 16;

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

/// Constant lines that an ALU clause locks: at most two sets of one or two neighbouring lines.
#[derive(Clone, Debug, Default)]
pub struct Lines(pub BTreeSet<(u8, u16)>);

impl Lines {
    /// The sets that cover the lines, or `None` where two do not suffice: (buffer, first line, lines).
    pub fn sets(&self) -> Option<SmallVec<[(u8, u16, u8); 2]>> {
        let mut out: SmallVec<[(u8, u16, u8); 2]> = SmallVec::new();
        for (bank, line) in &self.0 {
            match out.last_mut() {
                Some((b, first, n)) if *b == *bank && *line == *first + 1 && *n == 1 => *n = 2,
                _ => out.push((*bank, *line, 1)),
            }
        }
        (out.len() <= 2).then_some(out)
    }
}

/// Why a piece of code could not be scheduled.
#[derive(Clone, Debug)]
pub enum Stuck {
    /// The operation fits no group, however empty; its operands should move to other channels.
    Op(usize),
}

/// Dependences of a piece of code.
struct Graph {
    /// (predecessor, latency: 0 same group allowed, 1 later group).
    preds: Vec<Vec<(usize, u8)>>,
    height: Vec<u32>,
}

fn graph(ops: &[Op]) -> Graph {
    let n = ops.len();
    let mut preds: Vec<BTreeMap<usize, u8>> = vec![BTreeMap::new(); n];
    let mut add = |to: usize, from: usize, lat: u8| {
        if to != from {
            let e = preds[to].entry(from).or_insert(lat);
            *e = (*e).max(lat);
        }
    };
    let mut def: BTreeMap<Web, usize> = BTreeMap::new();
    let mut readers: BTreeMap<Web, Vec<usize>> = BTreeMap::new();
    let (mut last_store, mut loads): (Option<usize>, Vec<usize>) = (None, Vec::new());
    let (mut mova, mut relative): (Option<usize>, Vec<usize>) = (None, Vec::new());
    let mut control: Option<usize> = None;
    for (i, op) in ops.iter().enumerate() {
        for w in op.reads() {
            if let Some(d) = def.get(&w) {
                add(i, *d, 1);
            }
            readers.entry(w).or_default().push(i);
        }
        for w in op.writes() {
            if let Some(d) = def.get(&w) {
                add(i, *d, 1);
            }
            for r in readers.remove(&w).unwrap_or_default() {
                add(i, r, if ops[r].is_alu() && op.is_alu() { 0 } else { 1 });
            }
            def.insert(w, i);
        }
        let loads_array = op.src.iter().any(|s| matches!(s.place, Place::Array { .. }));
        let rel = op.src.iter().any(|s| matches!(s.place, Place::Array { rel: true, .. })) || op.store.is_some_and(|s| s.3);
        if loads_array {
            if let Some(s) = last_store {
                add(i, s, 1);
            }
            loads.push(i);
        }
        if op.store.is_some() {
            if let Some(s) = last_store {
                add(i, s, 1);
            }
            for l in loads.drain(..) {
                add(i, l, 0);
            }
            last_store = Some(i);
        }
        if op.kind == Kind::Mova {
            for r in relative.drain(..) {
                add(i, r, 1);
            }
            if let Some(m) = mova {
                add(i, m, 1);
            }
            mova = Some(i);
        }
        if rel {
            if let Some(m) = mova {
                add(i, m, 1);
            }
            relative.push(i);
        }
        if matches!(op.kind, Kind::Export(_) | Kind::Control(_) | Kind::Kill) {
            if let Some(c) = control {
                add(i, c, 1);
            }
            control = Some(i);
        }
        if op.kind == Kind::Pred {
            for j in 0..i {
                if ops[j].is_alu() {
                    add(i, j, 0);
                } else {
                    add(i, j, 1);
                }
            }
        }
    }
    // AR dies with its clause: a MOVA waits until everything that its users need is there.
    for i in 0..n {
        if ops[i].kind == Kind::Mova {
            let users: Vec<usize> = (i + 1..n).filter(|u| preds[*u].contains_key(&i) && ops[*u].kind != Kind::Mova).collect();
            let waits: Vec<usize> = users.iter().flat_map(|u| preds[*u].keys().copied().collect::<Vec<_>>()).filter(|p| *p < i).collect();
            for p in waits {
                preds[i].entry(p).or_insert(1);
            }
        }
    }
    let mut succs = vec![Vec::new(); n];
    let mut height = vec![0u32; n];
    for i in (0..n).rev() {
        for p in preds[i].keys() {
            succs[*p].push(i);
        }
    }
    for i in (0..n).rev() {
        for s in &succs[i] {
            let lat = preds[*s].get(&i).copied().unwrap_or(0) as u32;
            let own = if ops[*s].is_alu() { lat } else { lat + 4 };
            height[i] = height[i].max(height[*s] + own);
        }
    }
    Graph { preds: preds.into_iter().map(|p| p.into_iter().collect()).collect(), height }
}

/// A literal as an operand sees it: the word kept in the group and whether the operand negates it.
fn literal(words: &mut SmallVec<[u32; 4]>, bits: u32, float: bool) -> Option<(u8, bool)> {
    if let Some(k) = words.iter().position(|w| *w == bits) {
        return Some((k as u8, false));
    }
    if float && let Some(k) = words.iter().position(|w| *w == bits ^ 0x8000_0000) {
        return Some((k as u8, true));
    }
    (words.len() < 4).then(|| {
        words.push(bits);
        (words.len() as u8 - 1, false)
    })
}

/// The scheduler of one piece of code under one seed.
struct Run<'a> {
    ops: &'a [Op],
    graph: &'a Graph,
    mir: &'a Mir,
    live_out: &'a BTreeSet<Web>,
    /// Live ranges in program order, which also show what goes around loops.
    ranges: &'a [Range],
    /// Channel of each web, settled so far.
    chan: BTreeMap<Web, u8>,
    /// Reads of each web not yet scheduled.
    pending: BTreeMap<Web, u32>,
    time: Vec<Option<u32>>,
    now: u32,
    items: Vec<Item>,
    /// Units of the previous group by the web that they hold, if it belongs to the open clause.
    forward: BTreeMap<Web, u8>,
    lines: Lines,
    clause: usize,
    seed: u64,
    noise: u32,
    prefer: &'a BTreeMap<Web, u8>,
    tries: u64,
    relative: u32,
    /// Live values by channel when the open group began.
    load: [u32; 4],
}

/// A group under construction.
#[derive(Clone, Default)]
struct Open {
    group: Group,
    reads: SmallVec<[SlotReads; 5]>,
    taken: [bool; 5],
    lines: Lines,
    exclusive: bool,
    mova: bool,
    relative: bool,
}

impl Open {
    fn units(&self) -> usize {
        self.group.slots.len() + self.group.literals.len().div_ceil(2)
    }
}

impl Run<'_> {
    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    fn channel(&self, w: Web) -> Option<u8> {
        self.mir.webs[w.0 as usize].chan.or_else(|| self.chan.get(&w).copied())
    }

    /// Channels that a definition of `w` may take now.
    fn allowed(&self, w: Web, i: usize, open: &Open) -> SmallVec<[u8; 4]> {
        let candidates: SmallVec<[u8; 4]> = match self.channel(w) {
            Some(c) => SmallVec::from_slice(&[c]),
            None => (0..4).collect(),
        };
        let Some(q) = self.mir.webs[w.0 as usize].quad else { return candidates };
        candidates
            .into_iter()
            .filter(|c| {
                self.mir.quads[q.0 as usize].iter().all(|m| {
                    if *m == w || self.channel(*m) != Some(*c) {
                        return true;
                    }
                    if overlap(&self.ranges[m.0 as usize], &self.ranges[w.0 as usize]) {
                        return false;
                    }
                    // Another member of the register: its value must be dead once this group has read its operands.
                    let own = self.ops[i].reads().iter().filter(|r| *r == m).count() as u32;
                    let defined_here = open.group.slots.iter().any(|s| s.dst == Some(*m));
                    !defined_here && self.pending.get(m).copied().unwrap_or(0) == own && !self.live_out.contains(m)
                })
            })
            .collect()
    }

    fn key(&mut self, o: &Opnd) -> Read {
        match o.place {
            Place::Web(w) => {
                let key = self.mir.webs[w.0 as usize].quad.map_or(w.0, |q| 0x8000_0000 | q.0);
                Read::Gpr(key, self.channel(w).unwrap_or(0))
            }
            Place::Const(b, i, c) => Read::Const((b as u32) << 20 | (i as u32) << 1 | (c >> 1) as u32),
            Place::Bits(_) => Read::Inline,
            Place::Array { local, offset, chan, rel } => {
                self.relative += 1;
                let key = if rel { 0x4000_0000 | self.relative } else { 0x2000_0000 | (local as u32) << 8 | offset as u32 };
                Read::Gpr(key, chan)
            }
        }
    }

    /// Tries to put slots (one, or four of a reduction) into the open group.
    fn place(&mut self, open: &Open, new: SmallVec<[Slot; 4]>) -> Option<Open> {
        self.tries += 1;
        let mut next = open.clone();
        for mut s in new {
            if std::mem::replace(&mut next.taken[s.unit as usize], true) {
                return None;
            }
            let mut reads = SmallVec::new();
            for k in 0..s.src.len() {
                let o = s.src[k];
                let r = match (o.place, o.as_web().and_then(|w| self.forward.get(&w).copied())) {
                    (_, Some(unit)) => {
                        s.forward[k] = Some(unit);
                        Read::Forward
                    }
                    (Place::Bits(b), _) => {
                        let float = float_operands(TABLE.form(s.form).ext.short);
                        if inline_constant(b, float).is_none() {
                            literal(&mut next.group.literals, b, float)?;
                        }
                        Read::Inline
                    }
                    (Place::Const(b, i, _), _) => {
                        next.lines.0.insert((b, i / 16));
                        self.key(&o)
                    }
                    _ => self.key(&o),
                };
                reads.push(r);
            }
            next.reads.push(SlotReads { unit: s.unit, reads });
            next.group.slots.push(s);
        }
        if next.lines.0.len() != open.lines.0.len() {
            next.lines.sets()?;
        }
        if self.clause + next.units() > CLAUSE_SLOTS || !ports::constants_fit(&next.reads) {
            return None;
        }
        let banks = ports::swizzles(&next.reads)?;
        for (s, b) in next.group.slots.iter_mut().zip(banks) {
            s.bank = b;
        }
        Some(next)
    }

    fn slot(&self, i: usize, unit: u8, chan: u8) -> Slot {
        let op = &self.ops[i];
        Slot {
            op: i,
            form: op.form,
            src: op.src.iter().copied().collect(),
            forward: [None; 3],
            dst: op.dst.first().copied(),
            store: op.store,
            unit,
            chan,
            bank: 0,
            pred: op.kind == Kind::Pred,
            omod: op.omod,
            clamp: op.clamp,
        }
    }

    /// Tries every place of an operation in the open group.
    fn try_op(&mut self, open: &Open, i: usize) -> Option<Open> {
        let op = &self.ops[i];
        let exclusive = matches!(op.kind, Kind::Pred | Kind::Kill);
        let rel = op.src.iter().any(|s| matches!(s.place, Place::Array { rel: true, .. })) || op.store.is_some_and(|s| s.3);
        if exclusive && open.exclusive || op.kind == Kind::Mova && (open.relative || open.mova) || rel && open.mova {
            return None;
        }
        let done = |mut o: Open| {
            o.exclusive |= exclusive;
            o.mova |= op.kind == Kind::Mova;
            o.relative |= rel;
            Some(o)
        };
        if op.kind == Kind::Reduce {
            if open.taken[..4].iter().any(|t| *t) {
                return None;
            }
            let cube = op.dst.len() == 4;
            let channels: SmallVec<[u8; 4]> = if cube { SmallVec::from_slice(&[0]) } else { self.ordered(op.dst[0], i, open) };
            if cube && op.dst.iter().enumerate().any(|(c, w)| !self.allowed(*w, i, open).contains(&(c as u8))) {
                return None;
            }
            for c in channels {
                let slots = (0..4u8)
                    .map(|u| {
                        let mut s = self.slot(i, u, u);
                        s.src = SmallVec::from_slice(&op.src[u as usize * 2..u as usize * 2 + 2]);
                        s.dst = if cube { Some(op.dst[u as usize]) } else { (u == c).then(|| op.dst[0]) };
                        s
                    })
                    .collect();
                if let Some(o) = self.place(open, slots) {
                    return done(o);
                }
            }
            return None;
        }
        let unit = TABLE.form(op.form).ext.unit;
        let channels: SmallVec<[u8; 4]> = match (op.dst.first(), op.store) {
            (_, Some((_, _, c, _))) => SmallVec::from_slice(&[c]),
            (Some(w), _) => self.ordered(*w, i, open),
            _ => (0..4).collect(),
        };
        if unit != Unit::Trans {
            for c in &channels {
                if !open.taken[*c as usize] {
                    let s = self.slot(i, *c, *c);
                    if let Some(o) = self.place(open, SmallVec::from_iter([s])) {
                        return done(o);
                    }
                }
            }
        }
        // MULADD in T is legal by the manual, but a production compiler refuses it without giving a reason.
        let t = unit == Unit::Trans
            || unit == Unit::Any && !op.name().starts_with("MULADD") && !matches!(op.kind, Kind::Pred | Kind::Kill | Kind::Mova);
        if t && !open.taken[4] {
            for c in &channels {
                // An operation that any unit can execute goes to T only while its own vector unit is busy.
                if unit == Unit::Trans || open.taken[*c as usize] {
                    let s = self.slot(i, 4, *c);
                    if let Some(o) = self.place(open, SmallVec::from_iter([s])) {
                        return done(o);
                    }
                }
            }
        }
        None
    }

    /// Allowed channels, the preferred one first, then by how few values they hold.
    fn ordered(&mut self, w: Web, i: usize, open: &Open) -> SmallVec<[u8; 4]> {
        let mut c = self.allowed(w, i, open);
        let load = self.load;
        let prefer = self.prefer.get(&w).copied();
        let r = if self.noise > 0 { self.random() } else { 0 };
        c.sort_by_key(|x| (Some(*x) != prefer, if self.noise > 0 { (r >> (8 * *x)) as u32 & 3 } else { load[*x as usize] }, *x));
        c
    }

    fn ready(&self, i: usize) -> bool {
        self.time[i].is_none() && self.graph.preds[i].iter().all(|(p, lat)| self.time[*p].is_some_and(|t| t + *lat as u32 <= self.now))
    }

    fn schedule_reads(&mut self, i: usize) {
        for w in self.ops[i].reads() {
            if let Some(n) = self.pending.get_mut(&w) {
                *n -= 1;
            }
        }
    }

    fn commit(&mut self, i: usize, open: &Open) {
        self.time[i] = Some(self.now);
        self.schedule_reads(i);
        for s in &open.group.slots {
            if let (true, Some(w)) = (s.op == i, s.dst)
                && self.mir.webs[w.0 as usize].chan.is_none()
            {
                self.chan.entry(w).or_insert(s.chan);
            }
        }
    }

    /// Fills and closes one group; `false` where nothing could be placed.
    fn group(&mut self, urgent: &BTreeSet<usize>) -> bool {
        let mut open = Open { lines: self.lines.clone(), ..Open::default() };
        let mut load = [0; 4];
        for (x, n) in &self.pending {
            if let (true, Some(c)) = (*n > 0, self.channel(*x)) {
                load[c as usize] += 1;
            }
        }
        self.load = load;
        loop {
            let mut list: Vec<(u64, usize)> = Vec::new();
            for i in 0..self.ops.len() {
                if self.ops[i].is_alu() && self.ready(i) {
                    let unit = TABLE.form(self.ops[i].form).ext.unit;
                    let special = matches!(unit, Unit::Trans | Unit::Reduce) as u64 * 5;
                    let pending_ar = (self.ops[i].store.is_some_and(|s| s.3)
                        || self.ops[i].src.iter().any(|s| matches!(s.place, Place::Array { rel: true, .. })))
                        as u64;
                    let noise = if self.noise > 0 { self.random() % (self.noise as u64 + 1) } else { 0 };
                    let p =
                        pending_ar * 1_000_000 + urgent.contains(&i) as u64 * 100_000 + self.graph.height[i] as u64 * 10 + special + noise;
                    list.push((p, i));
                }
            }
            list.sort_by_key(|(p, i)| (std::cmp::Reverse(*p), *i));
            let mut placed = false;
            for (_, i) in &list {
                // A definition placed earlier in this pass may have satisfied or blocked others; times are checked anew.
                if let Some(next) = self.try_op(&open, *i) {
                    open = next;
                    self.commit(*i, &open);
                    placed = true;
                }
            }
            if !placed || open.taken.iter().all(|t| *t) {
                break;
            }
        }
        if open.group.slots.is_empty() {
            return false;
        }
        open.group.slots.sort_by_key(|s| s.unit);
        self.forward.clear();
        for s in &open.group.slots {
            if let Some(w) = s.dst {
                // DOT4 and MAX4 forward their sum in PV.x, whatever channel they write.
                let reduce = self.ops[s.op].kind == Kind::Reduce && self.ops[s.op].dst.len() == 1;
                self.forward.insert(w, if reduce { 0 } else { s.unit });
            }
        }
        self.clause += open.units();
        self.lines = open.lines.clone();
        self.items.push(Item::Group(open.group));
        self.now += 1;
        true
    }

    fn cut(&mut self) {
        if self.clause > 0 {
            self.items.push(Item::Cut);
        }
        self.forward.clear();
        self.lines = Lines::default();
        self.clause = 0;
    }

    /// Schedules ALU operations until `goal` is done, others filling holes; all of them if `goal` is `None`.
    fn alu(&mut self, goal: Option<&BTreeSet<usize>>) -> Result<(), Stuck> {
        let none = BTreeSet::new();
        loop {
            let left = match goal {
                Some(g) => g.iter().any(|i| self.time[*i].is_none()),
                None => (0..self.ops.len()).any(|i| self.ops[i].is_alu() && self.time[i].is_none()),
            };
            if !left {
                return Ok(());
            }
            if !self.group(goal.unwrap_or(&none)) {
                if self.clause > 0 {
                    self.cut();
                    continue;
                }
                // An operation may wait for a time that has not come although its predecessors are done.
                let waiting = (0..self.ops.len())
                    .any(|i| self.time[i].is_none() && self.graph.preds[i].iter().all(|(p, _)| self.time[*p].is_some()) && !self.ready(i));
                if waiting {
                    self.now += 1;
                    continue;
                }
                let first = (0..self.ops.len()).find(|i| self.ops[*i].is_alu() && self.ready(*i));
                return Err(Stuck::Op(first.unwrap_or(0)));
            }
        }
    }

    fn run(&mut self) -> Result<(), Stuck> {
        loop {
            // Fetches that need no other unscheduled fetch.
            let mut wave: Vec<usize> = Vec::new();
            let mut need: BTreeSet<usize> = BTreeSet::new();
            let mut k = 0;
            while k < self.ops.len() {
                if self.time[k].is_some() || !matches!(self.ops[k].kind, Kind::Fetch(_)) {
                    k += 1;
                    continue;
                }
                // A bundle: a fetch and the ones joined to it, which follow it in program order.
                let mut bundle = vec![k];
                let mut j = k + 1;
                while j < self.ops.len() {
                    match &self.ops[j].kind {
                        Kind::Fetch(f) if f.joined => bundle.push(j),
                        Kind::Fetch(_) => break,
                        _ => {}
                    }
                    j += 1;
                }
                let mut before: BTreeSet<usize> = BTreeSet::new();
                let mut stack = bundle.clone();
                while let Some(i) = stack.pop() {
                    for (p, _) in &self.graph.preds[i] {
                        if self.time[*p].is_none() && !bundle.contains(p) && before.insert(*p) {
                            stack.push(*p);
                        }
                    }
                }
                let texture = |i: usize| TABLE.form(self.ops[i].form_of_fetch()).spaces == forms::TEX;
                let same_kind = wave.first().is_none_or(|w| texture(*w) == texture(k));
                let independent = before.iter().all(|i| self.ops[*i].is_alu());
                if independent && same_kind && wave.len() + bundle.len() <= CLAUSE_FETCHES {
                    wave.extend(&bundle);
                    need.extend(before);
                }
                k = bundle.last().copied().unwrap_or(k) + 1;
            }
            if wave.is_empty() {
                break;
            }
            self.alu(Some(&need))?;
            self.cut();
            for i in &wave {
                self.time[*i] = Some(self.now);
                self.schedule_reads(*i);
                for w in self.ops[*i].writes() {
                    if let Some(c) = self.mir.webs[w.0 as usize].chan {
                        self.chan.insert(w, c);
                    }
                }
            }
            self.now += 1;
            self.items.push(Item::Fetch(wave));
        }
        self.alu(None)?;
        for i in 0..self.ops.len() {
            if self.time[i].is_none() {
                self.items.push(Item::Control(i));
            }
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        self.items
            .iter()
            .map(|i| match i {
                Item::Group(g) => 8 * (g.slots.len() + g.literals.len().div_ceil(2)) as u64 + 5,
                Item::Cut => 8,
                Item::Fetch(_) => 8,
                Item::Control(_) => 0,
            })
            .sum()
    }
}

impl Op {
    /// The form of a fetch, or the operation's own.
    pub fn form_of_fetch(&self) -> FormId {
        match &self.kind {
            Kind::Fetch(f) => f.form,
            _ => self.form,
        }
    }
}

/// Schedules a piece of code: its items, and the channels of the webs that it defines first.
pub fn schedule(
    ops: &[Op],
    mir: &Mir,
    live_out: &BTreeSet<Web>,
    ranges: &[Range],
    budget: u64,
) -> Result<(Vec<Item>, BTreeMap<Web, u8>), Stuck> {
    let graph = graph(ops);
    let mut prefer = BTreeMap::new();
    for op in ops.iter().filter(|o| o.kind == Kind::Reduce && o.dst.len() == 1) {
        for (k, s) in op.src.iter().enumerate() {
            if let Some(w) = s.as_web() {
                prefer.entry(w).or_insert((k / 2) as u8);
            }
        }
    }
    let alu = ops.iter().filter(|o| o.is_alu()).count();
    let mut best: Option<(u64, Vec<Item>, BTreeMap<Web, u8>)> = None;
    let (mut spent, mut attempt, mut stuck) = (0u64, 0u32, None);
    loop {
        let mut pending: BTreeMap<Web, u32> = BTreeMap::new();
        ops.iter().flat_map(|o| o.reads()).for_each(|w| *pending.entry(w).or_default() += 1);
        let mut run = Run {
            ops,
            graph: &graph,
            mir,
            live_out,
            ranges,
            chan: BTreeMap::new(),
            pending,
            time: vec![None; ops.len()],
            now: 0,
            items: Vec::new(),
            forward: BTreeMap::new(),
            lines: Lines::default(),
            clause: 0,
            seed: 0x9e37_79b9_7f4a_7c15 ^ (attempt as u64) << 32 | 1,
            noise: if attempt == 0 { 0 } else { 3 + attempt % 25 },
            prefer: &prefer,
            tries: 0,
            relative: 0,
            load: [0; 4],
        };
        match run.run() {
            Ok(()) => {
                let cost = run.cost();
                if best.as_ref().is_none_or(|b| cost < b.0) {
                    best = Some((cost, run.items, run.chan));
                }
            }
            Err(s) => stuck = Some(s),
        }
        spent += run.tries.max(1) + alu as u64;
        attempt += 1;
        if spent >= budget || alu <= 1 || attempt >= 400 {
            break;
        }
    }
    match (best, stuck) {
        (Some((_, items, chan)), _) => Ok((items, chan)),
        (None, Some(s)) => Err(s),
        (None, None) => Ok((Vec::new(), BTreeMap::new())),
    }
}
