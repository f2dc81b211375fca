//! Every way through machine code, with the stacks as the machine keeps them, and what each way has written to the outputs.
//!
//! A place is a word together with the blocks, calls and loops that are open there: ends of blocks are recognised by walking
//! into them (ISA sheet section 10), so where a word leads depends on what is open. Boolean uniforms do not change while a program
//! runs, and a register that was set to a constant holds it when it is compared, as the marks of early returns are. Other comparisons
//! and numbers of rounds are left open, so a way that the data rules out counts, too.

use crate::container::Constant;
use crate::isa::forms::Op;
use crate::isa::lint::{CALL_DEPTH, IF_DEPTH, LOOP_DEPTH};
use crate::isa::registers::{Index, Reg, Src};
use crate::isa::word::{Cond, CondOp, Instr};
use crate::legal::numerics::from_bits24;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

/// Places after which a program counts as too entangled: then neither the linter nor the validator says anything of its outputs.
const PLACES: usize = 1 << 16;

/// A block, call or loop that is open: the word that ends it, and where it goes on from there.
type Open = (usize, usize);

/// Float uniforms that the container fills, by number.
type Constants = BTreeMap<u8, [f32; 4]>;

/// A word and what is open there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Place {
    word: usize,
    ifs: SmallVec<[Open; 8]>,
    calls: SmallVec<[Open; 4]>,
    loops: SmallVec<[Open; 4]>,
}

/// What a way has shown so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Facts {
    /// Boolean uniforms whose value is known.
    known: u16,
    /// Those among them that are true.
    values: u16,
    /// Components of temporaries that hold constants, in order: 4 × register + component, and the constant's bits.
    held: SmallVec<[(u8, u32); 4]>,
    /// The condition flags, where they are known.
    flags: [Option<bool>; 2],
    /// What was asked of both flags since they were set, and the answer, where it leaves each open.
    asked: Option<(Cond, bool)>,
}

/// Which facts the branches from a place on may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// Components of temporaries, bit 4 × register + component.
    held: u64,
    flags: [bool; 2],
    booleans: u16,
}

impl Wanted {
    fn join(self, o: Wanted) -> Wanted {
        Wanted { held: self.held | o.held, flags: [0, 1].map(|k| self.flags[k] || o.flags[k]), booleans: self.booleans | o.booleans }
    }

    /// What is wanted before an instruction where this is wanted after it.
    fn before(mut self, i: &Instr) -> Wanted {
        let name = |s: &Src, lane: usize| if let Reg::R(n) = s.reg { 1u64 << (4 * (n & 15) + (s.swz[lane] & 3)) } else { 0 };
        match (i.op, i.dst) {
            (Op::Ifc | Op::Jmpc | Op::Callc | Op::Breakc, _) => {
                self.flags[0] |= i.cond.op != CondOp::Y;
                self.flags[1] |= i.cond.op != CondOp::X;
            }
            (Op::Ifu | Op::Jmpu | Op::Callu, _) => self.booleans |= 1 << (i.uniform & 15),
            (Op::Cmp, _) => {
                for k in (0..2).filter(|k| self.flags[*k]) {
                    self.held |= name(&i.src[0], k) | name(&i.src[1], k);
                }
                self.flags = [false; 2];
            }
            (_, Reg::R(r)) if i.writes_register() => {
                let written = self.held & u64::from(i.mask & 15) << (4 * (r & 15));
                self.held &= !written;
                for c in (0..4u8).filter(|c| i.op == Op::Mov && written >> (4 * (r & 15) + c) & 1 == 1) {
                    self.held |= name(&i.src[0], c as usize);
                }
            }
            _ => {}
        }
        if i.op == Op::Litp {
            self.flags = [false; 2];
        }
        self
    }
}

/// A place, and where it leads: always, or where its branch is taken or not.
#[derive(Clone, Debug, Default)]
struct Node {
    word: usize,
    ways: SmallVec<[(Option<bool>, usize); 2]>,
    /// What is wanted before the instruction here.
    wanted: Wanted,
}

