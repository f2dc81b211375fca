//! Co-location: temporaries that one operand names must share a register.
//!
//! Temporaries that a move joins become one *web* (one register and lane) where their lifetimes allow; webs that one
//! tuple names become one *class* (one register). A class must have a lane for each web at every time. Where a tuple's
//! classes cannot be joined the operation is split by lanes, or lanes are copied.

use crate::isa::forms::Op;
use crate::isa::registers::TEMPS;
use crate::select::mir::*;
use retroshade_regalloc::flow::{Flow, FlowBlock, Point, ValueSet, Values};
use smallvec::{SmallVec, smallvec};

/// Temporaries that a node reads, its index sources included, and what stood before where a conditional move writes.
pub fn reads(p: &Program, n: &Node) -> SmallVec<[Tmp; 12]> {
    let mut out: SmallVec<[Tmp; 12]> = SmallVec::new();
    n.srcs.iter().flatten().filter_map(|r| r.as_tmp()).for_each(|t| out.push(t));
    if let Some(test) = &n.test {
        out.extend(test.refs().into_iter().filter_map(Ref::as_tmp));
    }
    if !p.indices.is_empty() {
        out.extend(p.index_reads(n.reads()).filter_map(Ref::as_tmp));
    }
    if n.test.is_some() {
        out.extend(n.writes());
    }
    out
}

/// Temporaries that a block's test reads.
pub fn test_reads(p: &Program, b: &MBlock) -> SmallVec<[Tmp; 12]> {
    let refs: SmallVec<[Ref; 4]> = b.test.iter().flat_map(|t| t.refs()).collect();
    let mut out: SmallVec<[Tmp; 12]> = refs.iter().filter_map(|r| r.as_tmp()).collect();
    out.extend(p.index_reads(refs.iter().copied()).filter_map(Ref::as_tmp));
    out
}

/// The program as reads and writes; a block's end is a point of its own.
pub(super) fn flow(p: &Program) -> Flow {
    let point = |n: &Node| Point { reads: Values::from_slice(&reads(p, n)), writes: n.writes().collect(), ..Point::default() };
    let block = |b: &MBlock| {
        let end = test_reads(p, b).into_iter().chain(b.keeps.iter().copied()).collect();
        let points = b.nodes.iter().map(point).chain([Point { reads: end, ..Point::default() }]).collect();
        FlowBlock { points, succs: b.succs.iter().map(|s| *s as u32).collect() }
    };
    Flow { blocks: p.blocks.iter().map(block).collect(), values: p.temps as usize }
}

/// Lifetimes that overlap.
pub struct Interference {
    /// Per temporary.
    pub with: Vec<ValueSet>,
    /// Most lanes alive at once: (count, block, node).
    pub peak: (usize, usize, usize),
    /// The temporaries alive there.
    pub peak_set: ValueSet,
}

/// Computes interference. A plain move's source and destination do not interfere by it.
pub fn interference(p: &Program) -> Interference {
    let n = p.temps as usize;
    let mut with = vec![ValueSet::with_capacity(n); n];
    let mut peak = (0, 0, 0);
    let mut peak_set = ValueSet::with_capacity(n);
    let flow = flow(p);
    let live = flow.live();
    // What a procedure overwrites, its operands included: nothing that is alive across a call may share with it.
    let overwritten: Vec<ValueSet> = (0..p.procedures.len())
        .map(|q| {
            let mut s = ValueSet::with_capacity(n);
            p.overwritten(q).iter().for_each(|t| s.insert(*t as usize));
            s
        })
        .collect();
    for b in 0..p.blocks.len() {
        flow.backward(b, &live, |k, live| {
            let Some(node) = p.blocks[b].nodes.get(k) else { return };
            let count = live.count_ones(..);
            if count > peak.0 {
                peak = (count, b, k);
                peak_set = live.clone();
            }
            if let (Op::Call, Some(q)) = (node.op, overwritten.get(node.emit.0 as usize)) {
                for t in live.ones().filter(|t| !node.writes().any(|w| w as usize == *t)) {
                    with[t].union_with(q);
                    with[t].remove(t);
                }
            }
            for (l, d) in node.dests.iter().enumerate() {
                let Dest::Tmp(d) = d else { continue };
                let source = if node.op == Op::Mov && !node.srcs[0][l].neg { node.srcs[0][l].as_tmp() } else { None };
                // A conditional move overwrites after its test and its other lanes were read: no more than that.
                let row = &mut with[*d as usize];
                let with_source = source.is_none_or(|s| row.contains(s as usize));
                row.union_with(live);
                node.writes().for_each(|t| row.insert(t as usize));
                row.remove(*d as usize);
                if let (false, Some(s)) = (with_source, source) {
                    row.remove(s as usize);
                }
            }
        });
    }
    for a in 0..n {
        let row = with[a].clone();
        row.ones().for_each(|b| with[b].insert(a));
    }
    Interference { with, peak, peak_set }
}

