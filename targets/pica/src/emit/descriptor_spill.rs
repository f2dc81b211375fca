//! What is done when the descriptor table is full: `mad` reaches only its first entries. Where a program needs more, the rarest `mad`s
//! become a product and a sum, which reach the whole table and round alike.
//!
//! Facts: ISA sheet sections 5 (sharing), 6 (operands), 9 (the product is rounded before the sum).

use crate::emit::descriptors::{self, LOW_ENTRIES};
use crate::isa::forms::Op;
use crate::isa::registers::{IDENTITY, Index, Reg, Src, TEMPS};
use crate::isa::word::{Instr, Pattern, encode};
use retroshade_ir::Span;

/// The `mad`s that do not fit the low entries: those of the entries that serve the fewest instructions.
fn rarest(code: &[Instr]) -> Vec<usize> {
    let patterns: Vec<(usize, Pattern)> =
        code.iter().enumerate().filter(|(_, i)| i.op == Op::Mad).filter_map(|(n, i)| Some((n, encode(i).ok()?.desc?))).collect();
    let all: Vec<Pattern> = patterns.iter().map(|p| p.1).collect();
    let colours = descriptors::colours(&all);
    let count = colours.iter().max().map_or(0, |c| c + 1);
    let mut by_use: Vec<usize> = (0..count).collect();
    by_use.sort_by_key(|c| (colours.iter().filter(|k| *k == c).count(), std::cmp::Reverse(*c)));
    let gone = &by_use[..count.saturating_sub(LOW_ENTRIES)];
    patterns.iter().zip(&colours).filter(|(_, c)| gone.contains(c)).map(|(p, _)| p.0).collect()
}

/// A register that nothing uses.
fn unused(code: &[Instr]) -> Option<u8> {
    let named = |r: u8| code.iter().any(|i| i.writes_register() && i.dst == Reg::R(r) || i.sources().iter().any(|s| s.reg == Reg::R(r)));
    (0..TEMPS).find(|r| !named(*r))
}

/// The register that holds the product of a `mad` until the sum: its destination, unless that cannot be read or the addend needs it.
fn hold(i: &Instr, free: Option<u8>) -> Option<Reg> {
    let addend_needs = i.src[2].reg == i.dst && (0..4).any(|l| i.mask >> l & 1 == 1 && i.mask >> i.src[2].swz[l] & 1 == 1);
    match i.dst {
        Reg::R(_) if !addend_needs => Some(i.dst),
        _ => free.map(Reg::R),
    }
}

/// The `mad`s that [`split_mads`] would have to take apart and cannot, because no register is free for their products.
pub fn stuck(code: &[Instr]) -> Vec<usize> {
    let free = unused(code);
    rarest(code).into_iter().filter(|n| hold(&code[*n], free).is_none()).collect()
}

/// Takes `mad`s apart until the rest fits the low entries. `false` if no register is free for the products. `marks` are
/// addresses that follow the code.
pub fn split_mads(code: &mut Vec<Instr>, spans: &mut Vec<Span>, marks: &mut [&mut u32]) -> bool {
    let free = unused(code);
    let mut at = rarest(code);
    while let Some(n) = at.pop() {
        let i = code[n];
        let Some(hold) = hold(&i, free) else { return false };
        let (mut a, mut b) = (i.src[0], i.src[1]);
        if b.reg.is_uniform() {
            std::mem::swap(&mut a, &mut b);
        }
        code[n] = Instr::alu(Op::Mul, hold, i.mask, &[a, b]);
        let product = Src { reg: hold, index: Index::None, neg: false, swz: IDENTITY };
        insert_after(code, n, Instr::alu(Op::Add, i.dst, i.mask, &[i.src[2], product]));
        spans.insert(n + 1, spans.get(n).copied().unwrap_or(Span::NONE));
        marks.iter_mut().for_each(|m| **m += u32::from((n as u32) < **m));
    }
    true
}

