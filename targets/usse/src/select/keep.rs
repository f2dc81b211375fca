//! One KILL for a program that drops pixels in several places: p1 collects what keeps a pixel.
//!
//! ```text
//!     p1 = a                 p1 = a
//!     !p1 KILL               …
//!     …               →      p1: p1 = b
//!     p1 = b                 …
//!     !p1 KILL               !p1 KILL
//! ```
//!
//! Published programs have one KILL each, under `!p1`, at the end of the first phase. Here that is done where it takes no more words,
//! and in programs without loops: a pixel that is to be dropped might never leave one.

use super::mir::{Kind, MProgram, Mop, Pred};
use retroshade_ir::Span;

const KEEPS: u8 = 1;

/// Where a pixel is dropped: block, the operations that decide it, KILL the last of them.
struct Site {
    block: usize,
    first: usize,
    kill: usize,
    shape: Shape,
}

/// How a site joins those before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Tests for p1, each under the one before: the first goes under p1, too, and nothing takes KILL's place.
    All,
    /// Tests for p1 in another order: they are made for p0, which then clears p1.
    Own,
    /// Another predicate, or none: under it, p1 is cleared.
    Other(Option<Pred>),
}

/// The predicates that an operation names.
fn names(op: &Mop) -> Vec<u8> {
    let own = match op.kind {
        Kind::Test(_, _, p) | Kind::SetPred(p, _) => Some(p),
        Kind::Select((p, _)) | Kind::Kill(Some((p, _))) | Kind::Branch(_, Some((p, _))) => Some(p),
        _ => None,
    };
    own.into_iter().chain(op.pred.map(|p| p.0)).collect()
}

/// The tests for p1 that lead up to a KILL under `!p1`.
fn tests(ops: &[Mop], kill: usize) -> Option<(usize, Shape)> {
    let (mut shape, mut at) = (Shape::All, kill);
    while at > 0 {
        at -= 1;
        let op = &ops[at];
        if !names(op).contains(&KEEPS) {
            continue;
        }
        match (&op.kind, op.pred) {
            (Kind::Test(_, _, KEEPS), None) => return Some((at, shape)),
            (Kind::Test(_, _, KEEPS), Some((KEEPS, false))) => {}
            (Kind::Test(_, _, KEEPS), Some(_)) => shape = Shape::Own,
            _ => return None,
        }
    }
    None
}

fn site(ops: &[Mop], block: usize, kill: usize) -> Option<Site> {
    let Kind::Kill(pred) = ops[kill].kind else { return None };
    let (first, shape) = match pred {
        Some((KEEPS, true)) => tests(ops, kill)?,
        Some((KEEPS, false)) => return None,
        other => (kill, Shape::Other(other)),
    };
    Some(Site { block, first, kill, shape })
}

/// The places where a program drops pixels, if nothing else in it needs p1 and it has no loop.
fn sites(p: &MProgram) -> Option<Vec<Site>> {
    let mut out = Vec::new();
    let mut named = 0;
    for (n, b) in p.blocks.iter().enumerate() {
        if b.succs.iter().any(|to| *to <= n) {
            return None;
        }
        named += b.ops.iter().filter(|op| names(op).contains(&KEEPS)).count();
        for kill in (0..b.ops.len()).filter(|k| matches!(b.ops[*k].kind, Kind::Kill(_))) {
            out.push(site(&b.ops, n, kill)?);
        }
    }
    let own = |s: &Site| p.blocks[s.block].ops[s.first..=s.kill].iter().filter(|op| names(op).contains(&KEEPS)).count();
    // Ranges of one block do not overlap: each begins with a test of its own.
    (out.iter().map(own).sum::<usize>() == named).then_some(out)
}

/// Collects the conditions of a program in p1 where that takes no more words.
pub fn collect(p: &mut MProgram) {
    let Some(sites) = sites(p).filter(|s| s.len() > 1) else { return };
    let find = |kind: &dyn Fn(&Kind) -> bool| {
        p.blocks.iter().enumerate().find_map(|(n, b)| b.ops.iter().position(|op| kind(&op.kind)).map(|at| (n, at)))
    };
    let Some(end) = find(&|k| *k == Kind::Depth).or_else(|| find(&|k| *k == Kind::EndPhase)) else { return };
    // What every pixel comes to first says what keeps it; else all are kept to begin with.
    let starts = sites[0].block == 0 && !matches!(sites[0].shape, Shape::Other(_));
    let mixed = |s: &Site| p.blocks[s.block].ops[s.first..=s.kill].iter().any(|op| names(op).contains(&0));
    let later = &sites[starts as usize..];
    if later.iter().any(|s| s.shape == Shape::Own && mixed(s)) {
        return;
    }
    let saved = starts as usize + later.iter().filter(|s| s.shape == Shape::All).count();
    if saved < 1 + !starts as usize {
        return;
    }
    // From the end, so that places stay what they are.
    let kill = Mop::new(Kind::Kill(Some((KEEPS, true))), None, Vec::new(), Span::NONE);
    p.blocks[end.0].ops.insert(end.1, kill);
    for (n, s) in sites.iter().enumerate().rev() {
        let ops = &mut p.blocks[s.block].ops;
        let mut clear = Mop::new(Kind::SetPred(KEEPS, false), None, Vec::new(), ops[s.kill].span);
        match s.shape {
            _ if n == 0 && starts => drop(ops.remove(s.kill)),
            Shape::All => {
                ops[s.first].pred = Some((KEEPS, false));
                ops.remove(s.kill);
            }
            Shape::Own => {
                for op in &mut ops[s.first..s.kill] {
                    if let Kind::Test(_, _, to) = &mut op.kind {
                        *to = 0;
                        op.pred = op.pred.map(|q| (0, q.1));
                    }
                }
                clear.pred = Some((0, true));
                ops[s.kill] = clear;
            }
            Shape::Other(pred) => {
                clear.pred = pred;
                ops[s.kill] = clear;
            }
        }
    }
    if !starts {
        p.blocks[0].ops.insert(0, Mop::new(Kind::SetPred(KEEPS, true), None, Vec::new(), Span::NONE));
    }
}
