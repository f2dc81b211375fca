//! What instructions of the placed program touch, and which must therefore stay in their order.

use crate::emit::encode::number;
use crate::emit::lines::Enc;
use crate::isa::op::{Effect, Op};
use crate::select::mir::{Dst, Extra, MInst, Src};
use retroshade_lower::Reg;
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

/// The dependences of a straight run: who wrote a register last, who read it since.
#[derive(Default)]
pub(super) struct Tracker {
    writer: Vec<Option<usize>>,
    readers: Vec<Vec<usize>>,
    /// Output words written since the last instruction that concerns all of them, and that instruction.
    outputs: BTreeMap<u32, usize>,
    barrier: Option<usize>,
}

impl Tracker {
    pub(super) fn new() -> Tracker {
        Tracker { writer: vec![None; 192], readers: vec![Vec::new(); 192], ..Tracker::default() }
    }
    /// What must stand before the next instruction, number `n`.
    pub(super) fn next(&mut self, n: usize, e: &Enc) -> Vec<usize> {
        let mut after: Vec<usize> = Vec::new();
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
        for r in members(others(&e.reads)) {
            after.extend(self.writer[r]);
        }
        for w in members(others(&e.writes)) {
            after.extend(self.writer[w]);
            after.append(&mut self.readers[w]);
            self.writer[w] = Some(n);
        }
        for r in members(others(&e.reads)) {
            self.readers[r].push(n);
        }
        after.retain(|a| *a != n);
        after.sort_unstable();
        after.dedup();
        after
    }
}

/// The numbers in a set.
fn members(s: Set) -> impl Iterator<Item = usize> {
    s.into_iter().enumerate().flat_map(|(k, mut w)| {
        std::iter::from_fn(move || {
            let n = w.trailing_zeros();
            w &= w.wrapping_sub(1);
            (n < 64).then_some(64 * k + n as usize)
        })
    })
}