/// The numbers of things that are found one after the other.
struct Numbering<T> {
    numbers: FxHashMap<T, usize>,
    /// Those that were not looked at yet.
    work: Vec<(usize, T)>,
}

impl<T: Eq + Hash + Clone> Numbering<T> {
    fn of(first: T) -> Numbering<T> {
        Numbering { numbers: FxHashMap::from_iter([(first.clone(), 0)]), work: vec![(0, first)] }
    }

    /// The number of a thing, and whether it is new.
    fn number(&mut self, t: T) -> (usize, bool) {
        let next = self.numbers.len();
        let n = *self.numbers.entry(t.clone()).or_insert(next);
        if n == next {
            self.work.push((n, t));
        }
        (n, n == next)
    }
}

/// Pushing onto a full stack drops the oldest entry.
fn push<const N: usize>(stack: &mut SmallVec<[Open; N]>, entry: Open, depth: usize)
where
    [Open; N]: smallvec::Array<Item = Open>,
{
    if stack.len() == depth {
        stack.remove(0);
    }
    stack.push(entry);
}

/// Whether an instruction goes one way or another.
fn is_conditional(op: Op) -> bool {
    matches!(op, Op::Ifc | Op::Jmpc | Op::Callc | Op::Breakc | Op::Ifu | Op::Jmpu | Op::Callu)
}

/// Whether a jump on a boolean wants it to be false.
fn wants_false(i: &Instr) -> bool {
    i.num & 1 == 1
}

impl Facts {
    /// A component of an operand, if it is known.
    fn value(&self, s: &Src, lane: usize, constants: &Constants) -> Option<f32> {
        let c = s.swz[lane] & 3;
        let v = match s.reg {
            Reg::C(n) if s.index == Index::None => constants.get(&n)?[c as usize],
            Reg::R(n) => self.held.iter().find(|h| h.0 == 4 * (n & 15) + c).map(|h| f32::from_bits(h.1))?,
            _ => return None,
        };
        Some(if s.neg { -v } else { v })
    }

    /// What an instruction does to what is known.
    fn learn(&mut self, i: &Instr, constants: &Constants) {
        match (i.op, i.dst) {
            (Op::Cmp, _) => {
                self.asked = None;
                self.flags = std::array::from_fn(|k| {
                    let (a, b) = (self.value(&i.src[0], k, constants)?, self.value(&i.src[1], k, constants)?);
                    Some(match i.cmp[k] {
                        0 => a == b,
                        1 => a != b,
                        2 => a < b,
                        3 => a <= b,
                        4 => a > b,
                        5 => a >= b,
                        _ => true,
                    })
                });
            }
            (_, Reg::R(r)) if i.writes_register() => {
                let written = (0..4u8).filter(|c| i.op == Op::Mov && i.mask >> c & 1 == 1);
                let new = written.filter_map(|c| Some((4 * (r & 15) + c, self.value(&i.src[0], c as usize, constants)?.to_bits())));
                let new: SmallVec<[_; 4]> = new.collect();
                self.held.retain(|h| h.0 >> 2 != r & 15 || i.mask >> (h.0 & 3) & 1 == 0);
                self.held.extend(new);
                self.held.sort_unstable();
            }
            _ => {}
        }
        if i.op == Op::Litp {
            (self.flags, self.asked) = ([None; 2], None);
        }
    }

    /// Whether a condition holds, if that is known.
    fn holds(&self, c: Cond) -> Option<bool> {
        let [x, y] = [self.flags[0].map(|f| f == c.x), self.flags[1].map(|f| f == c.y)];
        match (c.op, x, y) {
            (CondOp::X, x, _) => x,
            (CondOp::Y, _, y) => y,
            (CondOp::Or, Some(true), _) | (CondOp::Or, _, Some(true)) => Some(true),
            (CondOp::And, Some(false), _) | (CondOp::And, _, Some(false)) => Some(false),
            (_, Some(x), Some(y)) => Some(if c.op == CondOp::Or { x || y } else { x && y }),
            // The same question, or its opposite.
            _ => self.asked.filter(|a| a.0 == c || a.0 == c.not()).map(|(a, holds)| (a == c) == holds),
        }
    }

