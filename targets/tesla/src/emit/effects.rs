//! What instructions of the placed program touch, and which must therefore stay in their order.

use crate::emit::encode::number;
use crate::emit::lines::Enc;
use crate::isa::op::{Effect, Op};
use crate::select::mir::{Dst, Extra, MInst, Src};
use retroshade_lower::Reg;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Registers 0…127, `$c` 128…, `$a` 136…, memory 144, outputs 145, other effects 146.
pub(super) type Set = [u64; 3];
const C: u64 = 128;
const A: u64 = 136;
const MEM: u64 = 144;
const OUT: u64 = 145;
const SIDE: u64 = 146;

pub(super) fn put(s: &mut Set, n: u64) {
    s[n as usize / 64] |= 1 << (n % 64);
}
pub(super) fn meets(a: &Set, b: &Set) -> bool {
    a.iter().zip(b).any(|(x, y)| x & y != 0)
}

/// What an instruction reads and writes.
pub(super) fn touched(i: &MInst, a: u8) -> (Set, Set) {
    let (mut r, mut w) = ([0; 3], [0; 3]);
    let reg = |s: &mut Set, x: Reg| {
        if let Some(n) = number(x) {
            put(s, n);
        }
    };
    let flag = |s: &mut Set, x: Reg| {
        if let Some(n) = number(x) {
            put(s, C + n);
        }
    };
    if i.op == Op::MovFromC {
        if let Src::Reg(c, _) = i.src[0] {
            flag(&mut r, c);
        }
    } else {
        for s in &i.src {
            if let Src::Reg(x, _) = s {
                reg(&mut r, *x);
            }
        }
    }
    if let Some(t) = i.tied {
        reg(&mut r, t);
    }
    if let Some((c, _)) = i.pred {
        flag(&mut r, c);
    }
    if let Some(c) = i.carry {
        flag(&mut r, c);
    }
    if let Some(c) = i.cdst {
        flag(&mut w, c);
    }
    if i.op == Op::ShlA {
        put(&mut w, A + a as u64);
    } else if a != 0 {
        put(&mut r, A + a as u64);
    }
    match i.dst {
        Dst::Reg(x) => reg(&mut w, x),
        Dst::Half(x) => {
            reg(&mut w, x);
            reg(&mut r, x);
        }
        Dst::Out(_) => put(&mut w, OUT),
        _ => {}
    }
    if i.pred.is_some()
        && let Dst::Reg(x) = i.dst
    {
        reg(&mut r, x);
    }
    if let Extra::Tex(t) = &i.extra {
        t.args.iter().for_each(|x| reg(&mut r, *x));
        t.results.iter().for_each(|x| reg(&mut w, *x));
        if i.pred.is_some() {
            t.results.iter().for_each(|x| reg(&mut r, *x));
        }
    }
    if let Extra::Wide(wide) = &i.extra {
        wide.regs.iter().for_each(|x| reg(if wide.load { &mut w } else { &mut r }, *x));
        if wide.load && i.pred.is_some() {
            wide.regs.iter().for_each(|x| reg(&mut r, *x));
        }
    }
    if i.reads_shared() {
        put(&mut r, MEM);
    }
    match i.op.effect() {
        Effect::Pure | Effect::Flow => {}
        Effect::Reads => put(&mut r, MEM),
        Effect::Stores => {
            put(&mut w, MEM);
            put(&mut r, SIDE);
        }
        Effect::Atomic => put(&mut w, MEM),
        Effect::Outputs => put(&mut w, OUT),
        Effect::Emits => {
            put(&mut w, OUT);
            put(&mut r, OUT);
            put(&mut w, SIDE);
        }
    }
    (r, w)
}

/// Numbers that a set can hold.
const PLACES: usize = 192;

/// The dependences of a straight run: who wrote a register last, who read it since.
pub(super) struct Tracker {
    writer: [Option<u32>; PLACES],
    /// The last one that read each since it was written, a place in `reads`.
    reader: [Option<u32>; PLACES],
    /// Who read, and the place of who read the same before.
    reads: Vec<(u32, Option<u32>)>,
    /// Output words written since the last instruction that concerns all of them, and that instruction.
    outputs: BTreeMap<u32, usize>,
    barrier: Option<usize>,
}