/// Mostly one or some.
pub type Few = SmallVec<[u32; 4]>;

/// Webs and classes of a program.
#[derive(Clone, Debug)]
pub struct Classes {
    /// Representative of each temporary's web.
    pub web: Vec<u32>,
    /// Representative (a web) of each web's class.
    pub class: Vec<u32>,
    /// Members of each web.
    pub members: Vec<Few>,
    /// Webs of each class.
    pub webs: Vec<Few>,
    /// Interference between webs.
    pub with: Vec<ValueSet>,
}

impl Classes {
    fn new(i: Interference) -> Classes {
        let n = i.with.len();
        Classes {
            web: (0..n as u32).collect(),
            class: (0..n as u32).collect(),
            members: (0..n as u32).map(|t| smallvec![t]).collect(),
            webs: (0..n as u32).map(|t| smallvec![t]).collect(),
            with: i.with,
        }
    }
    /// The class of a temporary.
    pub fn class_of(&self, t: Tmp) -> u32 {
        self.class[self.web[t as usize] as usize]
    }
    /// Joins the webs of two temporaries if their lifetimes do not overlap and their classes can be one; what changed goes
    /// into the journal.
    fn join_webs(&mut self, a: Tmp, b: Tmp, journal: &mut Vec<Undo>) -> bool {
        let (x, y) = (self.web[a as usize], self.web[b as usize]);
        if x == y {
            return true;
        }
        if self.with[x as usize].contains(y as usize) {
            return false;
        }
        let (cx, cy) = (self.class[x as usize], self.class[y as usize]);
        // y becomes part of x.
        let mut all: Few = self.webs[cx as usize].iter().copied().filter(|w| *w != y).collect();
        if cx != cy {
            all.extend(self.webs[cy as usize].iter().copied().filter(|w| *w != y));
        }
        if self.colouring(&all, Some((x, y))).is_none() {
            return false;
        }
        let mut undo = Undo {
            x,
            y,
            cx,
            cy,
            webs_x: std::mem::take(&mut self.webs[cx as usize]),
            webs_y: if cx == cy { Few::new() } else { std::mem::take(&mut self.webs[cy as usize]) },
            members: self.members[x as usize].len(),
            with_x: self.with[x as usize].clone(),
            added: Vec::new(),
        };
        all.iter().for_each(|w| self.class[*w as usize] = cx);
        self.class[y as usize] = cx;
        self.webs[cx as usize] = all;
        for m in std::mem::take(&mut self.members[y as usize]) {
            self.web[m as usize] = x;
            self.members[x as usize].push(m);
        }
        let neighbours = self.with[y as usize].clone();
        self.with[x as usize].union_with(&neighbours);
        for o in neighbours.ones() {
            if !self.with[o].contains(x as usize) {
                self.with[o].insert(x as usize);
                undo.added.push(o);
            }
        }
        journal.push(undo);
        true
    }
    /// Joins all pairs or none.
    fn join_all_webs(&mut self, pairs: &[(Tmp, Tmp)]) {
        let mut journal = Vec::new();
        if pairs.iter().all(|(d, s)| self.join_webs(*d, *s, &mut journal)) {
            return;
        }
        while let Some(u) = journal.pop() {
            self.revert(u);
        }
    }
    fn revert(&mut self, u: Undo) {
        let moved: Few = self.members[u.x as usize].drain(u.members..).collect();
        moved.iter().for_each(|m| self.web[*m as usize] = u.y);
        self.members[u.y as usize] = moved;
        u.added.iter().for_each(|o| self.with[*o].remove(u.x as usize));
        self.with[u.x as usize] = u.with_x;
        self.class[u.y as usize] = u.cy;
        u.webs_y.iter().for_each(|w| self.class[*w as usize] = u.cy);
        self.webs[u.cx as usize] = u.webs_x;
        if u.cx != u.cy {
            self.webs[u.cy as usize] = u.webs_y;
        }
    }
    /// Joins classes if their webs have lanes enough.
    fn join_classes(&mut self, classes: &[u32]) -> bool {
        let mut all: Few = classes.iter().flat_map(|c| self.webs[*c as usize].iter().copied()).collect();
        all.sort();
        all.dedup();
        if self.colour(&all).is_none() {
            return false;
        }
        let first = classes[0];
        for w in &all {
            self.class[*w as usize] = first;
        }
        for c in classes {
            self.webs[*c as usize].clear();
        }
        self.webs[first as usize] = all;
        true
    }
    /// A lane for each web of a class, if there are four times enough.
    pub fn colour(&self, webs: &[u32]) -> Option<Vec<u8>> {
        self.colouring(webs, None)
    }
    /// The same where the lifetime of one web also has that of another.
    fn colouring(&self, webs: &[u32], merged: Option<(u32, u32)>) -> Option<Vec<u8>> {
        let neighbours: SmallVec<[SmallVec<[u32; 8]>; 8]> = webs
            .iter()
            .map(|w| {
                let with = &self.with[*w as usize];
                let other = merged.filter(|m| m.0 == *w).map(|m| &self.with[m.1 as usize]);
                let clash = |o: u32| {
                    with.contains(o as usize)
                        || other.is_some_and(|x| x.contains(o as usize))
                        || merged.is_some_and(|m| m.0 == o && with.contains(m.1 as usize))
                };
                (0..webs.len() as u32).filter(|o| clash(webs[*o as usize])).collect()
            })
            .collect();
        let mut order: SmallVec<[usize; 8]> = (0..webs.len()).collect();
        order.sort_by_key(|k| std::cmp::Reverse(neighbours[*k].len()));
        let mut lanes = vec![u8::MAX; webs.len()];
        let mut budget = 400;
        colour_from(&neighbours, &order, 0, &mut lanes, 0, &mut budget).then_some(lanes)
    }
}

