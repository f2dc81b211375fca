//! Room where a program has more values than registers: an order that keeps little alive, code in short pieces, and spilling to
//! scratch memory.
//!
//! Within a piece the scheduler goes for few groups, across pieces values live as the order has it. A spilled web lives in one
//! channel of a scratch element: what a piece reads is fetched when it begins, what it defines is written when it ends, so between
//! pieces the web needs no register. Writes take effect in the active lanes only, as register writes do, which makes this right
//! under any control flow.

use super::deps::{Numbering, facts, graph};
use super::liveness::of_operations;
use crate::isa::forms::{DataFormat, exp_buf, op2, vtx, word};
use crate::select::mir::{Fetch, Kind, Mir, Op, Opnd, Place, Quad, Step, Web, WebInfo, Write, each_leaf, leaves};
use retroshade_emit::Word;
use retroshade_regalloc::order::{arrange, for_pressure};
use retroshade_regalloc::{Point, ValueSet};
use smallvec::smallvec;
use std::collections::BTreeMap;

/// Operations of a piece of code, about.
const PIECE: usize = 24;

/// A read from scratch memory.
pub fn read_word(element: u32, indexed: bool) -> Word {
    word!(vtx::MEM_OP {
        ELEM_SIZE: 3,
        UNCACHED: 1,
        INDEXED: indexed,
        DATA_FORMAT: DataFormat::Words4,
        NUM_FORMAT_ALL: 1,
        ARRAY_BASE: element,
        ARRAY_SIZE: 0xfff,
    })
}

/// Copies what fetches deliver, so that it can be spilled: the fetch's own register is free again at once.
pub fn loosen(mir: &mut Mir) {
    let mut names: BTreeMap<Web, Web> = BTreeMap::new();
    for w in leaves(&mir.steps).into_iter().flatten().filter(|o| matches!(o.kind, Kind::Fetch(_))).flat_map(|o| o.writes()) {
        mir.webs.push(WebInfo::default());
        names.insert(w, Web(mir.webs.len() as u32 - 1));
    }
    let mut steps = std::mem::take(&mut mir.steps);
    each_leaf(&mut steps, &mut |ops| {
        let old = std::mem::take(ops);
        for mut op in old {
            // What was to go on as it was fetched needs a register again.
            if let Kind::Write(write) = &mut op.kind
                && write.src.iter().flatten().any(|w| names.contains_key(w))
            {
                ops.extend(gathered(mir, write, |w| names.get(&w).copied().unwrap_or(w)));
            }
            // Results have one definition each; only reads take the new name.
            let written = op.writes();
            op.rename(&|w| if written.contains(&w) { w } else { names.get(&w).copied().unwrap_or(w) });
            let copies = written.iter().filter_map(|w| Some((*w, *names.get(w)?)));
            let copies: Vec<Op> = copies.map(|(w, x)| Op::alu(op2::MOV, &[Opnd::web(w)], Some(x))).collect();
            ops.push(op);
            ops.extend(copies);
        }
    });
    mir.steps = steps;
}

/// Gives what is written out a register of its own: the copies into it.
fn gathered(mir: &mut Mir, write: &mut Write, name: impl Fn(Web) -> Web) -> Vec<Op> {
    let (quad, mut copies, mut members) = (Quad(mir.quads.len() as u32), Vec::new(), Vec::new());
    for (c, w) in write.src.iter_mut().enumerate().filter_map(|(c, w)| Some((c, w.as_mut()?))) {
        mir.webs.push(WebInfo { chan: Some(c as u8), quad: Some(quad), ..WebInfo::default() });
        let to = Web(mir.webs.len() as u32 - 1);
        copies.push(Op::alu(op2::MOV, &[Opnd::web(name(*w))], Some(to)));
        members.push(to);
        *w = to;
    }
    mir.quads.push(members);
    write.quad = Some(quad);
    copies
}

/// A program as it is, ready to be cut.
pub fn in_source_order(mir: &Mir) -> Mir {
    let mut out = mir.clone();
    define_all(&mut out);
    out
}

