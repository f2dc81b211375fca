//! What the hardware forbids or makes no sense, found in code words. Rules: the ISA description, sections 2, 7 and 12.

use crate::isa::chip;
use crate::isa::decode::{Insn, decode};
use crate::isa::forms::Shape;
use crate::isa::listing::{spaces, words};
use crate::isa::op::Op;
use retroshade_lower::{TextError, TextOptions};
use std::collections::BTreeSet;

/// Checks a program; `registers` is the declared count, where known.
pub fn lint(code: &[u8], registers: Option<u32>, options: &TextOptions) -> Result<Vec<TextError>, TextError> {
    let chip = chip::of_text(options)?;
    let words = words(code)?;
    let mut found = Vec::new();
    let mut report = |at: u32, message: String| found.push(TextError { offset: Some(at as u64), ..TextError::new(message) });
    let starts: BTreeSet<u32> = words.iter().map(|w| w.0).collect();
    let mut ends = false;
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
        ends |= insn.get("end") == 1;
        for message in rules(insn, &starts, registers) {
            report(*at, message);
        }
    }
    if !ends && !words.is_empty() {
        report(words[words.len() - 1].0, "no instruction ends the program (`exit`)".to_string());
    }
    Ok(found)
}

fn rules(i: &Insn, starts: &BTreeSet<u32>, registers: Option<u32>) -> Vec<String> {
    let mut out = Vec::new();
    let form = i.form();
    let conditional = i.has("pred") && i.get("pred") != 15;
    if form.ext.shape == Shape::Long && i.has("pred") && i.get("pred") == 0 && i.op() != Op::Nop {
        out.push("the predicate `never` makes this instruction dead; 0xf is `always`".to_string());
    }
    if conditional && i.get("end") != 0 && i.op() != Op::Nop {
        out.push("exit and join do not belong on predicated instructions".to_string());
    }
    if i.has("lanes") && i.get("lanes") == 0 {
        out.push("a lane mask of 0 moves nothing".to_string());
    }
    if i.has("target") {
        let target = i.get("target") as u32 * 4;
        if !starts.contains(&target) {
            out.push(format!("no instruction begins at the target {target:#x}"));
        } else if !target.is_multiple_of(8) {
            out.push(format!("the target {target:#x} is not a multiple of 8"));
        }
    }
    if let Some(n) = registers
        && matches!(i.op(), Op::StL | Op::StG | Op::RedAdd)
        && i.get("dst") as u32 >= n
    {
        out.push("the stored register lies outside the allocation: the store would be skipped".to_string());
    }
    if i.get("inc") == 1 {
        out.push("post-increment is not verified on hardware".to_string());
    }
    out
}
