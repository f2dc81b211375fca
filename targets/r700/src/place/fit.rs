//! Schedule and allocation together: operations that fit no group get room. Where the registers do not suffice, the code is
//! scheduled in short pieces in an order that keeps little alive, and values that still fit no register go to scratch memory.

use super::deps::Numbering;
use super::estimate::{Estimate, Rival};
use super::liveness::of_operations;
use super::sched::{Around, Stuck, schedule};
use super::spill::{choose, in_order, in_source_order, spill};
use super::{AllocError, Leaf, Placement, allocate};
use crate::abi::MAX_GPRS;
use crate::isa::forms::op2;
use crate::select::mir::*;
use retroshade_lower::CompileError;
use std::collections::BTreeSet;

/// Channels of all registers, and the live values at which attempts to spill end.
const CHANNELS: u32 = 4 * MAX_GPRS as u32;
const SPILL_TO: u32 = 40;

/// Whether a failure may vanish with less coalescing.
pub enum Retry {
    /// It may.
    Yes(CompileError),
    /// It will not.
    No(CompileError),
    /// The code is no better than what there is.
    NoBetter,
}

impl Retry {
    /// As an error of the whole.
    pub fn error(self) -> CompileError {
        match self {
            Retry::Yes(e) | Retry::No(e) => e,
            Retry::NoBetter => CompileError::Internal("no better than another way".to_string()),
        }
    }
}

impl From<AllocError> for Retry {
    fn from(e: AllocError) -> Retry {
        match e {
            AllocError::Limit(e) => Retry::No(e),
            AllocError::Quad => Retry::Yes(CompileError::Internal("two lanes of one register overlap".to_string())),
        }
    }
}

/// How many live values the next attempt leaves.
fn fewer(most: u32) -> u32 {
    most * 7 / 8
}

/// A program with its schedule and registers.
type Fitted = (Mir, Vec<Leaf>, Placement);

/// Schedules and allocates; where the registers do not suffice, in pieces with more and more values in scratch memory, first in an
/// order that keeps little alive. Code that is no better than `than` gets no registers, nor does what comes of going on from schedules
/// `from` another search of the same code if it finds nothing better.
pub fn fit(mir: &Mir, effort: u64, reserved: u8, than: Option<Rival>, from: Option<&[Leaf]>) -> Result<Fitted, Retry> {
    let mut error = match once(mir.clone(), effort, reserved, than, from, false)? {
        Ok(done) => return Ok(done),
        Err(e) => e,
    };
    for base in [in_order(mir), Some(in_source_order(mir))].into_iter().flatten() {
        // Pieces alone may do.
        let mut most = CHANNELS;
        let mut webs = choose(&base, most);
        while most >= SPILL_TO {
            match once(spill(&base, &webs), effort, reserved, than, None, true)? {
                Ok(done) => return Ok(done),
                Err(e) => error = e,
            }
            // What the order of the program does not keep alive a schedule may.
            most = fewer(most);
            webs = choose(&base, most);
            while webs.is_empty() && most >= SPILL_TO {
                most = fewer(most);
                webs = choose(&base, most);
            }
        }
    }
    // With less coalescing fewer values are tied to others in registers.
    Err(Retry::Yes(error))
}

/// One attempt; the inner error says that registers do not suffice.
fn once(
    mut code: Mir,
    effort: u64,
    reserved: u8,
    than: Option<Rival>,
    from: Option<&[Leaf]>,
    crowded: bool,
) -> Result<Result<Fitted, CompileError>, Retry> {
    let scheduled = schedule_all(&mut code, effort, from, crowded)?.ok_or(Retry::NoBetter)?;
    if than.is_some_and(|than| than.beats(Estimate::of(&code.steps, &scheduled))) {
        return Err(Retry::NoBetter);
    }
    let place = allocate(&code, &code.steps, &scheduled, reserved).map_err(Retry::from);
    match place.and_then(|p| define_undefined(code, scheduled, p, effort, reserved, crowded)) {
        Err(Retry::No(e)) => Ok(Err(e)),
        done => done.map(Ok),
    }
}

/// Webs that some path leaves undefined start as 0, as the IR says of outputs that are never written.
fn define_undefined(
    mut mir: Mir,
    scheduled: Vec<Leaf>,
    place: Placement,
    effort: u64,
    reserved: u8,
    crowded: bool,
) -> Result<Fitted, Retry> {
    if place.undefined.is_empty() {
        return Ok((mir, scheduled, place));
    }
    let mut first: Vec<Op> = place.undefined.iter().map(|w| Op::alu(op2::MOV, &[Opnd::bits(0)], Some(*w))).collect();
    match mir.steps.first_mut() {
        Some(Step::Code(c)) => {
            first.append(c);
            *c = first;
        }
        _ => mir.steps.insert(0, Step::Code(first)),
    }
    for info in &mut mir.webs {
        if !info.settled {
            info.chan = None;
        }
    }
    let mut scheduled = schedule_all(&mut mir, effort, None, crowded)?.ok_or(Retry::NoBetter)?;
    scheduled.iter_mut().for_each(|l| l.search = None);
    let place = allocate(&mir, &mir.steps, &scheduled, reserved)?;
    Ok((mir, scheduled, place))
}