    /// The same where it is known whether a condition holds.
    fn knowing(&self, c: Cond, holds: bool) -> Facts {
        let mut out = self.clone();
        let (x, y) = (Some(c.x == holds), Some(c.y == holds));
        match (c.op, holds) {
            (CondOp::X, _) => out.flags[0] = x,
            (CondOp::Y, _) => out.flags[1] = y,
            (CondOp::And, true) | (CondOp::Or, false) => out.flags = [x, y],
            _ => out.asked = Some((c, holds)),
        }
        out
    }

    /// What is known where a branch is taken or not; nothing where that cannot be.
    fn branched(&self, i: &Instr, taken: bool) -> Option<Facts> {
        match i.op {
            Op::Ifc | Op::Jmpc | Op::Callc | Op::Breakc => {
                self.holds(i.cond).is_none_or(|k| k == taken).then(|| self.knowing(i.cond, taken))
            }
            Op::Ifu | Op::Jmpu | Op::Callu => {
                let (bit, value) = (1 << (i.uniform & 15), taken != (i.op == Op::Jmpu && wants_false(i)));
                let possible = self.known & bit == 0 || (self.values & bit != 0) == value;
                let values = self.values | if value { bit } else { 0 };
                possible.then(|| Facts { known: self.known | bit, values, ..self.clone() })
            }
            _ => Some(self.clone()),
        }
    }

    /// Drops what nobody asks for.
    fn keep(&mut self, wanted: &Wanted) {
        self.known &= wanted.booleans;
        self.values &= wanted.booleans;
        self.held.retain(|h| wanted.held >> h.0 & 1 == 1);
        for k in 0..2 {
            self.flags[k] = self.flags[k].filter(|_| wanted.flags[k]);
        }
        self.asked = self.asked.filter(|_| wanted.flags != [false; 2]);
    }
}

impl Place {
    /// The ways on where a branch is taken, is not, or may be either.
    fn ways(&self, i: &Instr, taken: Option<bool>) -> SmallVec<[Place; 4]> {
        let (t, n, next) = (i.target as usize, i.num as usize, self.word + 1);
        let (yes, no) = (taken != Some(false), taken != Some(true));
        let at = |word: usize| Place { word, ..self.clone() };
        let mut out: SmallVec<[Place; 4]> = SmallVec::new();
        let mut leaves: SmallVec<[Place; 4]> = SmallVec::new();
        match i.op {
            Op::End => return out,
            Op::Ifc | Op::Ifu => {
                let mut then = at(next);
                push(&mut then.ifs, (t, t + n), IF_DEPTH);
                out.extend(yes.then_some(then));
                out.extend(no.then(|| at(t)));
            }
            Op::Call | Op::Callc | Op::Callu => {
                let mut inside = at(t);
                push(&mut inside.calls, (t + n, next), CALL_DEPTH);
                out.extend(yes.then_some(inside));
                out.extend((no && i.op != Op::Call).then(|| at(next)));
            }
            Op::For => {
                let mut inside = at(next);
                push(&mut inside.loops, (t + 1, next), LOOP_DEPTH);
                out.push(inside);
            }
            Op::Jmpc | Op::Jmpu => {
                out.extend(yes.then(|| at(t)));
                out.extend(no.then(|| at(next)));
            }
            Op::Break | Op::Breakc => {
                if let Some((end, _)) = self.loops.last().copied().filter(|_| yes) {
                    let mut outside = at(end);
                    outside.loops.pop();
                    leaves.push(outside);
                }
                out.extend((no && i.op == Op::Breakc).then(|| at(next)));
            }
            _ => out.push(at(next)),
        }
        for p in out {
            p.ends(next, &mut leaves);
        }
        leaves
    }

