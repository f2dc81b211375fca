//! Scheduling and channel assignment as one problem: operations of a piece of straight-line code become groups and clauses.
//!
//! A list scheduler fills one group after the other; where an operation is placed settles the channel of its result. Legality
//! (slots, read ports, constant pairs, literals, kcache lines, clause length) is tried at every placement. Several seeded
//! orders are tried and the cheapest kept; the work is counted in tries, so the result is deterministic.

use crate::forms::{self, TABLE, Unit};
use crate::mir::*;
use crate::ports::{self, Read, SlotReads};
use retroshade_emit::form::FormId;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// Slots of a clause in 64-bit units.
pub const CLAUSE_SLOTS: usize = 128;
/// Fetches of a clause.
pub const CLAUSE_FETCHES: usize = 16;
/// Slots that a MOVA leaves free in its clause for the groups that use AR.
const AR_ROOM: usize = 40;
/// What a group costs beside the bytes of its slots.
pub const GROUP_COST: u64 = 12;

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
pub struct Lines(SmallVec<[(u8, u16); 4]>);

impl Lines {
    /// Adds a line of a buffer.
    pub fn insert(&mut self, bank: u8, line: u16) {
        if let Err(at) = self.0.binary_search(&(bank, line)) {
            self.0.insert(at, (bank, line));
        }
    }
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

/// An operand as the legality rules see it.
#[derive(Clone, Copy, Debug)]
enum Operand {
    Web(Web),
    /// Key of the register half; buffer and line.
    Const(u32, u8, u16),
    Inline,
    /// A literal and whether operands may negate it.
    Literal(u32, bool),
    /// An array element: key and channel.
    Array(u32, u8),
}

/// What the scheduler asks about an operation again and again.
struct Facts {
    operands: SmallVec<[Operand; 8]>,
    unit: Unit,
    alu: bool,
    exclusive: bool,
    relative: bool,
    /// Whether T may take it.
    trans: bool,
}

fn facts(ops: &[Op]) -> Vec<Facts> {
    let operand = |i: usize, k: usize, o: &Opnd, float: bool| match o.place {
        Place::Web(w) => Operand::Web(w),
        Place::Const(b, n, c) => Operand::Const((b as u32) << 20 | (n as u32) << 1 | (c >> 1) as u32, b, n / 16),
        Place::Bits(b) if inline_constant(b, float).is_some() => Operand::Inline,
        Place::Bits(b) => Operand::Literal(b, float),
        // A relative operand conflicts with every other read of its channel: its key is unique.
        Place::Array { chan, rel: true, .. } => Operand::Array(0x4000_0000 | (i as u32) << 3 | k as u32, chan),
        Place::Array { local, offset, chan, .. } => Operand::Array(0x2000_0000 | (local as u32) << 8 | offset as u32, chan),
    };
    ops.iter()
        .enumerate()
        .map(|(i, op)| {
            let float = float_operands(op.name());
            let unit = TABLE.form(op.form).ext.unit;
            Facts {
                operands: op.src.iter().enumerate().map(|(k, o)| operand(i, k, o, float)).collect(),
                unit,
                alu: op.is_alu(),
                exclusive: matches!(op.kind, Kind::Pred | Kind::Kill),
                relative: op.src.iter().any(|s| matches!(s.place, Place::Array { rel: true, .. })) || op.store.is_some_and(|s| s.3),
                // MULADD_IEEE in T is in published code of this family; its scaling forms are not.
                trans: unit == Unit::Trans
                    || unit == Unit::Any
                        && !op.name().starts_with("MULADD_IEEE_")
                        && !matches!(op.kind, Kind::Pred | Kind::Kill | Kind::Mova),
            }
        })
        .collect()
}

/// Dependences of a piece of code.
struct Graph {
    /// (predecessor, latency: 0 same group allowed, 1 later group).
    preds: Vec<Vec<(usize, u8)>>,
    /// The reverse.
    succs: Vec<Vec<(usize, u8)>>,
    height: Vec<u32>,
}

/// Array elements whose accesses may not change places: a relative access may be any element of its array.
fn same_element(a: (u8, u8, u8, bool), b: (u8, u8, u8, bool)) -> bool {
    a.0 == b.0 && a.2 == b.2 && (a.3 || b.3 || a.1 == b.1)
}

fn graph(ops: &[Op], facts: &[Facts], mir: &Mir) -> Graph {
    let n = ops.len();
    let mut preds: Vec<BTreeMap<usize, u8>> = vec![BTreeMap::new(); n];
    let mut add = |to: usize, from: usize, lat: u8| {
        if to != from {
            let e = preds[to].entry(from).or_insert(lat);
            *e = (*e).max(lat);
        }
    };
    // Members of a register that share a channel stay in their order, as if they were one web.
    let mut shared: BTreeMap<(Quad, u8), Web> = BTreeMap::new();
    let mut place = |w: Web| match (mir.webs[w.0 as usize].quad, mir.webs[w.0 as usize].chan) {
        (Some(q), Some(c)) => *shared.entry((q, c)).or_insert(w),
        _ => w,
    };
    let mut def: BTreeMap<Web, usize> = BTreeMap::new();
    let mut readers: BTreeMap<Web, Vec<usize>> = BTreeMap::new();
    let (mut stores, mut loads): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut mova, mut relative): (Option<usize>, Vec<usize>) = (None, Vec::new());
    let mut control: Option<usize> = None;
    let loaded = |op: &Op| -> SmallVec<[(u8, u8, u8, bool); 2]> {
        op.src
            .iter()
            .filter_map(|s| match s.place {
                Place::Array { local, offset, chan, rel } => Some((local, offset, chan, rel)),
                _ => None,
            })
            .collect()
    };
    for (i, op) in ops.iter().enumerate() {
        for w in op.reads() {
            let w = place(w);
            if let Some(d) = def.get(&w) {
                add(i, *d, 1);
            }
            readers.entry(w).or_default().push(i);
        }
        for w in op.writes() {
            let w = place(w);
            if let Some(d) = def.get(&w) {
                add(i, *d, 1);
            }
            for r in readers.remove(&w).unwrap_or_default() {
                add(i, r, if facts[r].alu && facts[i].alu { 0 } else { 1 });
            }
            def.insert(w, i);
        }
        let own = loaded(op);
        for l in &own {
            for s in &stores {
                if ops[*s].store.is_some_and(|s| same_element(s, *l)) {
                    add(i, *s, 1);
                }
            }
        }
        if let Some(place) = op.store {
            for s in &stores {
                if ops[*s].store.is_some_and(|s| same_element(s, place)) {
                    add(i, *s, 1);
                }
            }
            for l in &loads {
                if loaded(&ops[*l]).iter().any(|x| same_element(*x, place)) {
                    add(i, *l, 0);
                }
            }
            stores.push(i);
        }
        if !own.is_empty() {
            loads.push(i);
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
        if facts[i].relative {
            if let Some(m) = mova {
                add(i, m, 1);
            }
            relative.push(i);
        }
        if matches!(op.kind, Kind::Export(_) | Kind::Write(_) | Kind::Control(_) | Kind::Kill) {
            if let Some(c) = control {
                add(i, c, 1);
            }
            control = Some(i);
        }
        if op.kind == Kind::Pred {
            for j in 0..i {
                if facts[j].alu {
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
    for i in 0..n {
        for (p, lat) in &preds[i] {
            succs[*p].push((i, *lat));
        }
    }
    for i in (0..n).rev() {
        for (s, lat) in &succs[i] {
            // Fetches take long; exports all come at the end, in whatever order.
            let own = match ops[*s].kind {
                Kind::Fetch(_) => *lat as u32 + 4,
                _ if facts[*s].alu => *lat as u32,
                _ => facts[i].alu as u32,
            };
            height[i] = height[i].max(height[*s] + own);
        }
    }
    Graph { preds: preds.into_iter().map(|p| p.into_iter().collect()).collect(), succs, height }
}

/// Everything about a piece of code that does not change between attempts.
struct Code<'a> {
    ops: &'a [Op],
    facts: &'a [Facts],
    graph: &'a Graph,
    mir: &'a Mir,
    prefer: &'a BTreeMap<Web, u8>,
}

/// The scheduler of one piece of code under one seed.
struct Run<'a> {
    code: &'a Code<'a>,
    /// Channel of each web, settled so far.
    chan: Vec<Option<u8>>,
    /// Webs whose channel was settled here.
    settled: Vec<Web>,
    /// Reads of each web not yet scheduled.
    pending: Vec<u32>,
    time: Vec<Option<u32>>,
    /// Unscheduled predecessors, and the first time that the scheduled ones allow.
    missing: Vec<u32>,
    earliest: Vec<u32>,
    /// ALU operations without missing predecessors, not yet scheduled.
    ready: Vec<usize>,
    now: u32,
    items: Vec<Item>,
    /// Webs in the units of the previous group, if it belongs to the open clause; the unit that forwards each.
    forward: SmallVec<[(Web, u8); 5]>,
    lines: Lines,
    clause: usize,
    seed: u64,
    noise: u32,
    tries: u64,
    /// Live values by channel when the open group began.
    load: [u32; 4],
}

/// An operation in the open group.
#[derive(Clone, Copy)]
struct Taken {
    op: u32,
    unit: u8,
    chan: u8,
    bank: u8,
    /// First of its operands (reductions have two for each unit), and whether its result counts.
    first: u8,
    result: bool,
}

/// A group under construction. Copied for every try.
#[derive(Clone, Copy)]
struct Open {
    slots: [Taken; 5],
    reads: [SlotReads; 5],
    count: usize,
    units: [bool; 5],
    literals: [u32; 4],
    words: usize,
    pairs: [u32; 2],
    halves: usize,
    ports: ports::Ports,
    exclusive: bool,
    mova: bool,
    relative: bool,
}

impl Open {
    fn new() -> Open {
        let slot = Taken { op: 0, unit: 0, chan: 0, bank: 0, first: 0, result: false };
        Open {
            slots: [slot; 5],
            reads: [SlotReads::default(); 5],
            count: 0,
            units: [false; 5],
            literals: [0; 4],
            words: 0,
            pairs: [0; 2],
            halves: 0,
            ports: [[None; 4]; 3],
            exclusive: false,
            mova: false,
            relative: false,
        }
    }
    fn size(&self) -> usize {
        self.count + self.words.div_ceil(2)
    }
    /// A literal's word; operands carry the sign where they may.
    fn literal(&mut self, bits: u32, float: bool) -> bool {
        let words = &self.literals[..self.words];
        if words.contains(&bits) || float && words.contains(&(bits ^ 0x8000_0000)) {
            return true;
        }
        if self.words == 4 {
            return false;
        }
        self.literals[self.words] = bits;
        self.words += 1;
        true
    }
    fn half(&mut self, key: u32) -> bool {
        if self.pairs[..self.halves].contains(&key) {
            return true;
        }
        if self.halves == 2 {
            return false;
        }
        self.pairs[self.halves] = key;
        self.halves += 1;
        true
    }
    /// Bank swizzles for the slot added last: one beside the chosen ones, or new ones for all.
    fn banks(&mut self, from: usize) -> bool {
        let mut fits = true;
        for k in from..self.count {
            let n = if self.reads[k].unit == 4 { 4 } else { 6 };
            let found = (0..n).find_map(|s| {
                let mut p = self.ports;
                ports::reserve(&self.reads[k], s, &mut p).then_some((s, p))
            });
            match found {
                Some((s, p)) => (self.slots[k].bank, self.ports) = (s as u8, p),
                None => {
                    fits = false;
                    break;
                }
            }
        }
        if fits {
            return true;
        }
        let Some(all) = ports::swizzles(&self.reads[..self.count]) else { return false };
        self.ports = [[None; 4]; 3];
        for (k, s) in all.iter().enumerate() {
            self.slots[k].bank = *s;
            ports::reserve(&self.reads[k], *s as usize, &mut self.ports);
        }
        true
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
        self.chan[w.0 as usize]
    }

    /// Channels that a definition of `w` may take: members of a register that have none yet keep apart.
    fn allowed(&self, w: Web) -> SmallVec<[u8; 4]> {
        if let Some(c) = self.channel(w) {
            return SmallVec::from_slice(&[c]);
        }
        let mir = self.code.mir;
        let taken = |c: u8| match mir.webs[w.0 as usize].quad {
            Some(q) => mir.quads[q.0 as usize].iter().any(|m| *m != w && self.channel(*m) == Some(c)),
            None => false,
        };
        (0..4).filter(|c| !taken(*c)).collect()
    }

    /// What a slot reads; reserves literals and constants in the group. `None` where they do not fit.
    fn reads(&self, open: &mut Open, operands: &[Operand], unit: u8, lines: &mut Option<Lines>) -> Option<SlotReads> {
        let mut out = SlotReads { unit, ..SlotReads::default() };
        let mut constants = 0;
        for (k, o) in operands.iter().enumerate() {
            out.reads[k] = match *o {
                Operand::Web(w) if self.forward.iter().any(|f| f.0 == w) => Read::Forward,
                Operand::Web(w) => {
                    let key = self.code.mir.webs[w.0 as usize].quad.map_or(w.0, |q| 0x8000_0000 | q.0);
                    Read::Gpr(key, self.channel(w).unwrap_or(0))
                }
                Operand::Const(key, bank, line) => {
                    constants += 1;
                    if !open.half(key) {
                        return None;
                    }
                    lines.get_or_insert_with(|| self.lines.clone()).insert(bank, line);
                    Read::Const(key)
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

    /// Tries to put an operation into the open group: `slots` (unit, channel, first operand, whether it has the result).
    fn place(&mut self, open: &Open, i: usize, slots: &[(u8, u8, u8, bool)]) -> Option<(Open, Option<Lines>)> {
        self.tries += 1;
        let mut next = *open;
        let mut lines = None;
        let from = next.count;
        let reduce = slots.len() > 1;
        for (unit, chan, first, result) in slots {
            if std::mem::replace(&mut next.units[*unit as usize], true) {
                return None;
            }
            let all = &self.code.facts[i].operands;
            let operands = if reduce { &all[*first as usize..*first as usize + 2] } else { &all[..] };
            let r = self.reads(&mut next, operands, *unit, &mut lines)?;
            next.reads[next.count] = r;
            next.slots[next.count] = Taken { op: i as u32, unit: *unit, chan: *chan, bank: 0, first: *first, result: *result };
            next.count += 1;
        }
        if let Some(l) = &lines {
            // Lines of the operations before this one in the group.
            l.sets()?;
        }
        if self.clause + next.size() > CLAUSE_SLOTS || !next.banks(from) {
            return None;
        }
        Some((next, lines))
    }

    /// Tries every place of an operation in the open group.
    fn try_op(&mut self, open: &Open, i: usize) -> Option<Open> {
        let code = self.code;
        let f = &code.facts[i];
        let mova = code.ops[i].kind == Kind::Mova;
        if f.exclusive && open.exclusive || mova && (open.relative || open.mova) || f.relative && open.mova {
            return None;
        }
        // AR dies with its clause: there must be room for what uses it.
        if mova && self.clause > CLAUSE_SLOTS - AR_ROOM {
            return None;
        }
        let (mut o, lines) = self.find_place(open, i)?;
        if let Some(l) = lines {
            self.lines = l;
        }
        o.exclusive |= f.exclusive;
        o.mova |= mova;
        o.relative |= f.relative;
        Some(o)
    }

    fn find_place(&mut self, open: &Open, i: usize) -> Option<(Open, Option<Lines>)> {
        let code = self.code;
        let (op, f) = (&code.ops[i], &code.facts[i]);
        if op.kind == Kind::Reduce {
            if open.units[..4].iter().any(|t| *t) {
                return None;
            }
            let cube = op.dst.len() == 4;
            if cube {
                if op.dst.iter().enumerate().any(|(c, w)| !self.allowed(*w).contains(&(c as u8))) {
                    return None;
                }
                return self.place(open, i, &[(0, 0, 0, true), (1, 1, 2, true), (2, 2, 4, true), (3, 3, 6, true)]);
            }
            let c = *self.ordered(op.dst[0]).first()?;
            return self.place(open, i, &[(0, 0, 0, c == 0), (1, 1, 2, c == 1), (2, 2, 4, c == 2), (3, 3, 6, c == 3)]);
        }
        let channels: SmallVec<[u8; 4]> = match (op.dst.first(), op.store) {
            (_, Some((_, _, c, _))) => SmallVec::from_slice(&[c]),
            (Some(w), _) => self.ordered(*w),
            _ => SmallVec::from_slice(&[0, 1, 2, 3]),
        };
        // Which vector unit or which channel does not matter to the rules: one try for each kind is enough.
        if f.unit != Unit::Trans
            && let Some(c) = channels.iter().find(|c| !open.units[**c as usize])
            && let Some(o) = self.place(open, i, &[(*c, *c, 0, true)])
        {
            return Some(o);
        }
        if f.trans && !open.units[4] {
            // An operation that any unit can execute goes to T only while its own vector unit is busy.
            let c = channels.iter().find(|c| f.unit == Unit::Trans || open.units[**c as usize])?;
            return self.place(open, i, &[(4, *c, 0, true)]);
        }
        None
    }

    /// Allowed channels, the preferred one first, then by how few values they hold.
    fn ordered(&mut self, w: Web) -> SmallVec<[u8; 4]> {
        let mut c = self.allowed(w);
        if c.len() > 1 {
            let load = self.load;
            let prefer = self.code.prefer.get(&w).copied();
            let r = if self.noise > 0 { self.random() } else { 0 };
            c.sort_by_key(|x| (Some(*x) != prefer, if self.noise > 0 { (r >> (8 * *x)) as u32 & 3 } else { load[*x as usize] }, *x));
        }
        c
    }

    /// Notes that an operation has its time; its successors may become ready.
    fn done(&mut self, i: usize) {
        self.time[i] = Some(self.now);
        if self.code.facts[i].alu {
            self.ready.retain(|r| *r != i);
        }
        for w in self.code.ops[i].reads() {
            self.pending[w.0 as usize] -= 1;
        }
        for (s, lat) in &self.code.graph.succs[i] {
            self.earliest[*s] = self.earliest[*s].max(self.now + *lat as u32);
            self.missing[*s] -= 1;
            if self.missing[*s] == 0 && self.code.facts[*s].alu {
                self.ready.push(*s);
            }
        }
    }

    fn settle(&mut self, w: Web, c: u8) {
        if self.chan[w.0 as usize].is_none() {
            self.chan[w.0 as usize] = Some(c);
            self.settled.push(w);
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

    /// Fills and closes one group; `false` where nothing could be placed.
    fn group(&mut self, urgent: &[bool]) -> bool {
        let mut open = Open::new();
        let mut load = [0; 4];
        for w in &self.settled {
            if let (true, Some(c)) = (self.pending[w.0 as usize] > 0, self.channel(*w)) {
                load[c as usize] += 1;
            }
        }
        self.load = load;
        let mut list: Vec<(u64, usize)> = Vec::new();
        loop {
            list.clear();
            for n in 0..self.ready.len() {
                let i = self.ready[n];
                if self.earliest[i] > self.now {
                    continue;
                }
                let f = &self.code.facts[i];
                let special = matches!(f.unit, Unit::Trans | Unit::Reduce) as u64 * 5;
                let noise = if self.noise > 0 { self.random() % (self.noise as u64 + 1) } else { 0 };
                let p = f.relative as u64 * 1_000_000
                    + urgent.get(i).is_some_and(|u| *u) as u64 * 100_000
                    + self.code.graph.height[i] as u64 * 10
                    + special
                    + noise;
                list.push((p, i));
            }
            list.sort_unstable_by_key(|(p, i)| (std::cmp::Reverse(*p), *i));
            let mut placed = false;
            for (_, i) in &list {
                // A definition placed earlier in this pass may have satisfied or blocked others; times are checked anew.
                if let Some(next) = self.try_op(&open, *i) {
                    open = next;
                    self.commit(*i, &open);
                    placed = true;
                }
            }
            if !placed || open.units.iter().all(|t| *t) {
                break;
            }
        }
        if open.count == 0 {
            return false;
        }
        self.close(open);
        true
    }

    /// Turns the open group into an item.
    fn close(&mut self, open: Open) {
        let code = self.code;
        let mut group = Group { slots: Vec::with_capacity(open.count), literals: SmallVec::from_slice(&open.literals[..open.words]) };
        for t in &open.slots[..open.count] {
            let op = &code.ops[t.op as usize];
            let src: SmallVec<[Opnd; 3]> = match op.kind {
                Kind::Reduce => SmallVec::from_slice(&op.src[t.first as usize..t.first as usize + 2]),
                _ => op.src.iter().copied().collect(),
            };
            let mut forward = [None; 3];
            for (k, o) in src.iter().enumerate() {
                forward[k] = o.as_web().and_then(|w| self.forward.iter().find(|f| f.0 == w).map(|f| f.1));
            }
            group.slots.push(Slot {
                op: t.op as usize,
                form: op.form,
                src,
                forward,
                dst: match op.dst.len() {
                    4 => Some(op.dst[t.chan as usize]),
                    _ if t.result => op.dst.first().copied(),
                    _ => None,
                },
                store: op.store,
                unit: t.unit,
                chan: t.chan,
                bank: t.bank,
                pred: op.kind == Kind::Pred,
                omod: op.omod,
                clamp: op.clamp,
            });
        }
        group.slots.sort_by_key(|s| s.unit);
        self.forward.clear();
        for s in &group.slots {
            if let Some(w) = s.dst {
                // DOT4 and MAX4 forward their sum in PV.x, whatever channel they write.
                let reduce = code.ops[s.op].kind == Kind::Reduce && code.ops[s.op].dst.len() == 1;
                self.forward.push((w, if reduce { 0 } else { s.unit }));
            }
        }
        self.clause += open.size();
        self.items.push(Item::Group(group));
        self.now += 1;
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
    fn alu(&mut self, goal: Option<&[bool]>) -> Result<(), Stuck> {
        let facts = self.code.facts;
        loop {
            let left = (0..facts.len()).any(|i| self.time[i].is_none() && goal.map_or(facts[i].alu, |g| g[i]));
            if !left {
                return Ok(());
            }
            if !self.group(goal.unwrap_or(&[])) {
                if self.clause > 0 {
                    self.cut();
                    continue;
                }
                // An operation may wait for a time that has not come although its predecessors are done.
                if self.ready.iter().any(|i| self.earliest[*i] > self.now) {
                    self.now += 1;
                    continue;
                }
                return Err(Stuck::Op(self.ready.iter().copied().min().unwrap_or(0)));
            }
        }
    }

    fn run(&mut self) -> Result<(), Stuck> {
        let (ops, facts) = (self.code.ops, self.code.facts);
        loop {
            // Fetches that need no other unscheduled fetch.
            let mut wave: Vec<usize> = Vec::new();
            let mut need = vec![false; ops.len()];
            let mut k = 0;
            while k < ops.len() {
                if self.time[k].is_some() || !matches!(ops[k].kind, Kind::Fetch(_)) {
                    k += 1;
                    continue;
                }
                // A bundle: a fetch and the ones joined to it, which follow it in program order.
                let mut bundle = vec![k];
                let mut j = k + 1;
                while j < ops.len() {
                    match &ops[j].kind {
                        Kind::Fetch(f) if f.joined => bundle.push(j),
                        Kind::Fetch(_) => break,
                        _ => {}
                    }
                    j += 1;
                }
                let mut before: BTreeSet<usize> = BTreeSet::new();
                let mut stack = bundle.clone();
                while let Some(i) = stack.pop() {
                    for (p, _) in &self.code.graph.preds[i] {
                        if self.time[*p].is_none() && !bundle.contains(p) && before.insert(*p) {
                            stack.push(*p);
                        }
                    }
                }
                let texture = |i: usize| TABLE.form(ops[i].form_of_fetch()).spaces == forms::TEX;
                let same_kind = wave.first().is_none_or(|w| texture(*w) == texture(k));
                let independent = before.iter().all(|i| facts[*i].alu);
                if independent && same_kind && wave.len() + bundle.len() <= CLAUSE_FETCHES {
                    wave.extend(&bundle);
                    before.iter().for_each(|i| need[*i] = true);
                }
                k = bundle.last().copied().unwrap_or(k) + 1;
            }
            if wave.is_empty() {
                break;
            }
            self.alu(Some(&need))?;
            self.cut();
            for i in &wave {
                self.done(*i);
                for w in ops[*i].writes() {
                    if let Some(c) = self.code.mir.webs[w.0 as usize].chan {
                        self.settle(w, c);
                    }
                }
            }
            self.now += 1;
            self.items.push(Item::Fetch(wave));
        }
        self.alu(None)?;
        for i in 0..ops.len() {
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
                Item::Group(g) => 8 * (g.slots.len() + g.literals.len().div_ceil(2)) as u64 + GROUP_COST,
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
pub fn schedule(ops: &[Op], mir: &Mir, budget: u64) -> Result<(Vec<Item>, BTreeMap<Web, u8>), Stuck> {
    let facts = facts(ops);
    let graph = graph(ops, &facts, mir);
    let mut prefer = BTreeMap::new();
    for op in ops.iter().filter(|o| o.kind == Kind::Reduce && o.dst.len() == 1) {
        for (k, s) in op.src.iter().enumerate() {
            if let Some(w) = s.as_web() {
                prefer.entry(w).or_insert((k / 2) as u8);
            }
        }
    }
    let alu = facts.iter().filter(|f| f.alu).count();
    let chan: Vec<Option<u8>> = mir.webs.iter().map(|w| w.chan).collect();
    let mut pending = vec![0u32; mir.webs.len()];
    ops.iter().flat_map(|o| o.reads()).for_each(|w| pending[w.0 as usize] += 1);
    let known: BTreeSet<Web> = ops.iter().flat_map(|o| o.reads()).filter(|w| mir.webs[w.0 as usize].chan.is_some()).collect();
    let known: Vec<Web> = known.into_iter().collect();
    let missing: Vec<u32> = graph.preds.iter().map(|p| p.len() as u32).collect();
    let ready: Vec<usize> = (0..ops.len()).filter(|i| facts[*i].alu && missing[*i] == 0).collect();
    let code = Code { ops, facts: &facts, graph: &graph, mir, prefer: &prefer };
    let enough = bound(ops, &facts, &graph);
    let mut best: Option<(u64, Vec<Item>, BTreeMap<Web, u8>)> = None;
    let (mut spent, mut attempt, mut stuck) = (0u64, 0u32, None);
    loop {
        let mut run = Run {
            code: &code,
            chan: chan.clone(),
            settled: known.clone(),
            pending: pending.clone(),
            time: vec![None; ops.len()],
            missing: missing.clone(),
            earliest: vec![0; ops.len()],
            ready: ready.clone(),
            now: 0,
            items: Vec::new(),
            forward: SmallVec::new(),
            lines: Lines::default(),
            clause: 0,
            seed: 0x9e37_79b9_7f4a_7c15 ^ (attempt as u64) << 32 | 1,
            noise: if attempt == 0 { 0 } else { 3 + attempt % 25 },
            tries: 0,
            load: [0; 4],
        };
        match run.run() {
            Ok(()) => {
                let cost = run.cost();
                if best.as_ref().is_none_or(|b| cost < b.0) {
                    let settled = run.settled.iter().filter_map(|w| Some((*w, run.chan[w.0 as usize]?))).collect();
                    best = Some((cost, run.items, settled));
                }
                if cost <= enough {
                    break;
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

/// A cost that no schedule can beat: slots and T operations at five and one a group, the longest chain, literals paired.
fn bound(ops: &[Op], facts: &[Facts], graph: &Graph) -> u64 {
    let (mut slots, mut trans, mut longest) = (0u64, 0u64, 0u64);
    let mut words = BTreeSet::new();
    let mut depth = vec![0u64; ops.len()];
    for i in 0..ops.len() {
        for (p, lat) in &graph.preds[i] {
            depth[i] = depth[i].max(depth[*p] + if facts[*p].alu { *lat as u64 } else { 0 });
        }
        if !facts[i].alu {
            if !matches!(ops[i].kind, Kind::Control(_)) {
                // Fetches and exports end clauses, which the bound does not count: never stop early on their account.
                longest = longest.max(depth[i]);
            }
            continue;
        }
        longest = longest.max(depth[i] + 1);
        slots += if ops[i].kind == Kind::Reduce { 4 } else { 1 };
        trans += (facts[i].unit == Unit::Trans) as u64;
        for o in &facts[i].operands {
            if let Operand::Literal(b, float) = o {
                words.insert(if *float { b & 0x7fff_ffff } else { *b });
            }
        }
    }
    8 * (slots + words.len().div_ceil(2) as u64) + GROUP_COST * longest.max(trans).max(slots.div_ceil(5))
}
