//! What the scheduler asks about the operations of a piece of code: their operands as the rules see them, the units that
//! take them, and which must wait for which.

use crate::isa::forms::{Effect, Unit, op3};
use crate::select::mir::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// An operand as the legality rules see it.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A web.
    Web(Web),
    /// Local number of the register half; buffer and line.
    Const(u32, u8, u16),
    /// An inline constant.
    Inline,
    /// A literal and whether operands may negate it.
    Literal(u32, bool),
    /// An array element: key and channel.
    Array(u32, u8),
}

/// What the scheduler asks about an operation again and again.
pub struct Facts {
    /// Its operands.
    pub operands: SmallVec<[Operand; 8]>,
    /// Where it may execute.
    pub unit: Unit,
    /// Whether it occupies slots.
    pub alu: bool,
    /// Whether it takes four of them at once.
    pub reduce: bool,
    /// Whether it sets AR.
    pub mova: bool,
    /// Whether it is a PRED_SET or KILL.
    pub exclusive: bool,
    /// Whether it names a register through AR.
    pub relative: bool,
    /// MOVA: how many operations use the index that it writes.
    pub index_users: u32,
    /// Whether T may take it.
    pub trans: bool,
    /// Local numbers of the webs read.
    pub reads: SmallVec<[u32; 8]>,
    /// Local numbers of the constant register halves read.
    pub halves: SmallVec<[u32; 3]>,
}

/// The local number of a web that a piece of code does not name.
pub const ELSEWHERE: u32 = u32::MAX;

/// Numbers of webs within the piece of code at hand; made once, because programs have many pieces and many webs.
#[derive(Debug, Default)]
pub struct Numbering {
    /// The number of each web, [`ELSEWHERE`] for those that the piece does not name.
    pub local: Vec<u32>,
    /// The webs that it names.
    pub webs: Vec<Web>,
}

impl Numbering {
    /// Numbers the webs of a piece of code, of as many as a program has.
    pub fn start(&mut self, ops: &[Op], webs: usize) {
        for w in self.webs.drain(..) {
            self.local[w.0 as usize] = ELSEWHERE;
        }
        self.local.resize(webs.max(self.local.len()), ELSEWHERE);
        let mut name = |w: Web| {
            if self.local[w.0 as usize] == ELSEWHERE {
                self.local[w.0 as usize] = self.webs.len() as u32;
                self.webs.push(w);
            }
        };
        for o in ops {
            o.each_read(&mut name);
            o.each_write(&mut name);
        }
    }
}