    /// Ends of calls, ifs and loops that the machine walks into, `next` being the word behind the last one.
    fn ends(mut self, next: usize, out: &mut SmallVec<[Place; 4]>) {
        let mut n = next;
        while let Some((_, go)) = self.calls.last().copied().filter(|c| c.0 == n) {
            self.calls.pop();
            (self.word, n) = (go, go);
        }
        if let Some((_, go)) = self.ifs.last().copied().filter(|c| c.0 == next) {
            self.ifs.pop();
            self.word = go;
        }
        if let Some((end, start)) = self.loops.last().copied().filter(|c| c.0 == next) {
            let mut again = self.clone();
            again.word = start;
            out.push(again);
            self.loops.pop();
            self.word = end;
        }
        out.push(self);
    }
}

/// Output components written on the way to a place: on some way, and on every way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    some: [u8; 16],
    every: [u8; 16],
}

/// What a walk over all ways finds.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// Words that can be executed.
    pub words: BTreeSet<usize>,
    /// A word from which execution leaves the program.
    pub past: Option<usize>,
    /// Words that write an output, and components that had been written already, per output.
    pub again: BTreeSet<(usize, u8, u8)>,
    /// Words where a vertex is complete, and components that some way there has not written, per output.
    pub missing: BTreeSet<(usize, u8, u8)>,
    /// Whether there were too many ways to tell them apart by what they know; then nothing is said of outputs.
    pub tangled: bool,
}

/// The places that can be reached from an entry, that one first, whatever the data are; `None` where there are too many.
fn nodes(code: &[Instr], entry: usize) -> Option<Vec<Node>> {
    let mut out = vec![Node { word: entry, ..Node::default() }];
    let mut places = Numbering::of(Place { word: entry, ..Place::default() });
    while let Some((from, place)) = places.work.pop() {
        let Some(i) = code.get(place.word) else { continue };
        let sides: &[_] = if is_conditional(i.op) { &[Some(true), Some(false)] } else { &[None] };
        for side in sides {
            for p in place.ways(i, *side) {
                let word = p.word;
                let (to, new) = places.number(p);
                if new {
                    out.push(Node { word, ..Node::default() });
                }
                out[from].ways.push((*side, to));
            }
        }
        if out.len() > PLACES {
            return None;
        }
    }
    want(code, &mut out);
    Some(out)
}

/// Finds what is wanted at each place, from the branches back.
fn want(code: &[Instr], nodes: &mut [Node]) {
    let mut before: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); nodes.len()];
    for (n, node) in nodes.iter().enumerate() {
        node.ways.iter().for_each(|w| before[w.1].push(n));
    }
    let mut work: Vec<usize> = (0..nodes.len()).collect();
    while let Some(n) = work.pop() {
        let Some(i) = code.get(nodes[n].word) else { continue };
        let after = nodes[n].ways.iter().fold(Wanted::default(), |all, w| all.join(nodes[w.1].wanted));
        let wanted = after.before(i);
        if wanted != nodes[n].wanted {
            nodes[n].wanted = wanted;
            work.extend(&before[n]);
        }
    }
}

/// The places that can be reached from an entry, that one first: the word of each, and the places that it leads to. A word behind the
/// program's last leads nowhere. `None` where there are too many places.
pub fn places(code: &[Instr], entry: usize, constants: &[Constant]) -> Option<Vec<(usize, SmallVec<[usize; 2]>)>> {
    follow(code, &nodes(code, entry)?, constants)
}