impl Tracker {
    pub(super) fn new() -> Tracker {
        Tracker { writer: [None; PLACES], reader: [None; PLACES], reads: Vec::new(), outputs: BTreeMap::new(), barrier: None }
    }
    /// What must stand before the next instruction, number `n`.
    pub(super) fn next(&mut self, n: usize, e: &Enc<'_>) -> SmallVec<[usize; 4]> {
        let mut after: SmallVec<[usize; 4]> = SmallVec::new();
        let outputs = |s: &Set| s[OUT as usize / 64] >> (OUT % 64) & 1 == 1;
        let word = if let Dst::Out(o) = e.inst.dst { Some(o) } else { None };
        if outputs(&e.reads) || outputs(&e.writes) {
            after.extend(self.barrier);
            match word {
                Some(o) if !outputs(&e.reads) => after.extend(self.outputs.insert(o, n)),
                _ => {
                    after.extend(std::mem::take(&mut self.outputs).into_values());
                    self.barrier = Some(n);
                }
            }
        }
        let others = |s: &Set| {
            let mut s = *s;
            s[OUT as usize / 64] &= !(1 << (OUT % 64));
            s
        };
        let (reads, writes) = (others(&e.reads), others(&e.writes));
        each(&reads, |r| {
            if let Some(k) = self.writer[r] {
                after.push(k as usize);
            }
        });
        each(&writes, |w| {
            if let Some(k) = self.writer[w].replace(n as u32) {
                after.push(k as usize);
            }
            let mut reader = self.reader[w].take();
            while let Some(at) = reader {
                let (k, before) = self.reads[at as usize];
                after.push(k as usize);
                reader = before;
            }
        });
        each(&reads, |r| {
            self.reads.push((n as u32, self.reader[r]));
            self.reader[r] = Some(self.reads.len() as u32 - 1);
        });
        if after.len() > 1 {
            after.sort_unstable();
            after.dedup();
        }
        after
    }
}