/// How many words [`split_mads`] will add for `mad`s that need these descriptors, roughly: entries are shared first come, first served.
pub fn extra_words(mads: &mut [Pattern]) -> usize {
    mads.sort_unstable();
    // What each entry serves: bits, bits that matter, instructions.
    let mut entries: Vec<(u32, u32, usize)> = Vec::new();
    for same in mads.chunk_by(|a, b| a == b) {
        let (p, n) = (same[0], same.len());
        match entries.iter_mut().find(|(value, care, _)| (value ^ p.value) & care & p.care == 0) {
            Some(e) => *e = (e.0 | p.value, e.1 | p.care, e.2 + n),
            None => entries.push((p.value, p.care, n)),
        }
    }
    let mut uses: Vec<usize> = entries.iter().map(|e| e.2).collect();
    uses.sort_unstable();
    uses.iter().take(entries.len().saturating_sub(LOW_ENTRIES)).sum()
}

/// Inserts an instruction behind a plain one; all addresses follow.
fn insert_after(code: &mut Vec<Instr>, n: usize, new: Instr) {
    for i in code.iter_mut() {
        let (start, end) = (i.target as usize, i.target as usize + i.num as usize);
        match i.op {
            // The address of the last word of the body.
            Op::For if start >= n => i.target += 1,
            Op::Jmpc | Op::Jmpu if start > n => i.target += 1,
            Op::Ifc | Op::Ifu | Op::Call | Op::Callc | Op::Callu => {
                if start > n {
                    i.target += 1;
                } else if end > n {
                    i.num = i.num.saturating_add(1);
                }
            }
            _ => {}
        }
    }
    code.insert(n + 1, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More products than there are entries for, all different, into r0: the addend is of a register.
    fn products(addend: Reg) -> Vec<Instr> {
        let source = |reg, swz| Src { reg, index: Index::None, neg: false, swz };
        // Of the two lanes that are written the addend reads the first one in one lane.
        let one = |n: u8| {
            let factors = [source(Reg::V(0), [n & 3, n >> 2 & 3, 0, 0]), source(Reg::V(0), [n >> 4, 1, 0, 0])];
            Instr::alu(Op::Mad, Reg::R(0), 0b0011, &[factors[0], factors[1], source(addend, [0, 2, 2, 2])])
        };
        (0..LOW_ENTRIES as u8 + 8).map(one).collect()
    }

    #[test]
    fn a_product_stays_out_of_the_register_of_its_addend() {
        let held = |addend| {
            let mut code = products(addend);
            let mut spans = vec![Span::NONE; code.len()];
            assert!(split_mads(&mut code, &mut spans, &mut []));
            let mut out: Vec<Reg> = code.iter().filter(|i| i.op == Op::Mul).map(|i| i.dst).collect();
            assert!(code.windows(2).all(|w| w[0].op != Op::Mul || w[1].op == Op::Add && w[1].src[1].reg == w[0].dst));
            out.dedup();
            out
        };
        assert_eq!(held(Reg::R(1)), [Reg::R(0)]);
        assert_eq!(held(Reg::R(0)), [Reg::R(1)]);
    }

    #[test]
    fn what_is_inserted_belongs_to_the_function_around_it() {
        let flow = |op, target, num| Instr { target, num, ..Instr::new(op) };
        let body = [Op::Mad, Op::Mad].map(Instr::new);
        // A call of words 4 and 5, a loop up to 5, a jump behind them.
        let calls = [flow(Op::Call, 4, 2), flow(Op::For, 5, 0), flow(Op::Jmpu, 6, 0), Instr::new(Op::End)];
        let after = |n: usize| {
            let mut code = [&calls[..], &body[..]].concat();
            insert_after(&mut code, n, Instr::new(Op::Add));
            code[..3].iter().map(|i| (i.target, i.num)).collect::<Vec<_>>()
        };
        assert_eq!(after(4), [(4, 3), (6, 0), (7, 0)]);
        assert_eq!(after(5), [(4, 3), (6, 0), (7, 0)]);
        assert_eq!(after(3), [(5, 2), (6, 0), (7, 0)]);
    }
}