/// The facts of every operation.
pub fn facts(ops: &[Op], names: &Numbering) -> Vec<Facts> {
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    let mut number = |bank: u8, register: u16, half: u8| {
        let next = numbers.len() as u32;
        *numbers.entry(u32::from(bank) << 20 | u32::from(register) << 1 | u32::from(half)).or_insert(next)
    };
    let mut operand = |i: usize, k: usize, o: &Opnd, float: bool| match o.place {
        Place::Web(w) => Operand::Web(w),
        Place::Const(b, n, c) => Operand::Const(number(b, n, c >> 1), b, n / 16),
        Place::Bits(b) if inline_constant(b, float).is_some() => Operand::Inline,
        Place::Bits(b) => Operand::Literal(b, float),
        // A relative operand conflicts with every other read of its channel: its key is unique.
        Place::Array { chan, rel: true, .. } => Operand::Array(0x4000_0000 | (i as u32) << 3 | k as u32, chan),
        Place::Array { local, offset, chan, .. } => Operand::Array(0x2000_0000 | (local as u32) << 8 | offset as u32, chan),
    };
    let mut out: Vec<Facts> = ops
        .iter()
        .enumerate()
        .map(|(i, op)| {
            let float = op.float_operands();
            let unit = op.info().unit;
            let (mut operands, mut halves): (SmallVec<[Operand; 8]>, SmallVec<[u32; 3]>) = Default::default();
            for (k, o) in op.src.iter().enumerate() {
                let o = operand(i, k, o, float);
                if let Operand::Const(half, ..) = o
                    && let Err(at) = halves.binary_search(&half)
                {
                    halves.insert(at, half);
                }
                operands.push(o);
            }
            let mut reads = SmallVec::new();
            op.each_read(|w| reads.push(names.local[w.0 as usize]));
            Facts {
                operands,
                halves,
                unit,
                alu: op.is_alu(),
                reduce: matches!(op.kind, Kind::Reduce),
                mova: matches!(op.kind, Kind::Mova),
                exclusive: matches!(op.kind, Kind::Pred(_) | Kind::Kill),
                relative: op.src.iter().any(|s| matches!(s.place, Place::Array { rel: true, .. })) || op.store.is_some_and(|s| s.3),
                index_users: 0,
                // MULADD_IEEE in T is in published code of this family; its scaling forms are not.
                trans: unit == Unit::Trans
                    || unit == Unit::Any
                        && !matches!(op.form, op3::MULADD_IEEE_M2 | op3::MULADD_IEEE_M4 | op3::MULADD_IEEE_D2)
                        && op.info().effect == Effect::Plain,
                reads,
            }
        })
        .collect();
    let mut index = None;
    for i in 0..ops.len() {
        if out[i].mova {
            index = Some(i);
        } else if let (true, Some(m)) = (out[i].relative, index) {
            out[m].index_users += 1;
        }
    }
    out
}

/// Operations and latencies: 0 same group allowed, 1 later group.
pub type Edges = SmallVec<[(usize, u8); 4]>;

/// Dependences of a piece of code.
pub struct Graph {
    /// The predecessors of each operation.
    pub preds: Vec<Edges>,
    /// The reverse.
    pub succs: Vec<Edges>,
    /// Steps to the end of the piece.
    pub height: Vec<u32>,
    /// Groups that it and what follows from it need at least.
    pub groups: Vec<u32>,
}

/// Array elements whose accesses may not change places: a relative access may be any element of its array.
fn same_element(a: (u8, u8, u8, bool), b: (u8, u8, u8, bool)) -> bool {
    a.0 == b.0 && a.2 == b.2 && (a.3 || b.3 || a.1 == b.1)
}

