//! From blocks to a program: the phase header, scheduled blocks, the closing word, and the bits of all that.

use crate::emit::sched::Known;
use crate::emit::{arms, branches, flags};
use crate::isa::forms::{BR, EMIT, PHAS, TABLE, field};
use crate::isa::row::Row;
use crate::isa::word::Word;
use retroshade_emit::layout::{Fixup, Label, Layout, Rule};
use retroshade_ir::{Span, Stage};
use retroshade_lower::CompileError;

/// Instructions that a branch can go forwards.
const REACH: i64 = 1 << 19;

/// A program.
#[derive(Debug)]
pub struct Assembled {
    /// Its words.
    pub words: Vec<Word>,
    /// The words at which its blocks begin, and the end.
    starts: Vec<usize>,
}

/// Joins blocks; `known` are those that were scheduled before.
pub fn assemble(stage: Stage, mut blocks: Vec<Vec<Word>>, phases: bool, known: &mut Known) -> Result<Assembled, CompileError> {
    branches::mark(&mut blocks);
    branches::straighten(&mut blocks);
    while arms::flatten(&mut blocks, known) {
        branches::straighten(&mut blocks);
    }
    branches::latches(&mut blocks);
    flags::enter_together(&mut blocks);
    let mut words = Vec::with_capacity(blocks.iter().map(|b| b.len() + 1).sum::<usize>() + 2);
    words.push(Word::new(PHAS, [(field!(imm), 1), (field!(wait_cond), if phases { 1 } else { 7 })], Span::NONE));
    let mut starts = Vec::with_capacity(blocks.len() + 1);
    for b in blocks {
        starts.push(words.len());
        words.extend_from_slice(known.schedule(&b)?);
    }
    starts.push(words.len());
    if stage == Stage::Vertex {
        words.push(Word::new(EMIT, Vec::new(), Span::NONE));
    }
    flags::skip_invalid(stage, &mut words, &starts);
    Ok(Assembled { words, starts })
}

/// The bits of a program's words, branches settled.
pub fn encode(Assembled { words, starts }: &Assembled) -> Result<Vec<u64>, CompileError> {
    let internal = |e: &dyn std::fmt::Display| CompileError::Internal(e.to_string());
    let mut layout: Layout<&'static Row, Span> = Layout::new(&TABLE);
    let labels: Vec<Label> = starts.iter().map(|_| layout.label()).collect();
    let mut waiting = starts.iter().zip(&labels).peekable();
    for n in 0..=words.len() {
        while let Some((_, label)) = waiting.next_if(|(start, _)| **start <= n) {
            layout.bind(*label);
        }
        let Some(w) = words.get(n) else { continue };
        let word = w.checked().map_err(|e| internal(&e))?.clone();
        match w.target {
            None => layout.push(word, w.span),
            Some(to) => {
                let (start, label) = starts.get(to).zip(labels.get(to)).ok_or_else(|| internal(&"a branch to nowhere"))?;
                let off = *start as i64 - n as i64;
                if !(-REACH..REACH).contains(&off) {
                    return Err(CompileError::limit("U0121", w.span, "a branch is too long", off.unsigned_abs(), REACH as u64));
                }
                // The field wraps around: it is listed without a sign.
                let wrap = if off < 0 { 2 * REACH } else { 0 };
                layout.branch(word, Fixup::from_here(field!(BR.br_off), *label, 8).plus(wrap), w.span);
            }
        }
    }
    let code = layout.finish(&Rule::NONE).map_err(|e| internal(&e))?;
    Ok(code.bytes.chunks_exact(8).filter_map(|c| c.try_into().ok()).map(u64::from_le_bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::NOP;

    #[test]
    fn a_branch_has_a_reach() {
        let branch = |to| Word { target: Some(to), ..Word::new(BR, vec![(field!(br_type), 1), (field!(pred), 1)], Span::NONE) };
        let filler = |n| vec![Word::new(NOP, Vec::new(), Span::NONE); n];
        let program = |n| assemble(Stage::Fragment, vec![vec![branch(2)], filler(n), filler(1)], false, &mut Known::default());
        assert!(program(1 << 10).and_then(|p| encode(&p)).is_ok());
        let e = program(1 << 19).and_then(|p| encode(&p)).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(e.contains("U0121"), "{e}");
    }
}
