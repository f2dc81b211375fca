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
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// Places after which a program counts as too entangled to be followed.
const PLACES: usize = 1 << 16;

/// A block, call or loop that is open: the word that ends it, and where it goes on from there.
type Open = (usize, usize);

/// A word and what is open there.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    word: usize,
    ifs: SmallVec<[Open; 8]>,
    calls: SmallVec<[Open; 4]>,
    loops: SmallVec<[Open; 4]>,
    /// Boolean uniforms whose value this way has shown.
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

/// What the machine's constants are, and which components of temporaries a comparison reads, moved from others or not.
struct Known {
    constants: BTreeMap<u8, [f32; 4]>,
    compared: u64,
}

impl Known {
    fn new(code: &[Instr], constants: &[Constant]) -> Known {
        let float = |c: &Constant| if let Constant::Float(n, v) = c { Some((*n as u8, v.map(from_bits24))) } else { None };
        let mut compared = 0;
        for s in code.iter().filter(|i| i.op == Op::Cmp).flat_map(|i| &i.src[..2]) {
            if let Reg::R(r) = s.reg {
                s.swz[..2].iter().for_each(|c| compared |= 1 << (4 * (r & 15) + (c & 3)));
            }
        }
        // What moves bring there counts, too.
        loop {
            let before = compared;
            for i in code.iter().filter(|i| i.op == Op::Mov) {
                let (Reg::R(d), Reg::R(s)) = (i.dst, i.src[0].reg) else { continue };
                let read = |c: u8| i.mask >> c & 1 == 1 && compared >> (4 * (d & 15) + c) & 1 == 1;
                let from = (0..4).filter(|c| read(*c)).map(|c| 1u64 << (4 * (s & 15) + (i.src[0].swz[c as usize] & 3)));
                let from = from.fold(0, |all, bit| all | bit);
                compared |= from;
            }
            if compared == before {
                break;
            }
        }
        Known { constants: constants.iter().filter_map(float).collect(), compared }
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

/// Whether a jump on a boolean wants it to be false.
fn wants_false(i: &Instr) -> bool {
    i.num & 1 == 1
}

impl Place {
    /// A component of an operand, if it is known.
    fn value(&self, s: &Src, lane: usize, known: &Known) -> Option<f32> {
        let c = s.swz[lane] & 3;
        let v = match s.reg {
            Reg::C(n) if s.index == Index::None => known.constants.get(&n)?[c as usize],
            Reg::R(n) => self.held.iter().find(|h| h.0 == 4 * (n & 15) + c).map(|h| f32::from_bits(h.1))?,
            _ => return None,
        };
        Some(if s.neg { -v } else { v })
    }

    /// What an instruction does to what is known.
    fn learn(&mut self, i: &Instr, known: &Known) {
        match (i.op, i.dst) {
            (Op::Cmp, _) => {
                self.asked = None;
                self.flags = std::array::from_fn(|k| {
                    let (a, b) = (self.value(&i.src[0], k, known)?, self.value(&i.src[1], k, known)?);
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
                for c in (0..4u8).filter(|c| i.mask >> c & 1 == 1 && known.compared >> (4 * (r & 15) + c) & 1 == 1) {
                    let name = 4 * (r & 15) + c;
                    let new = if i.op == Op::Mov { self.value(&i.src[0], c as usize, known) } else { None };
                    self.held.retain(|h| h.0 != name);
                    self.held.extend(new.map(|v| (name, v.to_bits())));
                }
                self.held.sort();
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

    /// The same place where it is known whether a condition holds.
    fn knowing(&self, c: Cond, holds: bool) -> Place {
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

    /// Where the machine can be after the instruction here.
    fn next(&self, i: &Instr) -> SmallVec<[Place; 4]> {
        if matches!(i.op, Op::Ifc | Op::Jmpc | Op::Callc | Op::Breakc) {
            let known = self.holds(i.cond);
            let sides = [true, false].into_iter().filter(|t| known.is_none_or(|k| k == *t));
            return sides.flat_map(|t| self.knowing(i.cond, t).ways(i, Some(t))).collect();
        }
        if !matches!(i.op, Op::Ifu | Op::Jmpu | Op::Callu) {
            return self.ways(i, None);
        }
        let bit = 1 << (i.uniform & 15);
        let sides = [true, false].into_iter().filter(|v| self.known & bit == 0 || (self.values & bit != 0) == *v);
        let assumed = |v: bool| Place { known: self.known | bit, values: self.values | if v { bit } else { 0 }, ..self.clone() };
        sides.flat_map(|v| assumed(v).ways(i, Some(v != (i.op == Op::Jmpu && wants_false(i))))).collect()
    }

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
    /// Whether the program was too entangled to be followed to the end.
    pub incomplete: bool,
}

/// The place of a program's start.
fn start(entry: usize, constants: &[Constant]) -> Place {
    let mut start = Place { word: entry, ..Place::default() };
    for c in constants {
        if let Constant::Bool(n, v) = c {
            start.known |= 1 << (n & 15);
            start.values |= u16::from(*v) << (n & 15);
        }
    }
    start
}

/// The places that can be reached from an entry, that one first: the word of each, and the places that it leads to. A word behind the
/// program's last leads nowhere. `None` where there are too many places.
pub fn places(code: &[Instr], entry: usize, constants: &[Constant]) -> Option<Vec<(usize, SmallVec<[usize; 2]>)>> {
    let known = Known::new(code, constants);
    let first = start(entry, constants);
    let mut out = vec![(entry, SmallVec::new())];
    let mut numbers = BTreeMap::from([(first.clone(), 0)]);
    let mut work = vec![first];
    while let Some(place) = work.pop() {
        let Some(i) = code.get(place.word) else { continue };
        let from = numbers[&place];
        for mut p in place.next(i) {
            p.learn(i, &known);
            let to = match numbers.get(&p) {
                Some(n) => *n,
                None => {
                    let n = out.len();
                    out.push((p.word, SmallVec::new()));
                    numbers.insert(p.clone(), n);
                    work.push(p);
                    n
                }
            };
            out[from].1.push(to);
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
    let mut seen: BTreeMap<Place, Written> = BTreeMap::new();
    let start = start(entry, constants);
    let known = Known::new(code, constants);
    seen.insert(start.clone(), Written { some: [0; 16], every: [0; 16] });
    let mut work = vec![start];
    while let Some(place) = work.pop() {
        let Some(i) = code.get(place.word) else {
            out.past = Some(place.word.saturating_sub(1));
            continue;
        };
        out.words.insert(place.word);
        let mut written = seen[&place];
        match (i.op, i.dst) {
            (Op::Emit, _) => written = Written { some: [0; 16], every: [0; 16] },
            (_, Reg::O(n)) if i.writes_register() => {
                written.some[n as usize & 15] |= i.mask;
                written.every[n as usize & 15] |= i.mask;
            }
            _ => {}
        }
        for mut p in place.next(i) {
            p.learn(i, &known);
            let joined = match seen.get(&p) {
                None => written,
                Some(w) => Written {
                    some: std::array::from_fn(|k| w.some[k] | written.some[k]),
                    every: std::array::from_fn(|k| w.every[k] & written.every[k]),
                },
            };
            if seen.get(&p) != Some(&joined) {
                seen.insert(p.clone(), joined);
                work.push(p);
            }
        }
        if seen.len() > PLACES {
            out.incomplete = true;
            return out;
        }
    }
    for (place, written) in &seen {
        let Some(i) = code.get(place.word) else { continue };
        match (i.op, i.dst) {
            (Op::Emit, _) | (Op::End, _) if (i.op == Op::Emit) == geometry => {
                let missing = (0..16).map(|k| (k, configured[k as usize] & !written.every[k as usize]));
                out.missing.extend(missing.filter(|m| m.1 != 0).map(|(k, m)| (place.word, k, m)));
            }
            (_, Reg::O(n)) if i.writes_register() => {
                let again = i.mask & written.some[n as usize & 15] & configured[n as usize & 15];
                if again != 0 {
                    out.again.insert((place.word, n, again));
                }
            }
            _ => {}
        }
    }
    out
}
