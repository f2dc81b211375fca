//! Every way through machine code, with the stacks as the machine keeps them, and what each way has written to the outputs.
//!
//! A place is a word together with the blocks, calls and loops that are open there: ends of blocks are recognised by walking
//! into them (ISA sheet section 10), so where a word leads depends on what is open. Boolean uniforms do not change while a program
//! runs; comparisons and numbers of rounds are left open, so a way that the data rules out counts, too.

use crate::isa::forms::Op;
use crate::isa::lint::{CALL_DEPTH, IF_DEPTH, LOOP_DEPTH};
use crate::isa::registers::Reg;
use crate::isa::word::Instr;
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
    /// Where the machine can be after the instruction here.
    fn next(&self, i: &Instr) -> SmallVec<[Place; 4]> {
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
                if let Some((end, _)) = self.loops.last().copied() {
                    let mut outside = at(end);
                    outside.loops.pop();
                    leaves.push(outside);
                }
                out.extend((i.op == Op::Breakc).then(|| at(next)));
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

/// Follows every way from an entry. `configured` are the output components that have a meaning, `booleans` those that are constants.
pub fn ways(code: &[Instr], entry: usize, geometry: bool, configured: &[u8; 16], booleans: &[(u16, bool)]) -> Ways {
    let mut out = Ways::default();
    let mut seen: BTreeMap<Place, Written> = BTreeMap::new();
    let mut start = Place { word: entry, ..Place::default() };
    for (n, v) in booleans {
        start.known |= 1 << (n & 15);
        start.values |= u16::from(*v) << (n & 15);
    }
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
        for p in place.next(i) {
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
