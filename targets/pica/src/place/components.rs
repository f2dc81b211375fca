//! Placement component by component, for programs that fit in no other way: a file of 64 components instead of 16 registers.
//!
//! Every temporary takes a free component where it is first written, so that what is alive fits where there are components
//! enough. Those that one operation names are drawn into one register, no more than that: afterwards an operation is taken apart
//! into lanes that hold together, a dot product into products and sums, which round alike.
//!
//! ```text
//!   prepare ─▶ a component for each temporary ─▶ which operations hold together? ─all─▶ parts ─▶ parts join again
//!                 ▲                                     │
//!                 └── lanes one by one, sums for dots ◀─┘ none of their orders is right
//! ```

use crate::isa::forms::Op;
use crate::isa::registers::TEMPS;
use crate::place::coalesce::{Failure, Interference, interference, reads, repair};
use crate::place::lanes::reads_tmp;
use crate::place::{Places, dots, lanes, wishes};
use crate::select::mir::*;
use crate::select::operands::prepare;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, BTreeSet};

/// Components of all temporary registers.
pub const COMPONENTS: usize = 4 * TEMPS as usize;

/// How often placement begins anew with what found no place, and how often operations are taken apart.
const ROUNDS: usize = 60;

/// Places a packed program; where that is impossible, the program as it was when it did not fit.
pub fn fit(packed: &Program) -> Result<(Program, Places), Box<Program>> {
    let mut sums: BTreeSet<Dest> = BTreeSet::new();
    loop {
        let apart = |n: &Node| n.dests.iter().any(|d| sums.contains(d));
        let mut p = prepare(&dots::as_sums(packed, &apart), false);
        match settle(&mut p) {
            Ok(places) => {
                hold(&mut p, &places);
                lanes::join_placed(&mut p, &places);
                return Ok((p, places));
            }
            Err(dots) if dots.iter().any(|d| !sums.contains(d)) => sums.extend(dots),
            Err(_) => return Err(Box::new(p)),
        }
    }
}

/// A component for every temporary, with operations taken apart until all can be held. The error: dot products in the way.
fn settle(p: &mut Program) -> Result<Places, Vec<Dest>> {
    let is_dot = |n: &Node| matches!(n.op, Op::Dp3 | Op::Dp4 | Op::Dph);
    for _ in 0..ROUNDS {
        let i = interference(p);
        let places = if i.peak.0 > 2 * COMPONENTS { None } else { coloured(p, &i) };
        let Some(places) = places else {
            return Err(p.blocks.iter().flat_map(|b| &b.nodes).filter(|n| is_dot(n)).flat_map(|n| n.dests.clone()).collect());
        };
        let together = |t: &mut dyn Iterator<Item = Ref>| {
            let mut regs = t.filter_map(Ref::as_tmp).map(|t| places[t as usize].0);
            let first = regs.next();
            regs.all(|r| Some(r) == first)
        };
        let side = |t: &Option<Test>| match t {
            Some(Test::Flags(f, _)) => (0..2).find(|s| !together(&mut f.iter().map(|x| if *s == 0 { x.0 } else { x.2 }))),
            _ => None,
        };
        let mut failures: Vec<Failure> = Vec::new();
        let mut sums: Vec<Dest> = Vec::new();
        for (b, block) in p.blocks.iter().enumerate() {
            for (n, node) in block.nodes.iter().enumerate().filter(|(_, n)| n.op != Op::Call) {
                let apart = node.srcs.iter().position(|s| !node.elementwise() && !together(&mut s.iter().copied()));
                match (side(&node.test), apart) {
                    (Some(side), _) => failures.push(Failure::Test(b, n, side)),
                    (None, Some(_)) if is_dot(node) => sums.extend(node.dests.iter().copied()),
                    (None, Some(k)) => failures.push(Failure::Operand(b, n, k)),
                    _ if parts(p, node, &places).is_none() => failures.push(Failure::Dests(b, n)),
                    _ => {}
                }
            }
            failures.extend(side(&block.test).map(|side| Failure::Test(b, usize::MAX, side)));
        }
        if !sums.is_empty() {
            return Err(sums);
        }
        if failures.is_empty() {
            return Ok(places);
        }
        // From the end, so that places before stay what they are.
        for f in failures.iter().rev() {
            let mended = match *f {
                Failure::Dests(b, n) => one_by_one(p, b, n),
                _ => repair(p, f, false),
            };
            mended.ok_or(Vec::new())?;
        }
    }
    Err(Vec::new())
}