/// The places, told apart by what is known there, too.
fn follow(code: &[Instr], nodes: &[Node], constants: &[Constant]) -> Option<Vec<(usize, SmallVec<[usize; 2]>)>> {
    let mut start = Facts::default();
    let mut floats = Constants::new();
    for c in constants {
        match c {
            Constant::Bool(n, v) => {
                start.known |= 1 << (n & 15);
                start.values |= u16::from(*v) << (n & 15);
            }
            Constant::Float(n, v) => drop(floats.insert(*n as u8, v.map(from_bits24))),
            Constant::Int(..) => {}
        }
    }
    start.keep(&nodes[0].wanted);
    let mut out = vec![(nodes[0].word, SmallVec::new())];
    let mut states = Numbering::of((0, start));
    while let Some((from, (node, facts))) = states.work.pop() {
        let Some(i) = code.get(nodes[node].word) else { continue };
        for (side, to) in &nodes[node].ways {
            let facts = match side {
                Some(taken) => facts.branched(i, *taken),
                None => Some(facts.clone()),
            };
            let Some(mut facts) = facts else { continue };
            facts.learn(i, &floats);
            facts.keep(&nodes[*to].wanted);
            let (number, new) = states.number((*to, facts));
            if new {
                out.push((nodes[*to].word, SmallVec::new()));
            }
            out[from].1.push(number);
        }
        if out.len() > PLACES {
            return None;
        }
    }
    Some(out)
}

/// Follows every way from an entry. `configured` are the output components that have a meaning.
pub fn ways(code: &[Instr], entry: usize, geometry: bool, configured: &[u8; 16], constants: &[Constant]) -> Ways {
    let mut out = Ways::default();
    let Some(nodes) = nodes(code, entry) else {
        // Too many even so: any word may be reached.
        (out.tangled, out.words) = (true, (0..code.len()).collect());
        return out;
    };
    // With nothing known there are ways among these that the program never takes: words are found, but nothing is said of outputs.
    let places = follow(code, &nodes, constants).unwrap_or_else(|| {
        out.tangled = true;
        nodes.iter().map(|n| (n.word, n.ways.iter().map(|w| w.1).collect())).collect()
    });
    let mut seen: Vec<Option<Written>> = vec![None; places.len()];
    seen[0] = Some(Written { some: [0; 16], every: [0; 16] });
    let mut work = vec![0];
    while let Some(n) = work.pop() {
        let (word, next) = &places[n];
        let Some(i) = code.get(*word) else {
            out.past = Some(word.saturating_sub(1));
            continue;
        };
        out.words.insert(*word);
        let Some(mut written) = seen[n] else { continue };
        match (i.op, i.dst) {
            (Op::Emit, _) => written = Written { some: [0; 16], every: [0; 16] },
            (_, Reg::O(n)) if i.writes_register() => {
                written.some[n as usize & 15] |= i.mask;
                written.every[n as usize & 15] |= i.mask;
            }
            _ => {}
        }
        for to in next {
            let joined = seen[*to].map_or(written, |w| Written {
                some: std::array::from_fn(|k| w.some[k] | written.some[k]),
                every: std::array::from_fn(|k| w.every[k] & written.every[k]),
            });
            if seen[*to] != Some(joined) {
                seen[*to] = Some(joined);
                work.push(*to);
            }
        }
    }
    if out.tangled {
        return out;
    }
    for ((word, _), written) in places.iter().zip(&seen) {
        let (Some(i), Some(written)) = (code.get(*word), written) else { continue };
        match (i.op, i.dst) {
            (Op::Emit, _) | (Op::End, _) if (i.op == Op::Emit) == geometry => {
                let missing = (0..16).map(|k| (k, configured[k as usize] & !written.every[k as usize]));
                out.missing.extend(missing.filter(|m| m.1 != 0).map(|(k, m)| (*word, k, m)));
            }
            (_, Reg::O(n)) if i.writes_register() => {
                let again = i.mask & written.some[n as usize & 15] & configured[n as usize & 15];
                if again != 0 {
                    out.again.insert((*word, n, again));
                }
            }
            _ => {}
        }
    }
    out
}
