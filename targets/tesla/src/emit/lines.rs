//! Lines to bytes: straight runs are ordered and paired, exit and join ride on them, the shared layout resolves labels.

use crate::emit::Code;
use crate::emit::effects::{Set, Tracker, touched};
use crate::emit::encode::{Encoded, Setting, encode};
use crate::emit::pairing::{Choice, EXACT, Item, choose};
use crate::isa::forms::{BAR, Cond, End, FORMS, NOP, RET, Shape, Syn, TABLE, field, word};
use crate::select::mir::MInst;
use retroshade_emit::layout::{Filler, Fixup, Label, Layout, Rule};
use retroshade_emit::{EncodeError, FormId, Word};
use retroshade_ir::{Block, Span};
use retroshade_lower::CompileError;

/// An instruction of the placed code, or one that was made of it.
#[derive(Clone, Debug)]
pub(super) enum Inst<'a> {
    Placed(&'a MInst),
    Made(Box<MInst>),
}

impl Inst<'_> {
    /// To be changed.
    pub(super) fn into_made(self) -> Box<MInst> {
        match self {
            Inst::Placed(i) => Box::new(i.clone()),
            Inst::Made(i) => i,
        }
    }
}

impl std::ops::Deref for Inst<'_> {
    type Target = MInst;
    fn deref(&self) -> &MInst {
        match self {
            Inst::Placed(i) => i,
            Inst::Made(i) => i,
        }
    }
}

impl From<MInst> for Inst<'_> {
    fn from(i: MInst) -> Self {
        Inst::Made(Box::new(i))
    }
}

/// An instruction with its encodings and what it touches.
#[derive(Clone, Debug)]
pub(super) struct Enc<'a> {
    pub(super) inst: Inst<'a>,
    pub(super) setting: Setting,
    pub(super) short: Option<Encoded>,
    /// The long form; found when it is wanted where there is a short one.
    pub(super) long: Option<Encoded>,
    pub(super) reads: Set,
    pub(super) writes: Set,
    pub(super) span: Span,
}

impl<'a> Enc<'a> {
    /// An instruction in the forms that take it; itself, if there is none.
    pub(super) fn new(inst: Inst<'a>, setting: Setting, span: Span) -> Result<Box<Enc<'a>>, Inst<'a>> {
        let short = encode(&inst, Shape::Short, &setting);
        let long = if short.is_none() { long(&inst, &setting) } else { None };
        if short.is_none() && long.is_none() {
            return Err(inst);
        }
        let (reads, writes) = touched(&inst, setting.a);
        Ok(Box::new(Enc { inst, setting, short, long, reads, writes, span }))
    }
    fn long(&self) -> Option<Encoded> {
        self.long.or_else(|| long(&self.inst, &self.setting))
    }
    pub(super) fn is_predicated(&self) -> bool {
        self.inst.pred.is_some()
    }
    /// Whether it can carry exit or join.
    fn carries(&self) -> bool {
        let takes = |w: Encoded| TABLE.form(w.form).ext.shape == Shape::Long && TABLE.position(w.form, field!(end)).is_some();
        !self.is_predicated() && self.long().is_some_and(takes)
    }
}

/// An instruction of eight bytes.
fn long(i: &MInst, s: &Setting) -> Option<Encoded> {
    [Shape::Long, Shape::Imm, Shape::Control].into_iter().find_map(|shape| encode(i, shape, s))
}

/// A `$c` by number, and what must hold of it.
pub(super) type Predicate = (u64, Cond);

/// A control instruction: its form, where it leads, its condition and the block whose branch it is.
#[derive(Clone, Debug)]
pub(super) struct Control {
    pub(super) form: FormId,
    pub(super) label: Option<Label>,
    pub(super) pred: Option<Predicate>,
    pub(super) branch: Option<Block>,
}

/// A piece of the program before layout.
#[derive(Clone, Debug)]
pub(super) enum Line<'a> {
    /// A label; whether threads join here.
    Label(Label),
    /// The next instruction carries a join.
    Join,
    Inst(Box<Enc<'a>>),
    Control(Control),
    Exit,
}

impl Line<'_> {
    /// Whether it is an instruction under a predicate.
    pub(super) fn is_predicated(&self) -> bool {
        matches!(self, Line::Inst(e) if e.is_predicated())
    }
}

/// The code in its final order.
struct Assembly {
    code: Layout<Syn, Span>,
    /// Where branches of blocks stand.
    branches: Vec<(Label, Block)>,
    pair: bool,
    /// See [`Code::alone`].
    alone: u32,
    /// See [`Code::bare_ends`].
    bare_ends: u32,
}

