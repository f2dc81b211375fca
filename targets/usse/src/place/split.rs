//! Live ranges in two: a value that finds a place for a part of its life only is moved to another one in the middle of it.
//!
//! ```text
//!   v7 = …                          v7 = …            in r3, which is free until the cut
//!   …                               …
//!   ── cut ──                       v92 = copy v7
//!   … v7 …                          … v92 …           wherever there is room from here on
//! ```
//!
//! The program is cut at one place of the code's order: what stands before it names the first register, what stands behind it the
//! second. Where control goes from one part to the other in another way than past the cut, the edge carries a copy. As many
//! registers as values live at once are enough then for nine in ten random programs of single registers (the test below).

use crate::place::live::Registers;
use crate::place::{Code, Facts, Failure, Placement, Setting, place_aligned};
use crate::select::mir::{Base, Kind, Lane, MProgram, Mop, Vreg};
use retroshade_lower::CompileError;
use std::rc::Rc;

/// Cuts that are made before the program counts as too large.
const MOST: usize = 200;

/// Places a program, whose values are split until all find places. Where that does not help the error is that of the whole.
pub fn place(p: &mut MProgram, s: Setting) -> Result<Placement, CompileError> {
    let s = Setting { apart: true, ..s };
    let mut first = None;
    for _ in 0..MOST {
        let (v, until, e) = match place_aligned(p, s, false, &Facts::of(p, true, Rc::new(Code::of(p)))) {
            Ok(found) => return Ok(found),
            Err(Failure::Until(v, until, e)) => (v, until, e),
            Err(other) => return Err(first.unwrap_or(other.into())),
        };
        first.get_or_insert(e);
        if !split(p, v, until) {
            break;
        }
    }
    Err(first.unwrap_or_else(|| CompileError::Internal("a program without registers has no place".to_string())))
}

/// A place between operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cut {
    block: usize,
    op: usize,
}

impl Cut {
    /// The last place at which nothing has happened yet at a time.
    fn before(registers: &Registers, time: u32) -> Cut {
        let starts = registers.flow.starts();
        let block = starts.partition_point(|s| *s <= time).saturating_sub(1).min(registers.flow.blocks.len().saturating_sub(1));
        let op = ((time - starts[block]) / 2) as usize;
        Cut { block, op: op.min(registers.flow.blocks[block].points.len()) }
    }
    /// Whether the end of a block lies behind the cut.
    fn before_end_of(self, block: usize) -> bool {
        block >= self.block
    }
    /// Whether the start of a block lies behind the cut.
    fn before_start_of(self, block: usize) -> bool {
        block > self.block
    }
}

/// Splits a virtual register at a time; false where that changes nothing or an edge cannot carry a copy.
fn split(p: &mut MProgram, v: Vreg, time: u32) -> bool {
    let registers = Registers::of(p, true);
    let live = registers.flow.live();
    let is_live = |b: usize| registers.values(v).any(|n| live.start[b].contains(n as usize));
    let mut cut = Cut::before(&registers, time);
    cut.op = cut.op.min(leaves(&p.blocks[cut.block].ops));
    let touches = |o: &Mop| o.reads().chain(o.writes()).any(|r| r == v);
    let in_order =
        || p.blocks.iter().enumerate().flat_map(|(b, x)| x.ops.iter().enumerate().map(move |(n, o)| (Cut { block: b, op: n }, o)));
    // Something must be left on either side.
    if !in_order().any(|(at, o)| at < cut && touches(o)) || !in_order().any(|(at, o)| at >= cut && touches(o)) {
        return false;
    }
    let mut edges: Vec<(usize, usize, bool)> = Vec::new();
    for (a, b) in p.blocks.iter().enumerate().flat_map(|(a, x)| x.succs.iter().map(move |b| (a, *b))) {
        let (from, to) = (cut.before_end_of(a), cut.before_start_of(b));
        if from != to && is_live(b) {
            edges.push((a, b, to));
        }
    }
    let preds = |b: usize| p.blocks.iter().map(|x| x.succs.iter().filter(|s| **s == b).count()).sum::<usize>();
    if edges.iter().any(|(a, b, _)| p.blocks[*a].succs.len() > 1 && preds(*b) > 1) {
        return false;
    }
    // Where the copies of the edges go: to the end of the one block, or to the start of the other.
    let carried: Vec<(usize, bool, bool)> =
        edges.iter().map(|(a, b, to)| if p.blocks[*a].succs.len() == 1 { (*a, true, *to) } else { (*b, false, *to) }).collect();
    let alive = lives_across(&registers, v, cut);
    let data = p.data(v).clone();
    let lanes = data.lanes;
    p.vregs.push(data);
    let w = Vreg(p.vregs.len() as u32 - 1);
    for (n, b) in p.blocks.iter_mut().enumerate() {
        let from = if n < cut.block {
            b.ops.len()
        } else if n == cut.block {
            cut.op
        } else {
            0
        };
        b.ops[from..].iter_mut().for_each(|o| rename(o, v, w));
    }
    let copy = |to_second: bool, span| {
        let (from, to) = if to_second { (v, w) } else { (w, v) };
        Mop::new(Kind::Copy, Some(to), vec![(0..lanes).map(|k| Lane::new(Base::V(from, k))).collect()], span)
    };
    if alive {
        let span = p.data(v).span;
        p.blocks[cut.block].ops.insert(cut.op, copy(true, span));
    }
    for (b, at_end, to_second) in carried {
        let span = p.data(v).span;
        let ops = &mut p.blocks[b].ops;
        let at = if at_end { leaves(ops) } else { 0 };
        ops.insert(at, copy(to_second, span));
    }
    true
}

