//! What is done when the descriptor table is full: `mad` reaches only its first entries. Where a program needs more, the rarest `mad`s
//! become a product and a sum, which reach the whole table and round alike.
//!
//! Facts: ISA sheet sections 5 (sharing), 6 (operands), 9 (the product is rounded before the sum).

use crate::emit::descriptors::{self, LOW_ENTRIES};
use crate::isa::forms::Op;
use crate::isa::registers::{IDENTITY, Index, Reg, Src, TEMPS};
use crate::isa::word::{Instr, Pattern, encode};
use retroshade_ir::Span;

/// Takes `mad`s apart until the rest fits the low entries. `false` if no register is free for the products. `marks` are
/// addresses that follow the code.
pub fn split_mads(code: &mut Vec<Instr>, spans: &mut Vec<Span>, marks: &mut [&mut u32]) -> bool {
    let patterns: Vec<(usize, Pattern)> =
        code.iter().enumerate().filter(|(_, i)| i.op == Op::Mad).filter_map(|(n, i)| Some((n, encode(i).ok()?.desc?))).collect();
    let all: Vec<Pattern> = patterns.iter().map(|p| p.1).collect();
    let colours = descriptors::colours(&all);
    let count = colours.iter().max().map_or(0, |c| c + 1);
    if count <= LOW_ENTRIES {
        return true;
    }
    // The entries that serve the fewest instructions go.
    let mut by_use: Vec<usize> = (0..count).collect();
    by_use.sort_by_key(|c| (colours.iter().filter(|k| *k == c).count(), std::cmp::Reverse(*c)));
    let gone = &by_use[..count - LOW_ENTRIES];
    let written = |r: u8| code.iter().any(|i| i.writes_register() && i.dst == Reg::R(r) || i.sources().iter().any(|s| s.reg == Reg::R(r)));
    let free = (0..TEMPS).find(|r| !written(*r));
    let mut at: Vec<usize> = patterns.iter().zip(&colours).filter(|(_, c)| gone.contains(c)).map(|(p, _)| p.0).collect();
    while let Some(n) = at.pop() {
        let i = code[n];
        // The destination holds the product, unless it cannot be read or the addend needs it.
        let addend_needs = i.src[2].reg == i.dst && (0..4).any(|l| i.mask >> l & 1 == 1 && i.mask >> i.src[2].swz[l] & 1 == 1);
        let hold = match (i.dst, free) {
            (Reg::R(_), _) if !addend_needs => i.dst,
            (_, Some(r)) => Reg::R(r),
            _ => return false,
        };
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