/// A program whose operations stand in an order that keeps few values alive; none where the source's keeps no more.
pub fn in_order(mir: &Mir) -> Option<Mir> {
    let mut out = mir.clone();
    let mut steps = std::mem::take(&mut out.steps);
    let live = of_operations(&steps, out.webs.len());
    let (mut names, mut leaf) = (Numbering::default(), 0);
    each_leaf(&mut steps, &mut |ops| {
        names.start(ops, out.webs.len());
        let number = |w: Web| names.local[w.0 as usize];
        let point = |o: &Op| Point {
            reads: o.reads().into_iter().map(number).collect(),
            writes: o.writes().into_iter().map(number).collect(),
            ..Point::default()
        };
        let points: Vec<Point> = ops.iter().map(point).collect();
        let mut behind = ValueSet::with_capacity(names.webs.len());
        let end = &live.live.end[live.blocks[leaf]];
        (0..names.webs.len()).filter(|n| end.contains(names.webs[*n].0 as usize)).for_each(|n| behind.insert(n));
        leaf += 1;
        // Those that must follow another one directly keep all as it is.
        if ops.iter().any(|o| matches!(&o.kind, Kind::Fetch(f) if f.joined) || o.kind == Kind::Mova) {
            return;
        }
        let graph = graph(ops, &facts(ops, &names), &out, &names);
        let before: Vec<Vec<usize>> = graph.preds.iter().map(|p| p.iter().map(|(from, _)| *from).collect()).collect();
        arrange(ops, &for_pressure(&points, &before, behind));
    });
    out.steps = steps;
    define_all(&mut out);
    (peak(&out) < peak(mir)).then_some(out)
}

/// Most webs alive at once.
fn peak(mir: &Mir) -> u32 {
    let live = of_operations(&mir.steps, mir.webs.len());
    live.flow.peak(&live.live, |_| 1).2
}

/// A program in pieces, with these webs in scratch memory.
pub fn spill(ordered: &Mir, webs: &[Web]) -> Mir {
    let mut mir = ordered.clone();
    let slots: BTreeMap<Web, u32> = webs.iter().enumerate().map(|(k, w)| (*w, mir.scratch * 4 + k as u32)).collect();
    mir.scratch += (webs.len() as u32).div_ceil(4);
    let steps = std::mem::take(&mut mir.steps);
    mir.steps = rewrite(&mut mir, steps, &slots);
    mir
}

/// Webs that some path leaves undefined start as 0: memory that nobody wrote must not be read.
fn define_all(mir: &mut Mir) {
    let first: Vec<Op> = of_operations(&mir.steps, mir.webs.len())
        .entry()
        .filter(|w| mir.webs[w.0 as usize].fixed.is_none())
        .map(|w| Op::alu(op2::MOV, &[Opnd::bits(0)], Some(w)))
        .collect();
    if !first.is_empty() {
        mir.steps.insert(0, Step::Code(first));
    }
}

/// The webs to spill so that no place has more than `most` live ones: at each place that holds too many, the one that is named least for the length of its life.
pub fn choose(mir: &Mir, most: u32) -> Vec<Web> {
    let code = leaves(&mir.steps);
    let live = of_operations(&mir.steps, mir.webs.len()).ranges();
    let end = live.ranges.iter().filter_map(|r| r.end()).max().unwrap_or(0) as usize;
    let mut pressure = vec![0u32; end + 1];
    let mut starts: Vec<(u32, u32, Web)> = Vec::new();
    for (k, r) in live.ranges.iter().enumerate() {
        for (a, b) in r.iter() {
            pressure[a as usize..b as usize].iter_mut().for_each(|p| *p += 1);
            starts.push((a, b, Web(k as u32)));
        }
    }
    starts.sort_unstable();
    let mut named = vec![0u64; mir.webs.len()];
    for (leaf, depth) in code.iter().zip(&live.code.depth) {
        for w in leaf.iter().flat_map(|o| o.reads().into_iter().chain(o.writes())) {
            named[w.0 as usize] += 1 << (3 * depth.min(&6));
        }
    }
    let length = |w: Web| live.ranges[w.0 as usize].iter().map(|(a, b)| (b - a) as u64).sum::<u64>();
    let mut spilled = vec![false; mir.webs.len()];
    let (mut out, mut next): (Vec<Web>, usize) = (Vec::new(), 0);
    let mut active: Vec<(u32, Web)> = Vec::new();
    for at in 0..end {
        active.retain(|(until, w)| *until > at as u32 && !spilled[w.0 as usize]);
        while let Some((a, b, w)) = starts.get(next).filter(|s| s.0 as usize <= at) {
            let info: &WebInfo = &mir.webs[w.0 as usize];
            if *a as usize <= at && info.quad.is_none() && info.fixed.is_none() && info.chan.is_none() && !spilled[w.0 as usize] {
                active.push((*b, *w));
            }
            next += 1;
        }
        while pressure[at] > most {
            let Some((_, w)) = active.iter().max_by_key(|(_, w)| (length(*w) * 256 / named[w.0 as usize].max(1), *w)).copied() else {
                break;
            };
            spilled[w.0 as usize] = true;
            active.retain(|a| a.1 != w);
            for (a, b) in live.ranges[w.0 as usize].iter() {
                pressure[a as usize..b as usize].iter_mut().for_each(|p| *p -= 1);
            }
            out.push(w);
        }
    }
    out
}