fn colour_from(n: &[SmallVec<[u32; 8]>], order: &[usize], used: u8, lanes: &mut [u8], at: usize, budget: &mut u32) -> bool {
    let Some(&k) = order.get(at) else { return true };
    if *budget == 0 {
        return false;
    }
    *budget -= 1;
    let taken = n[k].iter().fold(0u8, |s, o| if lanes[*o as usize] < 4 { s | 1 << lanes[*o as usize] } else { s });
    // Lanes not yet used are all alike.
    for lane in 0..4.min(used + 1) {
        if taken >> lane & 1 == 0 {
            lanes[k] = lane;
            if colour_from(n, order, used.max(lane + 1), lanes, at + 1, budget) {
                return true;
            }
            lanes[k] = u8::MAX;
        }
    }
    false
}

/// What a join of two webs changed.
struct Undo {
    x: u32,
    y: u32,
    cx: u32,
    cy: u32,
    webs_x: Few,
    webs_y: Few,
    members: usize,
    with_x: ValueSet,
    added: Vec<usize>,
}

/// A tuple that could not be joined.
pub(super) enum Failure {
    /// The results of a node.
    Dests(usize, usize),
    /// Operand `2` of node `1` in block `0`.
    Operand(usize, usize, usize),
    /// The comparison operands (side `2`) of node `1`'s test, or of the block's if there is no such node.
    Test(usize, usize, usize),
}

impl Failure {
    /// Block and operation.
    fn place(&self) -> (usize, usize) {
        match self {
            Failure::Dests(b, n) | Failure::Operand(b, n, _) | Failure::Test(b, n, _) => (*b, *n),
        }
    }
    /// The operand that gets a copy.
    fn operand<'a>(&self, p: &'a Program) -> Option<&'a Tuple> {
        match self {
            Failure::Operand(b, n, k) if !p.blocks[*b].nodes[*n].elementwise() => Some(&p.blocks[*b].nodes[*n].srcs[*k]),
            _ => None,
        }
    }
}

/// Rounds in which operations are split and operands copied.
const ROUNDS: usize = 400;

/// Joins what must be joined, changing the program where that is impossible. With `share` a copy serves all that read the same
/// operand behind it. `None` where it cannot be done, or where far more is alive than there are lanes. Counts its rounds: each looks at
/// the whole program.
pub fn coalesce(mut p: Program, share: bool, rounds: &mut usize) -> Option<(Program, Classes)> {
    for _ in 0..ROUNDS {
        *rounds += 1;
        let i = interference(&p);
        // What copies join may share a lane; nothing else is alive twice.
        if i.peak.0 > 2 * 4 * usize::from(TEMPS) {
            return None;
        }
        let mut c = Classes::new(i);
        let failures = join_all(&p, &mut c);
        if failures.is_empty() {
            moves(&p, &mut c);
            return Some((p, c));
        }
        // From the end, so that places before stay what they are.
        for (n, f) in failures.iter().enumerate().rev() {
            // A copy for one operation serves those behind it.
            let served = |e: &Failure| e.place().0 == f.place().0 && e.operand(&p).is_some_and(|t| f.operand(&p) == Some(t));
            if !share || !failures[..n].iter().any(served) {
                repair(&mut p, f, share)?;
            }
        }
    }
    None
}