/// Schedules every piece of code; operations that fit nowhere get their operands moved to other channels. Where registers do not
/// suffice channels share all that lives evenly. None where going on `from` other schedules finds nothing better.
fn schedule_all(mir: &mut Mir, effort: u64, from: Option<&[Leaf]>, crowded: bool) -> Result<Option<Vec<Leaf>>, Retry> {
    for info in &mut mir.webs {
        info.settled = info.chan.is_some();
    }
    let total: usize = leaves(&mir.steps).iter().map(|l| l.len()).sum();
    // Pieces share the tries by their length; each is scheduled once at least.
    let share = |n: usize| effort * n as u64 / total.max(1) as u64;
    let mut out: Vec<Leaf> = Vec::new();
    let mut names = Numbering::default();
    let code: Vec<Vec<Op>> = leaves(&mir.steps).into_iter().cloned().collect();
    let live = crowded.then(|| of_operations(&mir.steps, mir.webs.len()));
    // Channels that one piece settles the next ones find: those behind a new schedule are searched from the beginning.
    let mut known = from;
    for (k, ops) in code.into_iter().enumerate() {
        let mut ops = ops;
        let mut rounds = 0;
        // Every round adds moves, so the bound must not grow with them.
        let most = 24 + ops.len().min(40);
        loop {
            let around = live.as_ref().map(|l| around(mir, &ops, l.live.end[l.blocks[k]].ones()));
            let same = known.map(|leaves| &leaves[k]).filter(|l| l.search.is_some());
            let leaf = match schedule(&ops, mir, share(ops.len()), around.as_ref(), &mut names, same.and_then(|l| l.search.as_ref())) {
                Ok(None) => same.cloned(),
                Ok(Some((items, search))) => {
                    known = None;
                    Some(Leaf { ops: std::mem::take(&mut ops), items, search: Some(search) })
                }
                Err(Stuck::Op(i)) => {
                    rounds += 1;
                    if rounds > most {
                        return Err(Retry::Yes(CompileError::Internal(format!("`{}` fits no instruction group", ops[i].name()))));
                    }
                    spread(mir, k, i);
                    ops = leaves(&mir.steps)[k].clone();
                    continue;
                }
            };
            let mut leaf = leaf.unwrap_or_default();
            for (w, c) in leaf.search.iter().flat_map(|s| &s.chan) {
                mir.webs[w.0 as usize].chan = Some(*c);
            }
            leaf.search = leaf.search.filter(|_| rounds == 0 && !crowded);
            out.push(leaf);
            break;
        }
    }
    Ok((from.is_none() || known.is_none()).then_some(out))
}

/// What lives around a piece of code behind which all these webs live.
fn around(mir: &Mir, ops: &[Op], behind: impl Iterator<Item = usize>) -> Around {
    let named: BTreeSet<Web> = ops.iter().flat_map(|o| o.reads().into_iter().chain(o.writes())).collect();
    let mut out = Around::default();
    for w in behind.map(|w| Web(w as u32)) {
        if named.contains(&w) {
            out.behind.insert(w);
        } else if let Some(c) = mir.webs[w.0 as usize].chan {
            out.through[c as usize & 3] += 1;
        }
    }
    out
}

/// Moves an operation's register operands to channels of their own.
fn spread(mir: &mut Mir, leaf: usize, i: usize) {
    let mut ops = leaves(&mir.steps)[leaf].clone();
    let reduce = ops[i].kind == Kind::Reduce;
    let mut moves = Vec::new();
    for k in 0..ops[i].src.len() {
        let s = ops[i].src[k];
        if s.as_web().is_some() {
            let w = mir.web();
            mir.webs[w.0 as usize].chan = Some(if reduce { k as u8 / 2 } else { k as u8 });
            mir.webs[w.0 as usize].settled = true;
            moves.push(Op::alu(op2::MOV, &[Opnd { place: s.place, neg: false, abs: false }], Some(w)));
            ops[i].src[k].place = Place::Web(w);
        }
    }
    ops.splice(i..i, moves);
    let mut n = 0;
    each_leaf(&mut mir.steps, &mut |l| {
        if n == leaf {
            *l = ops.clone();
        }
        n += 1;
    });
}