fn rewrite(mir: &mut Mir, steps: Vec<Step>, slots: &BTreeMap<Web, u32>) -> Vec<Step> {
    let mut out = Vec::new();
    for s in steps {
        match s {
            Step::Code(ops) => cut(mir, ops, slots, &mut out),
            Step::If { then, other } => {
                let then = rewrite(mir, then, slots);
                let other = rewrite(mir, other, slots);
                out.push(Step::If { then, other });
            }
            Step::Loop(body, from) => out.push(Step::Loop(rewrite(mir, body, slots), from)),
            other => out.push(other),
        }
    }
    out
}

/// A spilled web within a piece.
struct Own {
    web: Web,
    loaded: bool,
    stored: bool,
}

/// Cuts straight-line code into pieces that fetch and write what is spilled.
fn cut(mir: &mut Mir, ops: Vec<Op>, slots: &BTreeMap<Web, u32>, out: &mut Vec<Step>) {
    // AR dies with its clause and gradients with theirs: no cut before an operation that uses one.
    let relative = |o: &Op| o.store.is_some_and(|s| s.3) || o.src.iter().any(|s| matches!(s.place, Place::Array { rel: true, .. }));
    let mut bound = vec![false; ops.len()];
    let mut last_mova = None;
    for (i, o) in ops.iter().enumerate() {
        if o.kind == Kind::Mova {
            last_mova = Some(i);
        } else if let (true, Some(m)) = (relative(o), last_mova) {
            bound[m + 1..=i].iter_mut().for_each(|b| *b = true);
        }
        bound[i] |= matches!(&o.kind, Kind::Fetch(f) if f.joined);
    }
    let mut own: BTreeMap<Web, Own> = BTreeMap::new();
    let mut piece: Vec<Op> = Vec::new();
    for (mut op, bound) in ops.into_iter().zip(bound) {
        let before_branch = matches!(op.kind, Kind::Pred(_)) && own.values().any(|o| o.stored);
        if !bound && (piece.len() >= PIECE || before_branch) {
            flush(mir, &mut piece, &mut own, slots, out);
        }
        for (w, read) in op.reads().into_iter().map(|w| (w, true)).chain(op.writes().into_iter().map(|w| (w, false))) {
            let Some(slot) = slots.get(&w) else { continue };
            let o = own.entry(w).or_insert_with(|| {
                let web = mir.web();
                mir.webs[web.0 as usize].chan = Some((slot % 4) as u8);
                Own { web, loaded: false, stored: false }
            });
            o.loaded |= read && !o.stored;
            o.stored |= !read;
        }
        op.rename(&|w| own.get(&w).map_or(w, |o| o.web));
        piece.push(op);
    }
    flush(mir, &mut piece, &mut own, slots, out);
}