/// What draws two temporaries into one register.
struct Wishes {
    /// By temporary: which others, and how much.
    near: Vec<FxHashMap<Tmp, i32>>,
    /// By temporary: those that moves join it with.
    moved: Vec<SmallVec<[Tmp; 2]>>,
    /// The lane that swizzles like.
    lanes: Vec<u8>,
    /// By temporary: the operation that makes it first and its operands, where lanes are independent of each other.
    made: Vec<Option<(Op, SmallVec<[Ref; 3]>)>>,
}

/// What an operand descriptor says of one lane: which it is, and which components of the operands it reads. `mad` has entries of
/// its own.
type Pattern = (bool, u8, SmallVec<[(bool, u8); 3]>);

/// An operation that cannot be taken apart costs as much as several that can.
const WHOLE: i32 = 4;

/// The sign and component of an operand, where it is known.
fn component(r: &Ref, places: &Places) -> (bool, u8) {
    match r.leaf {
        Leaf::Tmp(t) => (r.neg, places[t as usize].1),
        Leaf::In(_, c) | Leaf::Uni { comp: c, .. } => (r.neg, c),
        Leaf::Const(_) => (false, u8::MAX),
    }
}

impl Wishes {
    fn of(p: &Program) -> Wishes {
        let mut w = Wishes {
            near: vec![FxHashMap::default(); p.temps as usize],
            moved: vec![SmallVec::new(); p.temps as usize],
            lanes: wishes(p),
            made: vec![None; p.temps as usize],
        };
        for b in &p.blocks {
            // Lanes of one origin, be they one operation or several.
            let mut origins: indexmap::IndexMap<(u32, Op), SmallVec<[&Node; 4]>> = indexmap::IndexMap::new();
            for (n, node) in b.nodes.iter().enumerate().filter(|(_, n)| n.op != Op::Call) {
                node.test.iter().for_each(|t| w.test(t));
                for (l, d) in node.dests.iter().enumerate().filter(|_| node.elementwise()) {
                    if let Dest::Tmp(t) = d {
                        w.made[*t as usize].get_or_insert_with(|| (node.op, node.srcs.iter().map(|s| s[l]).collect()));
                    }
                }
                if !node.elementwise() {
                    node.srcs.iter().for_each(|s| w.together(s.iter().filter_map(|r| r.as_tmp()), WHOLE));
                }
                // Copies have no origin.
                let own = node.bundle >= u32::MAX - 1;
                let key = if own { (u32::MAX - 2 - n as u32, node.op) } else { (node.bundle, node.op) };
                origins.entry(key).or_default().push(node);
                if node.op == Op::Mov {
                    for (d, s) in node.dests.iter().zip(&node.srcs[0]) {
                        if let (Dest::Tmp(d), Some(s), false) = (d, s.as_tmp(), s.neg) {
                            w.moved[*d as usize].push(s);
                            w.moved[s as usize].push(*d);
                        }
                    }
                }
            }
            b.test.iter().for_each(|t| w.test(t));
            for (_, nodes) in origins {
                w.together(nodes.iter().flat_map(|n| n.writes()), 1);
                for k in 0..nodes[0].srcs.len() {
                    if nodes[0].elementwise() {
                        w.together(nodes.iter().flat_map(|n| &n.srcs[k]).filter_map(|r| r.as_tmp()), 1);
                    }
                }
            }
        }
        w
    }

    /// What a descriptor must say for a temporary in a lane, if that is known.
    fn pattern(&self, t: Tmp, lane: u8, places: &Places) -> Option<Pattern> {
        let (op, operands) = self.made[t as usize].as_ref()?;
        Some((*op == Op::Mad, lane, operands.iter().map(|r| component(r, places)).collect()))
    }

    fn test(&mut self, t: &Test) {
        if let Test::Flags(f, _) = t {
            self.together(f.iter().filter_map(|x| x.0.as_tmp()), WHOLE);
            self.together(f.iter().filter_map(|x| x.2.as_tmp()), WHOLE);
        }
    }

    fn together(&mut self, all: impl Iterator<Item = Tmp>, weight: i32) {
        let mut all: SmallVec<[Tmp; 8]> = all.collect();
        all.sort_unstable();
        all.dedup();
        for a in &all {
            for b in all.iter().filter(|b| *b != a) {
                *self.near[*a as usize].entry(*b).or_insert(0) += weight;
            }
        }
    }
}

/// What a descriptor that is there already is worth.
const KNOWN: i32 = 8;