/// Where the branches at the end of a block begin.
fn leaves(ops: &[Mop]) -> usize {
    ops.iter().position(|o| matches!(o.kind, Kind::Branch(..))).unwrap_or(ops.len())
}

/// Whether something of a register is needed behind the cut by what comes to it from before.
fn lives_across(registers: &Registers, v: Vreg, cut: Cut) -> bool {
    let live = registers.flow.live();
    let mut now = registers.flow.backward(cut.block, &live, |_, _| {});
    let at = registers.flow.blocks[cut.block].points.len();
    if cut.op > 0 {
        // What lives behind the operation before the cut.
        registers.flow.backward(cut.block, &live, |n, behind| {
            if n + 1 == cut.op.min(at) {
                now = behind.clone();
            }
        });
    }
    registers.values(v).any(|n| now.contains(n as usize))
}

fn rename(op: &mut Mop, v: Vreg, w: Vreg) {
    let swap = |r: &mut Vreg| {
        if *r == v {
            *r = w;
        }
    };
    op.dst.iter_mut().for_each(swap);
    if let Kind::Parallel(d) = &mut op.kind {
        d.iter_mut().for_each(swap);
    }
    for l in op.src.iter_mut().flatten() {
        if let Base::V(r, _) = &mut l.base {
            swap(r);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::registers::Reg;
    use crate::place::{check, live};
    use crate::select::mir::MBlock;
    use retroshade_ir::{Scalar, Span};
    use retroshade_lower::testing::Rng;
    use std::collections::{BTreeMap, BTreeSet};

    fn makes(v: Vreg) -> Mop {
        Mop::new(Kind::Copy, Some(v), vec![vec![Lane::c(0)]], Span::NONE)
    }
    fn reads(v: &[Vreg]) -> Mop {
        Mop::new(Kind::Keep, None, v.iter().map(|v| vec![Lane::new(Base::V(*v, 0))]).collect(), Span::NONE)
    }
    fn scalars(n: usize) -> (MProgram, Vec<Vreg>) {
        let mut p = MProgram::default();
        let all = (0..n).map(|_| p.vreg(Scalar::F32, 1, Span::NONE)).collect();
        (p, all)
    }
    /// Places a program in so many temporaries, and lets the checker look at it; how many registers it has in the end.
    fn placed(p: &mut MProgram, fixed: &BTreeMap<Vreg, Reg>, r: u16) -> Result<usize, String> {
        let before = live::at_entry(p).len();
        let inside = BTreeSet::new();
        let places =
            place(p, Setting { fixed, r, pa: 0, pa_last: false, o: 0, inside: &inside, apart: true }).map_err(|e| e.to_string())?;
        check::placed(p, &places).judge()?;
        assert_eq!(live::at_entry(p).len(), before, "every value comes from somewhere");
        Ok(p.vregs.len())
    }

    /// Which operation made what each reader sees, on a walk through the blocks.
    fn seen(p: &MProgram, walk: u64) -> Vec<Option<usize>> {
        let (mut rng, mut at, mut made, mut out) = (Rng::new(walk), 0, 0, Vec::new());
        let mut now: BTreeMap<Vreg, Option<usize>> = BTreeMap::new();
        let get = |now: &BTreeMap<Vreg, Option<usize>>, v: Vreg| now.get(&v).copied().flatten();
        for _ in 0..40 {
            for op in &p.blocks[at].ops {
                match (op.dst, op.src.first().map(|s| s[0].base)) {
                    (Some(to), Some(Base::V(from, _))) => drop(now.insert(to, get(&now, from))),
                    (Some(to), _) => {
                        made += 1;
                        now.insert(to, Some(made));
                    }
                    _ => out.extend(op.reads().map(|v| get(&now, v))),
                }
            }
            let succs = &p.blocks[at].succs;
            if succs.is_empty() {
                break;
            }
            at = succs[rng.below(succs.len())];
        }
        out
    }

    /// r0 is taken later; when the last value begins, only r0 is free, and when r0 is taken, only r1.
    #[test]
    fn a_value_moves_where_its_place_is_taken() {
        let (mut p, v) = scalars(5);
        let [short, middle, long, last, settled] = v[..] else { panic!() };
        let ops = vec![
            makes(short),
            makes(middle),
            makes(long),
            reads(&[short]),
            makes(last),
            reads(&[middle]),
            makes(settled),
            reads(&[last, long, settled]),
        ];
        p.blocks.push(MBlock { ops, succs: Vec::new() });
        let fixed = BTreeMap::from([(settled, Reg::r(0))]);
        assert_eq!(placed(&mut p.clone(), &fixed, 3), Ok(6));
        let e = placed(&mut p, &fixed, 2).unwrap_err();
        assert!(e.contains("U0120"), "{e}");
    }

    /// As above, where the last reader of the value writes the register before it reads.
    #[test]
    fn a_value_moves_before_its_last_reader() {
        let (mut p, v) = scalars(5);
        let [short, middle, long, last, settled] = v[..] else { panic!() };
        let rows = Mop { dst: Some(settled), kind: Kind::Rows, ..reads(&[last]) };
        let ops =
            vec![makes(short), makes(middle), makes(long), reads(&[short]), makes(last), reads(&[middle]), rows, reads(&[long, settled])];
        p.blocks.push(MBlock { ops, succs: Vec::new() });
        let fixed = BTreeMap::from([(settled, Reg::r(0))]);
        assert_eq!(placed(&mut p, &fixed, 3), Ok(6));
    }

    /// A diamond whose one side leaves another register free than the other, within a loop.
    #[test]
    fn edges_carry_copies() {
        let (mut p, v) = scalars(4);
        let [all, one, other, settled] = v[..] else { panic!() };
        let to = |n: usize| Mop::new(Kind::Branch(n, None), None, Vec::new(), Span::NONE);
        let either = |a: usize, b: usize| vec![Mop::new(Kind::Branch(a, Some((0, false))), None, Vec::new(), Span::NONE), to(b)];
        p.blocks = vec![
            MBlock { ops: [vec![makes(all)], either(1, 2)].concat(), succs: vec![1, 2] },
            MBlock { ops: vec![makes(one), reads(&[one, all]), to(3)], succs: vec![3] },
            MBlock { ops: vec![makes(settled), makes(other), reads(&[settled, other, all]), to(3)], succs: vec![3] },
            MBlock { ops: [vec![reads(&[all])], either(4, 5)].concat(), succs: vec![4, 5] },
            MBlock { ops: vec![makes(all), to(0)], succs: vec![0] },
            MBlock { ops: vec![reads(&[all])], succs: Vec::new() },
        ];
        for at in 0..3 {
            let fixed = BTreeMap::from([(settled, Reg::r(at))]);
            placed(&mut p.clone(), &fixed, 3).unwrap();
        }
    }

    /// The way back of a loop of one block, which may also end there, has no place for a copy.
    #[test]
    fn critical_edges_carry_nothing() {
        let (mut p, v) = scalars(1);
        let round = |succs: &[usize]| MBlock { ops: vec![reads(&v), reads(&v)], succs: succs.to_vec() };
        p.blocks = vec![MBlock { ops: vec![makes(v[0])], succs: vec![1] }, round(&[1, 2]), round(&[])];
        let time = Registers::of(&p, true).flow.starts()[1] + 2;
        assert!(!split(&mut p.clone(), v[0], time));
        // With a block of its own on the way back there is one.
        p.blocks[1].succs = vec![3, 2];
        p.blocks.push(MBlock { ops: Vec::new(), succs: vec![1] });
        assert!(split(&mut p, v[0], time));
    }

    /// As many registers as values live at once are enough for nine programs in ten; the checker accepts every placement.
    #[test]
    fn random_programs_fit_in_what_they_need() {
        let (mut splits, mut crowded) = (0, 0);
        for seed in 0..400 {
            let mut rng = Rng::new(seed);
            let (mut p, v) = scalars(12);
            let blocks = 1 + rng.below(6);
            for b in 0..blocks {
                let mut ops = Vec::new();
                for _ in 0..1 + rng.below(8) {
                    let pick = v[rng.below(v.len())];
                    ops.push(if rng.chance(50) { makes(pick) } else { reads(&[pick, v[rng.below(v.len())]]) });
                }
                // No edge is critical: a block with two ways is followed by blocks that nobody else goes to.
                let mut succs = vec![b + 1];
                if b > 0 && b + 1 < blocks && rng.chance(30) {
                    succs = vec![rng.below(b + 1)];
                }
                succs.retain(|s| *s < blocks);
                ops.extend(succs.iter().map(|s| Mop::new(Kind::Branch(*s, None), None, Vec::new(), Span::NONE)));
                p.blocks.push(MBlock { ops, succs });
            }
            let registers = Registers::of(&p, true);
            let live = registers.flow.live();
            let (_, _, peak) = registers.flow.peak(&live, |_| 1);
            let entry = live.start[0].ones().count() as u32;
            let before = p.vregs.len();
            let room = peak.max(entry).max(1) as u16;
            let source = p.clone();
            match placed(&mut p, &BTreeMap::new(), room) {
                Ok(after) => {
                    splits += after - before;
                    assert!((0..8).all(|walk| seen(&source, walk) == seen(&p, walk)), "seed {seed}");
                }
                Err(e) if e.contains("U0120") => crowded += 1,
                Err(e) => panic!("seed {seed}, {room} registers: {e}"),
            }
        }
        assert!(splits > 10 && crowded <= 40, "{splits} splits, {crowded} programs without room");
    }
}