/// Goes through the numbers in a set.
fn each(s: &Set, mut f: impl FnMut(usize)) {
    for (k, word) in s.iter().enumerate() {
        let mut left = *word;
        while left != 0 {
            f(64 * k + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::encode::Setting;
    use crate::isa::chip::EVERYTHING;
    use crate::isa::forms::{Access, Cond, FP};
    use crate::select::mir::{CC, GPR, TexOp, Wide};
    use retroshade_ir::Span;
    use retroshade_lower::PlacedReg;

    const SETTING: Setting = Setting { space: FP, short_zero: true, a: 0, chip: &EVERYTHING };

    fn r(index: u8) -> Reg {
        Reg::Placed(PlacedReg::Reg { class: GPR as u8, index })
    }
    fn c(index: u8) -> Reg {
        Reg::Placed(PlacedReg::Reg { class: CC as u8, index })
    }
    fn plain(op: Op, dst: Dst, src: &[Src]) -> (MInst, u8) {
        (MInst::new(op, dst, src), 0)
    }
    fn memory(op: Op, dst: Dst, src: &[Src]) -> (MInst, u8) {
        (MInst { extra: Extra::Mem { off: 0, ty: Access::B32, space: 0 }, ..MInst::new(op, dst, src) }, 0)
    }
    fn add(to: u8, of: u8) -> (MInst, u8) {
        plain(Op::Add, Dst::Reg(r(to)), &[Src::reg(r(of)), Src::Imm(1)])
    }
    fn wide(load: bool, first: u8) -> (MInst, u8) {
        let regs = [r(first), r(first + 1)].into_iter().collect();
        let extra = Extra::Wide(Box::new(Wide { off: 0, space: 0, base: first, regs, load }));
        (MInst { extra, ..MInst::new(if load { Op::LdL } else { Op::StL }, Dst::None, &[]) }, 0)
    }
    fn output(word: u32) -> (MInst, u8) {
        plain(Op::Mov, Dst::Out(word), &[Src::reg(r(9))])
    }

    /// Whether the second of two instructions must stay behind the first.
    fn ordered(first: &(MInst, u8), second: &(MInst, u8)) -> bool {
        let enc = |(inst, a): &(MInst, u8)| {
            let (reads, writes) = touched(inst, *a);
            Enc { inst: inst.clone().into(), setting: SETTING, short: None, long: None, reads, writes, span: Span::NONE }
        };
        let mut t = Tracker::new();
        t.next(0, &enc(first));
        t.next(1, &enc(second))[..] == [0]
    }
    fn both_ways(x: &(MInst, u8), y: &(MInst, u8)) -> [bool; 2] {
        [ordered(x, y), ordered(y, x)]
    }

    #[test]
    fn memory_keeps_its_order() {
        let load = memory(Op::LdG, Dst::Reg(r(1)), &[Src::reg(r(8))]);
        let other = memory(Op::LdL, Dst::Reg(r(2)), &[]);
        let shared = plain(Op::Mov, Dst::Reg(r(3)), &[Src::S(3, 16)]);
        let store = memory(Op::StG, Dst::None, &[Src::reg(r(8)), Src::reg(r(9))]);
        let atomic = memory(Op::RedAdd, Dst::None, &[Src::reg(r(8)), Src::reg(r(9))]);
        for change in [&store, &atomic] {
            for read in [&load, &other, &shared, &store, &atomic] {
                assert_eq!(both_ways(change, read), [true; 2], "{:?} and {:?}", change.0.op, read.0.op);
            }
        }
        for (x, y) in [(&load, &other), (&load, &shared), (&shared, &other)] {
            assert_eq!(both_ways(x, y), [false; 2], "reads need no order");
        }
        // The header of s[] is written before the program starts.
        assert_eq!(both_ways(&plain(Op::Mov, Dst::Reg(r(3)), &[Src::S(1, 2)]), &store), [false; 2]);
    }

    #[test]
    fn registers_are_read_between_their_writes() {
        // Read after write and write after read; then write after write.
        assert_eq!(both_ways(&add(1, 2), &add(3, 1)), [true; 2]);
        assert_eq!(both_ways(&add(1, 2), &add(1, 3)), [true; 2]);
        assert_eq!(both_ways(&add(1, 2), &add(3, 2)), [false; 2]);
        let texture = |args: [u8; 2], results: [u8; 2]| {
            let [args, results] = [args, results].map(|l| l.into_iter().map(r).collect());
            let t = TexOp { base: 4, pinned: false, args, results, mask: 3, unit: 0, offset: [0; 3], cube: false, apart: None };
            (MInst { extra: Extra::Tex(Box::new(t)), ..MInst::new(Op::Texauto, Dst::None, &[]) }, 0)
        };
        for other in [4, 5] {
            assert_eq!(both_ways(&texture([4, 5], [6, 7]), &add(other, 1)), [true; 2], "an argument");
            assert_eq!(both_ways(&texture([6, 7], [4, 5]), &add(1, other)), [true; 2], "a result");
            assert_eq!(both_ways(&wide(true, 4), &add(1, other)), [true; 2], "loaded");
            assert_eq!(both_ways(&wide(false, 4), &add(other, 1)), [true; 2], "stored");
        }
        assert_eq!(both_ways(&wide(false, 4), &add(1, 5)), [false; 2]);
        // A later write stands behind every reader, not only behind the last one.
        let mut t = Tracker::new();
        let lines = [add(2, 1), add(3, 1), add(1, 4)].map(|(inst, a)| {
            let (reads, writes) = touched(&inst, a);
            Enc { inst: inst.into(), setting: SETTING, short: None, long: None, reads, writes, span: Span::NONE }
        });
        let after: Vec<Vec<usize>> = lines.iter().enumerate().map(|(n, e)| t.next(n, e).to_vec()).collect();
        assert_eq!(after, [vec![], vec![], vec![0, 1]]);
    }

    #[test]
    fn flags_and_address_registers_are_registers_too() {
        let sets = |n: u8| (MInst { cdst: Some(c(n)), ..add(1, 2).0 }, 0);
        let under = |n: u8| (MInst { pred: Some((c(n), Cond::Equal)), ..add(3, 4).0 }, 0);
        let carries = |n: u8| (MInst { carry: Some(c(n)), ..add(3, 4).0 }, 0);
        let reads = |n: u8| plain(Op::MovFromC, Dst::Reg(r(3)), &[Src::reg(c(n))]);
        for (same, other) in [(under(1), under(2)), (carries(1), carries(2)), (reads(1), reads(2))] {
            assert_eq!(both_ways(&sets(1), &same), [true; 2], "{:?}", same.0);
            assert_eq!(both_ways(&sets(1), &other), [false; 2], "{:?}", other.0);
        }
        let address = |n: u8| (MInst::new(Op::ShlA, Dst::None, &[Src::reg(r(5)), Src::Imm(2)]), n);
        let indexed = |n: u8| (MInst::new(Op::LdC, Dst::Reg(r(6)), &[Src::C(0, 0, true)]), n);
        assert_eq!(both_ways(&address(1), &indexed(1)), [true; 2]);
        assert_eq!(both_ways(&address(1), &indexed(2)), [false; 2]);
        assert_eq!(both_ways(&address(3), &address(3)), [true; 2]);
    }

    #[test]
    fn a_vertex_is_what_was_written_before_it() {
        let (emit, restart) = (plain(Op::Emit, Dst::None, &[]), plain(Op::Restart, Dst::None, &[]));
        let store = memory(Op::StO, Dst::None, &[Src::reg(r(1))]);
        assert_eq!(both_ways(&output(0), &output(4)), [false; 2], "words are apart");
        assert_eq!(both_ways(&output(4), &output(4)), [true; 2]);
        for ends in [&emit, &restart] {
            for other in [&output(0), &store, &emit, &restart] {
                assert_eq!(both_ways(ends, other), [true; 2], "{:?}", other.0.op);
            }
        }
        // A store to a computed place may meet any word.
        assert_eq!(both_ways(&store, &output(4)), [true; 2]);
    }
}