/// Where temporaries stand before they have a place.
const NOWHERE: (u8, u8) = (u8::MAX, u8::MAX);

/// A component for every temporary.
fn coloured(p: &Program, i: &Interference) -> Option<Places> {
    let w = Wishes::of(p);
    let (mut order, mut seen): (Vec<Tmp>, Vec<bool>) = (Vec::new(), vec![false; p.temps as usize]);
    for n in p.blocks.iter().flat_map(|b| &b.nodes) {
        order.extend(reads(p, n).into_iter().chain(n.writes()).filter(|t| !std::mem::replace(&mut seen[*t as usize], true)));
    }
    // What finds no place begins the next time.
    for _ in 0..ROUNDS {
        let mut places = vec![NOWHERE; p.temps as usize];
        let mut patterns: FxHashSet<Pattern> = FxHashSet::default();
        let stuck = order.iter().position(|t| match best_place(*t, i, &w, &places, &patterns) {
            Some(at) => {
                patterns.extend(w.pattern(*t, at.1, &places));
                places[*t as usize] = at;
                false
            }
            None => true,
        });
        match stuck {
            // What nothing names stands anywhere.
            None => return Some(places.into_iter().map(|at| if at == NOWHERE { (0, 0) } else { at }).collect()),
            Some(n) => order[..=n].rotate_right(1),
        }
    }
    None
}

/// The free component that most of what a temporary is used with is near to.
fn best_place(t: Tmp, i: &Interference, w: &Wishes, places: &Places, patterns: &FxHashSet<Pattern>) -> Option<(u8, u8)> {
    let mut free = [[true; 4]; TEMPS as usize];
    for (reg, lane) in i.with[t as usize].ones().map(|o| places[o]).filter(|at| *at != NOWHERE) {
        free[reg as usize][lane as usize] = false;
    }
    // Those that come, and those of them that must come into the same register.
    let (mut open, mut bound) = (0, 0);
    let mut near = [[0i32; 4]; TEMPS as usize];
    for (o, weight) in &w.near[t as usize] {
        let (reg, lane) = places[*o as usize];
        if (reg, lane) == NOWHERE {
            open += 1;
            bound += i32::from(*weight >= WHOLE);
            continue;
        }
        // One lane is for one of them.
        (0..4).filter(|l| *l != lane).for_each(|l| near[reg as usize][l as usize] += 16 * weight);
    }
    for (reg, lane) in w.moved[t as usize].iter().map(|o| places[*o as usize]).filter(|at| *at != NOWHERE) {
        near[reg as usize][lane as usize] += 24;
    }
    // Descriptors are few: one that there is already is worth a lane that is less near.
    let known = [0, 1, 2, 3].map(|l| w.pattern(t, l, places).is_some_and(|p| patterns.contains(&p)));
    let all = (0..TEMPS).flat_map(|r| (0..4u8).map(move |l| (r, l))).filter(|(r, l)| free[*r as usize][*l as usize]);
    all.max_by_key(|(r, l)| {
        let left = free[*r as usize].iter().filter(|f| **f).count() as i32 - 1;
        // Room for those that come, and no more than that.
        let room = 4 * left.min(open) - (left - open).max(0) - 16 * WHOLE * (bound - left).max(0);
        let wish = i32::from(w.lanes[t as usize] == *l) + KNOWN * i32::from(known[*l as usize]);
        (near[*r as usize][*l as usize] + room + wish, std::cmp::Reverse((*r, *l)))
    })
}

/// Lanes of a node, group by group.
type Groups = Vec<SmallVec<[usize; 4]>>;

/// A node's lanes in groups that each are an instruction, in an order in which none overwrites what a later one reads; `None` if
/// there is no such order.
fn parts(p: &Program, n: &Node, places: &Places) -> Option<Groups> {
    let at = |t: Tmp| places[t as usize];
    let register = |d: &Dest| match d {
        Dest::Tmp(t) => (true, at(*t).0),
        Dest::Out(r, _) => (false, *r),
    };
    let key = |l: usize| -> SmallVec<[(Option<u8>, Key); 3]> {
        let operands = n.srcs.iter().filter(|_| n.elementwise()).map(|s| (s[l].as_tmp().map(|t| at(t).0), s[l].key()));
        let first = (Some(register(&n.dests[l]).1), Key::Tmp(register(&n.dests[l]).0));
        std::iter::once(first).chain(operands).collect()
    };
    let mut groups = Groups::new();
    for l in 0..n.dests.len() {
        match groups.iter_mut().find(|g| key(g[0]) == key(l)) {
            Some(g) => g.push(l),
            None => groups.push(smallvec![l]),
        }
    }
    in_order(p, n, groups, places)
}