/// Ends a piece: reads before it, writes behind it.
fn flush(mir: &mut Mir, piece: &mut Vec<Op>, own: &mut BTreeMap<Web, Own>, slots: &BTreeMap<Web, u32>, out: &mut Vec<Step>) {
    let mut elements: BTreeMap<u32, Vec<(usize, Own)>> = BTreeMap::new();
    for (w, o) in std::mem::take(own) {
        let slot = slots.get(&w).copied().unwrap_or(0);
        elements.entry(slot / 4).or_default().push((slot as usize % 4, o));
    }
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    for (element, list) in elements {
        let quad = Quad(mir.quads.len() as u32);
        mir.quads.push(list.iter().map(|(_, o)| o.web).collect());
        let (mut read, mut write) = ([None; 4], [None; 4]);
        for (c, o) in &list {
            mir.webs[o.web.0 as usize].quad = Some(quad);
            read[*c] = o.loaded.then_some(o.web);
            write[*c] = o.stored.then_some(o.web);
        }
        if read.iter().any(Option::is_some) {
            before.push(Op::other(Kind::Fetch(Box::new(Fetch {
                word: read_word(element, false),
                src: smallvec![],
                quad: None,
                dst: read,
                joined: false,
                whole_quad: false,
            }))));
        }
        if write.iter().any(Option::is_some) {
            let w = Write { form: exp_buf::MEM_SCRATCH, kind: 2, base: element as u16, src: write, quad: Some(quad), index: None };
            behind.push(Op::other(Kind::Write(Box::new(w))));
        }
    }
    before.append(piece);
    before.append(&mut behind);
    if !before.is_empty() {
        out.push(Step::Code(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(to: Web, of: Web) -> Op {
        Op::alu(op2::MOV, &[Opnd::web(of)], Some(to))
    }
    /// The operations of each piece, with one web spilled.
    fn pieces(mut mir: Mir, ops: Vec<Op>, spilled: Web) -> Vec<Vec<Kind>> {
        let mut out = Vec::new();
        cut(&mut mir, ops, &BTreeMap::from([(spilled, 0)]), &mut out);
        leaves(&out).iter().map(|ops| ops.iter().map(|o| o.kind.clone()).collect()).collect()
    }

    #[test]
    fn what_is_spilled_is_written_before_the_branch() {
        let mut mir = Mir::default();
        let [a, b] = [0, 1].map(|_| mir.web());
        let test = || Op { kind: Kind::Pred(None), ..Op::alu(op2::PRED_SETNE_INT, &[Opnd::web(a), Opnd::bits(0)], None) };
        let out = pieces(mir.clone(), vec![copy(b, a), test()], b);
        assert!(matches!(&out[..], [x, y] if matches!(x[..], [Kind::Alu, Kind::Write(_)]) && matches!(y[..], [Kind::Pred(_)])), "{out:?}");
        // What is only read need not be.
        let out = pieces(mir, vec![copy(a, b), test()], b);
        assert!(matches!(&out[..], [x] if matches!(x[..], [Kind::Fetch(_), Kind::Alu, Kind::Pred(_)])), "{out:?}");
    }

    #[test]
    fn what_an_operation_reads_and_writes_is_fetched_before_it() {
        let mut mir = Mir::default();
        let [a, b] = [0, 1].map(|_| mir.web());
        let sum = Op::alu(op2::ADD, &[Opnd::web(b), Opnd::web(a)], Some(b));
        let out = pieces(mir, vec![sum], b);
        assert!(matches!(&out[..], [x] if matches!(x[..], [Kind::Fetch(_), Kind::Alu, Kind::Write(_)])), "{out:?}");
    }

    #[test]
    fn fetches_that_belong_together_stay_in_one_piece() {
        let mut mir = Mir::default();
        let [a, b, c] = [0, 1, 2].map(|_| mir.web());
        let dst = [Some(c), None, None, None];
        let fetch = |joined| Fetch { word: read_word(0, false), src: smallvec![], quad: None, joined, whole_quad: false, dst };
        let fetch = |joined| Op::other(Kind::Fetch(Box::new(fetch(joined))));
        // Each of them comes where a piece is full.
        for before in PIECE - 3..=PIECE {
            let mut ops = vec![copy(b, a); before];
            ops.extend([fetch(false), fetch(true), fetch(true), copy(b, a)]);
            let out = pieces(mir.clone(), ops, b);
            let fetches = |p: &Vec<Kind>| p.iter().filter(|k| matches!(k, Kind::Fetch(_))).count();
            assert!(out.iter().map(fetches).filter(|n| *n > 0).eq([3]), "{before}: {out:?}");
        }
    }

    #[test]
    fn what_goes_on_as_it_was_fetched_is_gathered_again() {
        let mut mir = Mir::default();
        let [x, y] = [0, 1].map(|_| mir.web());
        let src = [Some(x), Some(y), None, None];
        let fetch = Fetch { word: read_word(0, false), src: smallvec![], quad: None, joined: false, whole_quad: false, dst: src };
        let write = Write { form: exp_buf::MEM_RING, kind: 0, base: 0, src, quad: None, index: None };
        mir.steps = vec![Step::Code(vec![Op::other(Kind::Fetch(Box::new(fetch))), Op::other(Kind::Write(Box::new(write)))])];
        loosen(&mut mir);
        let ops = leaves(&mir.steps)[0];
        let Some(Kind::Write(write)) = ops.last().map(|o| &o.kind) else { panic!("{ops:?}") };
        let lanes: Vec<WebInfo> = write.src.iter().flatten().map(|w| mir.webs[w.0 as usize]).collect();
        assert_eq!(lanes.iter().map(|l| l.chan).collect::<Vec<_>>(), [Some(0), Some(1)]);
        assert!(write.quad.is_some() && lanes.iter().all(|l| l.quad == write.quad));
        // The fetch's own register is read at once and never again.
        let reads = |w: Web| (0..ops.len()).filter(|k| ops[*k].reads().contains(&w)).collect::<Vec<_>>();
        assert_eq!((reads(x), reads(y)), (vec![1], vec![2]));
    }

    #[test]
    fn an_index_and_what_uses_it_stay_in_one_piece() {
        let mut mir = Mir::default();
        let [a, b] = [0, 1].map(|_| mir.web());
        let index = Op { kind: Kind::Mova, ..Op::alu(op2::MOVA_INT, &[Opnd::web(a)], None) };
        let element = Place::Array { local: 0, offset: 0, chan: 0, rel: true };
        let load = Op::alu(op2::MOV, &[Opnd { place: element, neg: false, abs: false }], Some(b));
        let long = || (0..PIECE).map(|_| copy(a, a));
        let ops = std::iter::once(index).chain(long()).chain([load]).chain(long()).collect();
        let lengths: Vec<usize> = pieces(mir.clone(), ops, Web(9)).iter().map(Vec::len).collect();
        assert_eq!(lengths, [PIECE + 2, PIECE]);
    }
}