impl Assembly {
    /// An instruction in its long form, with an end.
    fn ending(&mut self, e: &Enc<'_>, end: End) -> Result<(), CompileError> {
        let Encoded { form, bits } = e.long().ok_or_else(no_form)?;
        let field = TABLE.position(form, field!(end)).and_then(|at| TABLE.form(form).fields().nth(at.0 as usize)).ok_or_else(no_form)?;
        self.code.push_encoded(form, u128::from(bits) | field.put(end as u64), e.span);
        Ok(())
    }
    /// Nothing but an end. A join must not run, it is where lanes meet.
    fn nop(&mut self, end: End) {
        let pred = if end == End::Join { Cond::Never } else { Cond::Always };
        self.code.push(word!(NOP { end: end, pred: pred }), Span::NONE);
    }
    fn control(&mut self, c: &Control) -> Result<(), CompileError> {
        let mut w = if c.form == BAR { word!(BAR { arrive: true, wait: true }) } else { Word::new(&FORMS, c.form, &[]) };
        if let Some((flags, code)) = c.pred {
            TABLE.set(&mut w, field!(pred), code).map_err(internal)?;
            TABLE.set(&mut w, field!(cc), flags).map_err(internal)?;
        }
        if let Some(block) = c.branch {
            let here = self.code.label();
            self.code.bind(here);
            self.branches.push((here, block));
        }
        match (c.label, TABLE.position(c.form, field!(target))) {
            (Some(to), Some(target)) => self.code.branch(w, Fixup::absolute(target, to, 4).relocated(), Span::NONE),
            _ => self.code.push(w, Span::NONE),
        }
        Ok(())
    }
}

fn internal(e: EncodeError) -> CompileError {
    CompileError::Internal(e.to_string())
}