/// Groups of a node's lanes in an order in which none overwrites what a later one reads; `None` if there is no such order.
fn in_order(p: &Program, n: &Node, mut groups: Groups, places: &Places) -> Option<Groups> {
    if groups.len() < 2 {
        return Some(groups);
    }
    let at = |t: Tmp| places[t as usize];
    // What all of them read besides their lanes.
    let tests = n.test.iter().flat_map(|t| t.refs());
    let common: Vec<(u8, u8)> =
        tests.clone().chain(p.index_reads(n.reads())).filter_map(Ref::as_tmp).map(at).chain(whole_reads(n).map(at)).collect();
    let reads = |g: &[usize]| -> SmallVec<[(u8, u8); 16]> {
        let lanes = n.srcs.iter().filter(|_| n.elementwise()).flat_map(|s| g.iter().map(|l| s[*l])).filter_map(Ref::as_tmp);
        lanes.map(at).chain(common.iter().copied()).collect()
    };
    let mut out = Vec::new();
    while !groups.is_empty() {
        let harmless = |k: &usize| {
            let written = groups[*k].iter().filter_map(|l| if let Dest::Tmp(t) = n.dests[*l] { Some(at(t)) } else { None });
            let mut others = groups.iter().enumerate().filter(|(o, _)| o != k).map(|(_, g)| reads(g));
            let written: SmallVec<[(u8, u8); 4]> = written.collect();
            others.all(|r| !r.iter().any(|x| written.contains(x)))
        };
        let k = (0..groups.len()).find(harmless)?;
        out.push(groups.remove(k));
    }
    Some(out)
}

/// Temporaries that every lane reads.
fn whole_reads(n: &Node) -> impl Iterator<Item = Tmp> + '_ {
    n.srcs.iter().filter(|_| !n.elementwise()).flatten().filter_map(|r| r.as_tmp())
}

/// Some lanes of a node.
fn part(n: &Node, lanes: &[usize]) -> Node {
    let operand = |s: &Tuple| if n.elementwise() { lanes.iter().map(|l| s[*l]).collect() } else { s.clone() };
    Node { dests: lanes.iter().map(|l| n.dests[*l]).collect(), srcs: n.srcs.iter().map(operand).collect(), ..n.clone() }
}

/// Takes operations apart where their lanes do not hold together.
fn hold(p: &mut Program, places: &Places) {
    take_apart(p, |p, n| parts(p, n, places).filter(|parts| n.op != Op::Call && parts.len() > 1));
}

/// Replaces operations by groups of their lanes, where there are such.
fn take_apart(p: &mut Program, groups: impl Fn(&Program, &Node) -> Option<Groups>) {
    for b in 0..p.blocks.len() {
        let split = |n: &Node| match groups(p, n) {
            Some(groups) => groups.iter().map(|g| part(n, g)).collect(),
            None => vec![n.clone()],
        };
        p.blocks[b].nodes = p.blocks[b].nodes.iter().flat_map(split).collect();
    }
}

/// Replaces an operation by its lanes, each before those that overwrite what it reads, or behind a copy of that.
fn one_by_one(p: &mut Program, b: usize, n: usize) -> Option<()> {
    let node = p.blocks[b].nodes[n].clone();
    let mut left: Vec<Node> = (0..node.dests.len()).map(|l| part(&node, &[l])).collect();
    let mut out = Vec::new();
    while !left.is_empty() {
        let harmless = |k: &usize| left[*k].writes().all(|t| left.iter().enumerate().all(|(o, n)| o == *k || !reads_tmp(n, &p.indices, t)));
        let k = match (0..left.len()).find(harmless) {
            Some(k) => k,
            None => {
                let old = left[0].writes().next()?;
                let copy = p.temp(node.span);
                out.push(Node::new(Op::Mov, &[Dest::Tmp(copy)], &[&[Ref::tmp(old)]], node.span));
                let others = left[1..].iter_mut().flat_map(|n| n.srcs.iter_mut().flatten());
                others.filter(|r| r.as_tmp() == Some(old)).for_each(|r| r.leaf = Leaf::Tmp(copy));
                // What a test or an index reads cannot be another temporary.
                if left[1..].iter().any(|o| reads_tmp(o, &p.indices, old)) {
                    return None;
                }
                0
            }
        };
        out.push(left.remove(k));
    }
    let several = out.len() > 1;
    p.blocks[b].nodes.splice(n..=n, out);
    several.then_some(())
}

