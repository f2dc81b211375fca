//! What the hardware forbids or makes no sense, found in code words. Rules: the ISA description, sections 2, 7 and 12.

use crate::isa::chip::{self, Chip};
use crate::isa::decode::{Insn, decode, space};
use crate::isa::forms::{Cond, End, Shape, field};
use crate::isa::listing::{spaces, words};
use crate::isa::op::Op;
use retroshade_ir::Stage;
use retroshade_lower::{TextError, TextOptions};
use std::collections::{BTreeMap, BTreeSet};

/// Checks a program; `registers` is the declared count, where known.
pub fn lint(code: &[u8], registers: Option<u32>, options: &TextOptions) -> Result<Vec<TextError>, TextError> {
    let chip = chip::of_text(options)?;
    let words = words(code)?;
    let mut found = Vec::new();
    let mut report = |at: u32, message: String| found.push(TextError { offset: Some(at as u64), ..TextError::new(message) });
    let starts: BTreeSet<u32> = words.iter().map(|w| w.0).collect();
    let mut ends = false;
    let mut program = BTreeMap::new();
    for (at, word, size) in &words {
        if *size == 8 && !at.is_multiple_of(8) {
            report(*at, "an 8-byte instruction must start at a multiple of 8".to_string());
        }
        let decoded = spaces(options).into_iter().map(|s| decode(*word, s, &chip)).collect::<Vec<_>>();
        let insn = match decoded.iter().find_map(|d| d.as_ref().ok()) {
            Some(i) => i,
            None => {
                report(*at, decoded.into_iter().find_map(Result::err).unwrap_or_default());
                continue;
            }
        };
        ends |= insn.get(field!(end)) == End::Exit as u64 || chip.flexgrip && insn.op() == Op::Ret;
        for message in rules(insn, &starts, registers) {
            report(*at, message);
        }
        program.insert(*at, insn.clone());
    }
    if program.len() == words.len() {
        waiting(&program).into_iter().for_each(|(at, message)| report(at, message));
    }
    if !ends && !words.is_empty() {
        let end = if chip.flexgrip { "ret" } else { "exit" };
        report(words[words.len() - 1].0, format!("no instruction ends the program (`{end}`)"));
    }
    Ok(found)
}

/// The first instruction that a chip does not execute right, of code that is all instructions.
pub(crate) fn first_stranger(code: &[u8], stage: Stage, chip: &Chip) -> Option<String> {
    if !chip.flexgrip {
        return None;
    }
    let all = words(code).ok()?;
    all.into_iter().find_map(|(_, word, _)| decode(word, space(stage), chip).err())
}

fn rules(i: &Insn, starts: &BTreeSet<u32>, registers: Option<u32>) -> Vec<String> {
    let mut out = Vec::new();
    let form = i.form();
    let conditional = i.has(field!(pred)) && i.get(field!(pred)) != Cond::Always as u64;
    if form.ext.shape == Shape::Long && i.has(field!(pred)) && i.get(field!(pred)) == Cond::Never as u64 && i.op() != Op::Nop {
        out.push("the predicate `never` makes this instruction dead; 0xf is `always`".to_string());
    }
    if conditional && i.get(field!(end)) != 0 && i.op() != Op::Nop {
        out.push("exit and join do not belong on predicated instructions".to_string());
    }
    if i.has(field!(lanes)) && i.get(field!(lanes)) == 0 {
        out.push("a lane mask of 0 moves nothing".to_string());
    }
    if i.has(field!(target)) {
        let target = i.get(field!(target)) as u32 * 4;
        if !starts.contains(&target) {
            out.push(format!("no instruction begins at the target {target:#x}"));
        } else if !target.is_multiple_of(8) {
            out.push(format!("the target {target:#x} is not a multiple of 8"));
        }
    }
    if let Some(n) = registers
        && matches!(i.op(), Op::StL | Op::StG | Op::RedAdd)
        && i.get(field!(dst)) as u32 >= n
    {
        out.push("the stored register lies outside the allocation: the store would be skipped".to_string());
    }
    if i.get(field!(inc)) == 1 {
        out.push("post-increment is not verified on hardware".to_string());
    }
    out
}

/// The `joinat` that may wait at once: the stack on the chip is small, and compilers for it add no more (sheet 7).
const MOST_JOINS: usize = 7;

/// What a path has left on the machine's stack, and where lanes meet again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Join(u32),
    Break(u32),
}

/// Ways on which lanes leave while a `joinat` waits for them (sheet 7): the entry would be popped at the wrong place; and more `joinat` than
/// the stack should hold.
pub(crate) fn waiting(program: &BTreeMap<u32, Insn>) -> Vec<(u32, String)> {
    let mut found = BTreeMap::new();
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    let mut todo: Vec<(u32, Vec<Waiting>)> = program.keys().next().map(|at| (*at, Vec::new())).into_iter().collect();
    while let Some((at, mut stack)) = todo.pop() {
        let Some(i) = program.get(&at).filter(|_| seen.insert(at)) else { continue };
        if i.get(field!(end)) == End::Join as u64 && stack.last() == Some(&Waiting::Join(at)) {
            stack.pop();
        }
        let next = at + i.size();
        let target = i.get(field!(target)) as u32 * 4;
        let joins = stack.iter().any(|w| matches!(w, Waiting::Join(_)));
        let conditional = i.has(field!(pred)) && i.get(field!(pred)) != Cond::Always as u64;
        match i.op() {
            Op::Bra => {
                todo.push((target, stack.clone()));
                if !conditional {
                    continue;
                }
            }
            Op::Joinat => {
                stack.push(Waiting::Join(target));
                if stack.iter().filter(|w| matches!(w, Waiting::Join(_))).count() > MOST_JOINS {
                    found.insert(at, format!("more than {MOST_JOINS} joinat wait"));
                }
            }
            Op::Prebrk => stack.push(Waiting::Break(target)),
            Op::Brk => {
                if let Some(Waiting::Join(m)) = stack.last() {
                    found.insert(at, format!("a break while the joinat of {m:#x} is pending"));
                }
                if let Some(n) = stack.iter().rposition(|w| matches!(w, Waiting::Break(_)))
                    && let Waiting::Break(exit) = stack[n]
                {
                    todo.push((exit, stack[..n].to_vec()));
                }
                if !conditional {
                    continue;
                }
            }
            Op::Ret => {
                if joins {
                    found.insert(at, "threads end while a joinat is pending".to_string());
                }
                if !conditional {
                    continue;
                }
            }
            _ if i.get(field!(end)) == End::Exit as u64 => {
                if joins {
                    found.insert(at, "threads end while a joinat is pending".to_string());
                }
                continue;
            }
            _ => {}
        }
        todo.push((next, stack));
    }
    found.into_iter().collect()
}