/// Lines to bytes: straight runs are ordered and paired, labels resolved.
pub(super) fn layout(lines: &[Line<'_>], code: Layout<Syn, Span>, pair: bool) -> Result<Code, CompileError> {
    let mut out = Assembly { code, branches: Vec::new(), pair, alone: 0, bare_ends: 0 };
    // A branch of a block is named, two merges at one place and an end may need an instruction of their own.
    let more = lines.iter().filter(|l| matches!(l, Line::Control(_) | Line::Exit)).count();
    out.code.reserve(lines.len() + more + 1);
    let mut run: Vec<&Enc<'_>> = Vec::new();
    let mut join = false;
    // A program whose loop never ends ends nowhere, yet its code does.
    let endless = !lines.iter().any(|l| matches!(l, Line::Exit | Line::Control(Control { form: RET, pred: None, .. })));
    for line in lines {
        match line {
            Line::Inst(e) => run.push(e),
            Line::Label(l) => {
                flush_run(&mut run, &mut join, false, &mut out)?;
                out.code.bind(*l);
            }
            Line::Join => {
                if join {
                    // Two merges at one place: each needs its own instruction.
                    out.nop(End::Join);
                }
                join = true;
            }
            Line::Control(c) => {
                flush_run(&mut run, &mut join, false, &mut out)?;
                out.control(c)?;
            }
            Line::Exit => flush_run(&mut run, &mut join, true, &mut out)?,
        }
    }
    flush_run(&mut run, &mut join, endless, &mut out)?;
    let mut counts = [0; 3];
    let mut control = 0;
    for form in out.code.forms() {
        match TABLE.form(form).ext.shape {
            Shape::Short => counts[0] += 1,
            Shape::Long => counts[1] += 1,
            Shape::Imm => counts[2] += 1,
            Shape::Control => {
                counts[1] += 1;
                control += 1;
            }
        }
    }
    // A long instruction starts at a multiple of 8; the pairs of short ones see to it.
    let rule = Rule { align: |f| f.size.into(), filler: Filler::Never };
    let done = out.code.finish(&rule).map_err(|e| CompileError::layout("T0103", e))?;
    let branches = out.branches.iter().filter_map(|(at, block)| Some((done.offset(*at)?, *block))).collect();
    Ok(Code {
        branches,
        bytes: done.bytes,
        relocations: done.relocations.iter().map(|r| (r.at, r.target)).collect(),
        source_map: done.source_map.into_iter().filter(|(_, span)| !span.is_none()).collect(),
        counts,
        alone: out.alone,
        registers: 0,
        control,
        bare_ends: out.bare_ends,
    })
}

fn no_form() -> CompileError {
    CompileError::Internal("an instruction without a long form".to_string())
}

fn items(run: &[&Enc<'_>], pair: bool) -> Vec<Item> {
    let mut t = Tracker::new();
    run.iter().enumerate().map(|(n, e)| Item { short: pair && e.short.is_some(), after: t.next(n, e) }).collect()
}

/// An order of all but the first and the last instruction.
fn choose_between(all: &[Item], first: Option<usize>, last: Option<usize>) -> Choice {
    let keep: Vec<usize> = (0..all.len()).filter(|n| Some(*n) != first && Some(*n) != last).collect();
    let mut place = vec![None; all.len()];
    keep.iter().enumerate().for_each(|(k, n)| place[*n] = Some(k));
    let item = |n: &usize| Item { short: all[*n].short, after: all[*n].after.iter().filter_map(|a| place[*a]).collect() };
    let c = choose(&keep.iter().map(item).collect::<Vec<_>>(), 0);
    Choice { order: c.order.iter().map(|o| keep[*o]).collect(), ..c }
}

/// Ends a straight run: orders and pairs it, with a join on the first and an exit on the last instruction where wanted.
fn flush_run(run: &mut Vec<&Enc<'_>>, join: &mut bool, exit: bool, out: &mut Assembly) -> Result<(), CompileError> {
    let join = std::mem::take(join);
    if run.is_empty() && !join && !exit {
        return Ok(());
    }
    let all = items(run, out.pair);
    // Which instruction carries what: those without predecessors may stand first, without successors last. One that is
    // long anyway is best; in large runs nothing else is tried.
    let mut has_successor = vec![false; run.len()];
    all.iter().flat_map(|i| &i.after).for_each(|a| has_successor[*a] = true);
    let few = |found: Vec<usize>, most: usize| -> Vec<Option<usize>> {
        let free = found.iter().copied().find(|n| run[*n].short.is_none());
        let tried: Vec<usize> = match free {
            Some(n) if run.len() > EXACT => vec![n],
            _ => found.into_iter().take(if run.len() > EXACT { 1 } else { most }).collect(),
        };
        // An instruction of its own is never shorter, but one cannot carry both.
        let alone = tried.is_empty() || exit && join;
        tried.into_iter().map(Some).chain(alone.then_some(None)).collect()
    };
    // Whether one carries anything is asked last: its long form is built for it.
    let last = few((0..run.len()).rev().filter(|n| exit && !has_successor[*n] && run[*n].carries()).collect(), 6);
    let first = few((0..run.len()).filter(|n| join && all[*n].after.is_empty() && run[*n].carries()).collect(), 4);
    type Plan = (usize, Option<usize>, Vec<usize>, Vec<bool>, Option<usize>);
    let ends = 8 * (usize::from(exit) + usize::from(join));
    let shorts = all.iter().filter(|i| i.short).count();
    let mut best: Option<Plan> = None;
    for f in &first {
        for l in &last {
            if f.is_some() && f == l {
                continue;
            }
            // With all pairs that there could be.
            let carriers = [*f, *l].into_iter().flatten();
            let (left, left_short) = carriers.fold((all.len(), shorts), |(n, s), c| (n - 1, s - usize::from(all[c].short)));
            if best.as_ref().is_some_and(|b| b.0 <= 8 * (left - left_short / 2) + ends) {
                continue;
            }
            let c = if f.is_none() && l.is_none() { choose(&all, 0) } else { choose_between(&all, *f, *l) };
            let bytes = c.bytes() + ends;
            if best.as_ref().is_none_or(|b| bytes < b.0) {
                best = Some((bytes, *f, c.order, c.short, *l));
            }
        }
    }
    let Some((_, f, order, short, l)) = best else { return Err(CompileError::Internal("a run without an order".into())) };
    if join {
        match f {
            Some(n) => out.ending(run[n], End::Join)?,
            None => out.nop(End::Join),
        }
    }
    for (n, s) in order.iter().zip(&short) {
        let e = run[*n];
        out.alone += u32::from(e.short.is_some() && !*s);
        let Encoded { form, bits } = if *s { e.short } else { e.long() }.ok_or_else(no_form)?;
        out.code.push_encoded(form, bits.into(), e.span);
    }
    if exit {
        match l {
            Some(n) => out.ending(run[n], End::Exit)?,
            None => {
                out.bare_ends += u32::from(!run.is_empty());
                out.nop(End::Exit);
            }
        }
    }
    run.clear();
    Ok(())
}