/// Takes the rarest operations of several lanes apart until there are no more than so many kinds of operations as operand
/// descriptors tell them apart, as far as that is known here. A lane by itself shares its descriptor with many.
pub fn fewer_patterns(p: &mut Program, places: &Places, most: usize) {
    let pattern = |n: &Node| -> Vec<Pattern> {
        let lane = |l: usize| {
            let to = match n.dests[l] {
                Dest::Tmp(t) => places[t as usize].1,
                Dest::Out(_, c) => c,
            };
            (n.op == Op::Mad, to, n.srcs.iter().map(|s| component(&s[l], places)).collect())
        };
        let mut all: Vec<Pattern> = (0..n.dests.len()).map(lane).collect();
        all.sort_unstable();
        all
    };
    let mut uses: BTreeMap<Vec<Pattern>, usize> = BTreeMap::new();
    for n in p.blocks.iter().flat_map(|b| &b.nodes).filter(|n| n.elementwise()) {
        *uses.entry(pattern(n)).or_insert(0) += 1;
    }
    let mut several: Vec<(usize, &Vec<Pattern>)> = uses.iter().filter(|(k, _)| k.len() > 1).map(|(k, n)| (n * (k.len() - 1), k)).collect();
    several.sort_unstable();
    let gone: BTreeSet<&Vec<Pattern>> = several.iter().take(uses.len().saturating_sub(most)).map(|(_, k)| *k).collect();
    take_apart(p, |p, n| {
        let is_gone = n.elementwise() && gone.contains(&pattern(n));
        is_gone.then(|| (0..n.dests.len()).map(|l| smallvec![l]).collect()).and_then(|lanes| in_order(p, n, lanes, places))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use retroshade_ir::Span;

    fn uniform(reg: u8, comp: u8, index: Option<u32>) -> Ref {
        Ref { leaf: Leaf::Uni { reg, comp, index }, neg: false }
    }

    #[test]
    fn what_takes_the_place_of_an_index_comes_last() {
        let mut p = Program::default();
        let [index, first, second] = [0; 3].map(|_| p.temp(Span::NONE));
        p.indices.push(Ref::tmp(index));
        let elements: [&[Ref]; 1] = [&[uniform(0, 0, Some(0)), uniform(0, 1, Some(0))]];
        let n = Node::new(Op::Mov, &[Dest::Tmp(first), Dest::Tmp(second)], &elements, Span::NONE);
        let order = |places: [(u8, u8); 3]| parts(&p, &n, &places.to_vec()).map(|all| all.iter().map(|g| g.to_vec()).collect::<Vec<_>>());
        // The first lane goes where the index stands, the second to another register.
        assert_eq!(order([(0, 0), (0, 0), (1, 0)]), Some(vec![vec![1], vec![0]]));
        // Elsewhere any order will do.
        assert_eq!(order([(2, 0), (0, 0), (1, 0)]), Some(vec![vec![0], vec![1]]));
    }

    #[test]
    fn an_index_is_no_copy() {
        // Both lanes are read by an index that the other one overwrites: what an index reads cannot be another temporary.
        let mut p = Program::default();
        let [x, y] = [0; 2].map(|_| p.temp(Span::NONE));
        p.indices.extend([Ref::tmp(x), Ref::tmp(y)]);
        let by = |k: u32| uniform(0, 0, Some(k));
        let both = Node::new(Op::Mov, &[Dest::Tmp(x), Dest::Tmp(y)], &[&[by(1), by(0)]], Span::NONE);
        p.blocks.push(MBlock { nodes: vec![both], ..MBlock::default() });
        assert_eq!(one_by_one(&mut p, 0, 0), None);
        // Lanes that exchange their values do so by a copy.
        let mut p = Program::default();
        let [x, y] = [0; 2].map(|_| p.temp(Span::NONE));
        let swap = Node::new(Op::Mov, &[Dest::Tmp(x), Dest::Tmp(y)], &[&[Ref::tmp(y), Ref::tmp(x)]], Span::NONE);
        p.blocks.push(MBlock { nodes: vec![swap], ..MBlock::default() });
        assert_eq!(one_by_one(&mut p, 0, 0), Some(()));
        assert_eq!(p.blocks[0].nodes.len(), 3);
    }
}