/// Joins what must be joined; where that is impossible, in the order of the code.
fn join_all(p: &Program, c: &mut Classes) -> Vec<Failure> {
    let mut failed: Vec<Failure> = Vec::new();
    let join = |c: &mut Classes, tmps: &mut Vec<Tmp>| {
        let mut classes: Vec<u32> = tmps.iter().map(|t| c.class_of(*t)).collect();
        classes.sort();
        classes.dedup();
        classes.len() < 2 || c.join_classes(&classes)
    };
    for (b, block) in p.blocks.iter().enumerate() {
        for (n, node) in block.nodes.iter().enumerate() {
            let mut t: Vec<Tmp> = node.writes().collect();
            if t.len() > 1 && node.op != Op::Call && !join(c, &mut t) {
                failed.push(Failure::Dests(b, n));
            }
        }
    }
    // Moves that only exist to set parameters should vanish: join their webs before other wishes bind them.
    edge_webs(p, c);
    let split = failed.len();
    let compared = |c: &mut Classes, t: &Option<Test>| {
        let Some(Test::Flags(f, _)) = t else { return None };
        (0..2).find(|side| {
            let mut t: Vec<Tmp> = f.iter().filter_map(|x| if *side == 0 { x.0 } else { x.2 }.as_tmp()).collect();
            t.len() > 1 && !join(c, &mut t)
        })
    };
    // Whole operands first: they cannot be split.
    for pass in 0..2 {
        for (b, block) in p.blocks.iter().enumerate() {
            for (n, node) in block.nodes.iter().enumerate() {
                if node.elementwise() == (pass == 0) || failed[..split].iter().any(|f| f.place() == (b, n)) {
                    continue;
                }
                let apart = |s: &Tuple| {
                    let mut t: Vec<Tmp> = s.iter().filter_map(|r| r.as_tmp()).collect();
                    t.len() > 1 && !join(c, &mut t)
                };
                if let Some(k) = node.srcs.iter().position(apart) {
                    failed.push(Failure::Operand(b, n, k));
                } else if let Some(side) = compared(c, &node.test) {
                    failed.push(Failure::Test(b, n, side));
                }
            }
            if pass == 0
                && let Some(side) = compared(c, &block.test)
            {
                failed.push(Failure::Test(b, usize::MAX, side));
            }
        }
    }
    failed.sort_by_key(Failure::place);
    failed
}

fn plain_moves(n: &Node) -> impl Iterator<Item = (Tmp, Tmp)> + '_ {
    let is = n.op == Op::Mov && n.srcs.first().is_some_and(|s| s.iter().all(|r| !r.neg));
    n.dests.iter().enumerate().filter_map(move |(l, d)| match (is, d) {
        (true, Dest::Tmp(d)) => n.srcs[0][l].as_tmp().map(|s| (*d, s)),
        _ => None,
    })
}

/// Joins destinations that have several definitions with their sources.
fn edge_webs(p: &Program, c: &mut Classes) {
    let mut defs = vec![0u32; p.temps as usize];
    p.blocks.iter().flat_map(|b| &b.nodes).flat_map(|n| n.writes()).for_each(|t| defs[t as usize] += 1);
    for n in p.blocks.iter().flat_map(|b| &b.nodes).filter(|n| n.test.is_none()) {
        let pairs: Vec<(Tmp, Tmp)> = plain_moves(n).filter(|(d, _)| defs[*d as usize] > 1).collect();
        if pairs.len() != n.dests.len() {
            continue;
        }
        c.join_all_webs(&pairs);
    }
}

/// Joins what remaining moves connect.
fn moves(p: &Program, c: &mut Classes) {
    for n in p.blocks.iter().flat_map(|b| &b.nodes) {
        let pairs: Vec<(Tmp, Tmp)> = plain_moves(n).collect();
        if pairs.is_empty() || pairs.len() != n.dests.len() {
            continue;
        }
        c.join_all_webs(&pairs);
    }
}