/// The dependences between operations.
pub fn graph(ops: &[Op], facts: &[Facts], mir: &Mir, names: &Numbering) -> Graph {
    let n = ops.len();
    let none = |n: usize| -> Vec<Edges> { (0..n).map(|_| Edges::new()).collect() };
    let mut preds = none(n);
    let mut add = |to: usize, from: usize, lat: u8| {
        if to != from {
            preds[to].push((from, lat));
        }
    };
    // Members of a register that share a channel stay in their order, as if they were one web.
    let mut shared: FxHashMap<(Quad, u8), Web> = FxHashMap::default();
    let mut place = |w: Web| {
        let place = match (mir.webs[w.0 as usize].quad, mir.webs[w.0 as usize].chan) {
            (Some(q), Some(c)) => *shared.entry((q, c)).or_insert(w),
            _ => w,
        };
        names.local[place.0 as usize] as usize
    };
    let mut def: Vec<Option<usize>> = vec![None; names.webs.len()];
    let mut readers: Vec<SmallVec<[usize; 4]>> = (0..names.webs.len()).map(|_| SmallVec::new()).collect();
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
        op.each_read(|w| {
            let w = place(w);
            if let Some(d) = def[w] {
                add(i, d, 1);
            }
            readers[w].push(i);
        });
        op.each_write(|w| {
            let w = place(w);
            if let Some(d) = def[w].replace(i) {
                add(i, d, 1);
            }
            for r in readers[w].drain(..) {
                add(i, r, if facts[r].alu && facts[i].alu { 0 } else { 1 });
            }
        });
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
        if facts[i].mova {
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
        if matches!(op.kind, Kind::Pred(_)) {
            for j in 0..i {
                add(i, j, u8::from(!facts[j].alu || mir.emulators));
            }
        }
    }
    // Of two reasons to wait the longer one counts.
    for p in &mut preds {
        p.sort_unstable_by_key(|(from, lat)| (*from, Reverse(*lat)));
        p.dedup_by_key(|(from, _)| *from);
    }
    // AR dies with its clause: a MOVA waits until everything that its users need is there.
    for i in 0..n {
        if facts[i].mova {
            let waits_for = |u: usize, p: usize| preds[u].binary_search_by_key(&p, |(from, _)| *from).is_ok();
            let users = (i + 1..n).filter(|u| waits_for(*u, i) && !facts[*u].mova);
            let waits: BTreeSet<usize> = users.flat_map(|u| &preds[u]).map(|(p, _)| *p).filter(|p| *p < i && !waits_for(i, *p)).collect();
            preds[i].extend(waits.into_iter().map(|p| (p, 1)));
            preds[i].sort_unstable();
        }
    }
    let mut succs = none(n);
    let (mut height, mut groups) = (vec![0u32; n], vec![0u32; n]);
    for i in 0..n {
        for (p, lat) in &preds[i] {
            succs[*p].push((i, *lat));
        }
    }
    for i in (0..n).rev() {
        let own = facts[i].alu as u32;
        groups[i] = succs[i].iter().map(|(s, lat)| groups[*s] + own * *lat as u32).max().unwrap_or(0).max(own);
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
    Graph { preds, succs, height, groups }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::{cf, op2};
    use crate::select::mir::{Export, WebInfo, Write};

    const INDEX: u32 = 9;

    fn webs(count: usize) -> Mir {
        Mir { webs: vec![WebInfo::default(); count], ..Mir::default() }
    }
    fn element(offset: u8, chan: u8, rel: bool) -> Place {
        Place::Array { local: 0, offset, chan, rel }
    }
    fn load(to: u32, from: Place) -> Op {
        Op::alu(op2::MOV, &[Opnd { place: from, neg: false, abs: false }], Some(Web(to)))
    }
    fn store(offset: u8, chan: u8, rel: bool, of: u32) -> Op {
        Op { store: Some((0, offset, chan, rel)), ..Op::alu(op2::MOV, &[Opnd::web(Web(of))], None) }
    }
    fn copy(to: u32, of: u32) -> Op {
        Op::alu(op2::MOV, &[Opnd::web(Web(of))], Some(Web(to)))
    }
    fn mova() -> Op {
        Op { kind: Kind::Mova, ..Op::alu(op2::MOVA_INT, &[Opnd::web(Web(INDEX))], None) }
    }
    fn edges(ops: &[Op], mir: &Mir) -> Graph {
        let mut names = Numbering::default();
        names.start(ops, mir.webs.len());
        graph(ops, &facts(ops, &names), mir, &names)
    }
    /// By how many groups the second operation must stay behind the first, if at all.
    fn behind(ops: &[Op], mir: &Mir, first: usize, second: usize) -> Option<u8> {
        edges(ops, mir).preds[second].iter().find(|p| p.0 == first).map(|p| p.1)
    }
    fn two(first: &Op, second: &Op) -> Option<u8> {
        behind(&[first.clone(), second.clone()], &webs(16), 0, 1)
    }

    #[test]
    fn elements_of_arrays_are_read_between_their_writes() {
        for rel in [false, true] {
            // A computed index may meet any element of the channel.
            assert_eq!(two(&store(2, 0, rel, 1), &load(2, element(5, 0, true))), Some(1));
            assert_eq!(two(&store(2, 0, true, 1), &load(2, element(5, 0, rel))), Some(1));
            assert_eq!(two(&load(2, element(5, 0, true)), &store(2, 0, rel, 1)), Some(0), "both may stand in one group");
            assert_eq!(two(&load(2, element(5, 0, rel)), &store(2, 0, true, 1)), Some(0));
            assert_eq!(two(&store(2, 0, true, 1), &store(5, 0, rel, 3)), Some(1));
            assert_eq!(two(&store(2, 0, rel, 1), &load(2, element(2, 1, rel))), None, "another channel");
        }
        assert_eq!(two(&store(2, 0, false, 1), &load(2, element(2, 0, false))), Some(1));
        assert_eq!(two(&load(2, element(2, 0, false)), &store(2, 0, false, 1)), Some(0));
        assert_eq!(two(&store(2, 0, false, 1), &load(2, element(5, 0, false))), None);
        assert_eq!(two(&load(2, element(2, 0, true)), &load(3, element(2, 0, true))), None);
    }

    #[test]
    fn the_index_register_stays_until_it_was_used() {
        let ops = [mova(), load(1, element(0, 0, true)), mova(), store(1, 1, true, 3)];
        assert_eq!(behind(&ops, &webs(16), 0, 1), Some(1));
        assert_eq!(behind(&ops, &webs(16), 1, 2), Some(1), "its reader comes first");
        assert_eq!(behind(&ops, &webs(16), 0, 2), Some(1));
        assert_eq!(behind(&ops, &webs(16), 2, 3), Some(1));
        // What a user waits for comes before the index is set: nothing may end the clause between them.
        assert_eq!(behind(&[copy(3, 4), mova(), store(1, 1, true, 3)], &webs(16), 0, 1), Some(1));
    }

    #[test]
    fn webs_in_one_channel_of_a_quad_are_one_place() {
        let mut mir = webs(16);
        let quad = |chan| WebInfo { quad: Some(Quad(0)), chan: Some(chan), ..WebInfo::default() };
        (mir.webs[1], mir.webs[2], mir.webs[3]) = (quad(0), quad(0), quad(1));
        mir.quads = vec![vec![Web(1), Web(2), Web(3)]];
        assert_eq!(behind(&[copy(1, 5), copy(2, 6)], &mir, 0, 1), Some(1));
        assert_eq!(behind(&[copy(5, 1), copy(2, 6)], &mir, 0, 1), Some(0));
        assert_eq!(behind(&[copy(1, 5), copy(3, 6)], &mir, 0, 1), None);
    }

    #[test]
    fn what_others_see_keeps_its_order() {
        let export = || Op::other(Kind::Export(Box::new(Export { kind: 0, base: 0, src: [Coord::One; 4], quad: None })));
        let write = || {
            let form = crate::isa::forms::exp_buf::MEM_RING;
            Op::other(Kind::Write(Box::new(Write {
                form,
                kind: 0,
                base: 0,
                src: [Some(Web(1)), None, None, None],
                quad: None,
                index: None,
            })))
        };
        let kill = || Op { kind: Kind::Kill, ..Op::alu(op2::KILLGT, &[Opnd::web(Web(1)), Opnd::bits(0)], None) };
        let emit = || Op::other(Kind::Control(cf::EMIT_VERTEX));
        for first in [export(), write(), kill(), emit()] {
            for second in [export(), write(), kill(), emit()] {
                assert_eq!(two(&first, &second), Some(1), "{:?} and {:?}", first.kind, second.kind);
            }
        }
        // Where lanes part, everything else is done.
        let pred = Op { kind: Kind::Pred(None), ..Op::alu(op2::PRED_SETE, &[Opnd::web(Web(1)), Opnd::bits(0)], None) };
        let ops = [copy(2, 3), export(), load(4, element(0, 0, false)), pred];
        let wanted = [(0, Some(0)), (1, Some(1)), (2, Some(0))];
        wanted.iter().for_each(|(first, lat)| assert_eq!(behind(&ops, &webs(16), *first, 3), *lat));
    }
}