pub(super) fn repair(p: &mut Program, f: &Failure, share: bool) -> Option<()> {
    match *f {
        Failure::Dests(b, n) => {
            // Lanes of one instruction that cannot share a register: one instruction each.
            let node = p.blocks[b].nodes.remove(n);
            for l in (0..node.dests.len()).rev() {
                let srcs =
                    if node.elementwise() { node.srcs.iter().map(|s| SmallVec::from_slice(&[s[l]])).collect() } else { node.srcs.clone() };
                p.blocks[b].nodes.insert(n, Node { dests: SmallVec::from_slice(&[node.dests[l]]), srcs, ..node.clone() });
            }
            (node.dests.len() > 1).then_some(())
        }
        Failure::Operand(b, n, k) => {
            let node = p.blocks[b].nodes[n].clone();
            if node.elementwise() {
                // The longest prefix of lanes that could be joined is not known here: halve by operand temporaries.
                let first = node.srcs[k][0].as_tmp();
                let (mut keep, mut rest) = (Vec::new(), Vec::new());
                let half = node.dests.len() / 2;
                for l in 0..node.dests.len() {
                    if l < half || node.srcs[k][l].as_tmp() == first { keep.push(l) } else { rest.push(l) }
                }
                if rest.is_empty() {
                    rest = keep.split_off(keep.len() / 2);
                }
                if keep.is_empty() || rest.is_empty() {
                    return None;
                }
                let part = |lanes: &[usize]| Node {
                    dests: lanes.iter().map(|l| node.dests[*l]).collect(),
                    srcs: node.srcs.iter().map(|s| lanes.iter().map(|l| s[*l]).collect()).collect(),
                    ..node.clone()
                };
                // The second part must not read what the first one writes.
                let (x, y) = (part(&keep), part(&rest));
                p.blocks[b].nodes.splice(n..=n, [x, y]);
                return Some(());
            }
            let tuple = node.srcs[k].clone();
            let copied = copy_tuple(p, b, n, &tuple, node.span)?;
            // The node has moved behind the copy.
            p.blocks[b].nodes[n + 1].srcs[k] = copied.clone();
            if share {
                let written: Vec<Tmp> = tuple.iter().filter_map(|r| r.as_tmp()).collect();
                let lasts = |m: &Node, p: &Program| !p.changes(m).any(|t| written.contains(&t));
                for m in n + 2..p.blocks[b].nodes.len() {
                    if !lasts(&p.blocks[b].nodes[m - 1], p) {
                        break;
                    }
                    let node = &mut p.blocks[b].nodes[m];
                    if node.op != Op::Call {
                        node.srcs.iter_mut().filter(|s| **s == tuple).for_each(|s| *s = copied.clone());
                    }
                }
            }
            Some(())
        }
        Failure::Test(b, n, side) => {
            let span = p.blocks[b].span;
            let at = n.min(p.blocks[b].nodes.len());
            let test = if n == usize::MAX { p.blocks[b].test.clone() } else { p.blocks[b].nodes[n].test.clone() };
            let Some(Test::Flags(mut f, cond)) = test else { return None };
            let tuple: Tuple = f.iter().map(|x| if side == 0 { x.0 } else { x.2 }).collect();
            let copied = copy_tuple(p, b, at, &tuple, span)?;
            for (x, c) in f.iter_mut().zip(copied) {
                if side == 0 { x.0 = c } else { x.2 = c }
            }
            let t = Some(Test::Flags(f, cond));
            if n == usize::MAX {
                p.blocks[b].test = t
            } else {
                p.blocks[b].nodes[n + 1].test = t
            }
            Some(())
        }
    }
}

/// Copies a tuple's temporaries into fresh ones, right before a node.
fn copy_tuple(p: &mut Program, b: usize, at: usize, t: &Tuple, span: retroshade_ir::Span) -> Option<Tuple> {
    let mut distinct: Vec<Ref> = t.iter().copied().collect();
    distinct.sort();
    distinct.dedup();
    let fresh: Vec<Tmp> = distinct.iter().map(|_| p.temp(span)).collect();
    let dests: Vec<Dest> = fresh.iter().map(|t| Dest::Tmp(*t)).collect();
    let node = Node::new(Op::Mov, &dests, &[&distinct], span);
    p.blocks[b].nodes.insert(at, node);
    Some(t.iter().map(|r| Ref::tmp(fresh[distinct.iter().position(|d| d == r).unwrap_or(0)])).collect())
}
