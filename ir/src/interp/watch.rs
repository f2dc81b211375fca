//! What a program decides while it runs, and how near it came to deciding otherwise.
//!
//! Four operations choose: a branch and a `switch` choose a target, `select` an operand for each truth value, `discard` whether to drop.
//! A [`Watch`] knows of each [`Outcome`] whether it came about; of those that did not, by how much the numbers would have to differ that are
//! compared on the way to the choice, so that a search for inputs can approach it.

use super::ops::Word4;
use crate::entities::*;
use crate::function::{Function, ValueDef};
use crate::inst::{FloatCC, Imm, IntCC};
use crate::module::Module;
use crate::numerics::to_f32;
use crate::opcode::Opcode;
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// One way in which an instruction may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The function.
    pub func: FuncId,
    /// The instruction.
    pub inst: Inst,
    /// The target's number. Of `discard` 0 where it drops and 1 where not; of lane n of a `select` 2n for the first operand and 2n + 1 for
    /// the second.
    pub which: u32,
}

/// How near an outcome came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// 0 where it came about, and infinite where nobody had the choice.
    pub distance: f64,
    /// The invocation that came so near, by its number in the environment.
    pub invocation: u32,
}

const NEVER: Nearest = Nearest { distance: f64::INFINITY, invocation: 0 };
/// Numbers that miss by nothing a machine can show, that are further apart than any, and of which nothing is known.
const LEAST: f64 = 1e-30;
const FAR: f64 = 1e30;
const UNKNOWN: f64 = 1.0;
/// Truth values that are looked through on the way to what is compared.
const DEPTH: u32 = 6;

/// The outcomes of a module.
#[derive(Debug)]
struct Outcomes {
    all: Vec<Outcome>,
    /// Where those of each instruction begin.
    first: SecondaryMap<FuncId, SecondaryMap<Inst, u32>>,
}

/// What was decided in the runs that it watched.
#[derive(Clone, Debug)]
pub struct Watch {
    outcomes: Arc<Outcomes>,
    nearest: Vec<Nearest>,
    /// Instructions that the runs executed.
    pub steps: u64,
}

impl Watch {
    /// A watch of a module that has not run yet.
    pub fn new(module: &Module) -> Watch {
        let mut first: SecondaryMap<_, SecondaryMap<_, _>> = SecondaryMap::new();
        let mut all = Vec::new();
        for (func, f) in module.functions.iter() {
            for (_, inst) in f.ordered() {
                first[func][inst] = all.len() as u32;
                all.extend((0..choices(f, inst)).map(|which| Outcome { func, inst, which }));
            }
        }
        let nearest = vec![NEVER; all.len()];
        Watch { outcomes: Arc::new(Outcomes { all, first }), nearest, steps: 0 }
    }
    /// A watch for another run, which takes nothing for granted.
    pub fn anew(&self) -> Watch {
        Watch { outcomes: self.outcomes.clone(), nearest: vec![NEVER; self.nearest.len()], steps: 0 }
    }
    /// A watch for another run, which takes what came about in this one for granted.
    pub fn next(&self) -> Watch {
        let nearest = self.nearest.iter().map(|n| if n.distance == 0.0 { *n } else { NEVER }).collect();
        Watch { outcomes: self.outcomes.clone(), nearest, steps: 0 }
    }
    /// Whether something came about here that did not in another watch of the module.
    pub fn adds_to(&self, other: &Watch) -> bool {
        self.nearest.iter().zip(&other.nearest).any(|(mine, theirs)| mine.distance == 0.0 && theirs.distance > 0.0)
    }
    /// Takes in what another watch of the module saw.
    pub fn absorb(&mut self, other: &Watch) {
        for (mine, theirs) in self.nearest.iter_mut().zip(&other.nearest) {
            if theirs.distance < mine.distance {
                *mine = *theirs;
            }
        }
        self.steps += other.steps;
    }
    /// Takes all that was noted for that of one invocation.
    pub fn renumber(&mut self, invocation: u32) {
        self.nearest.iter_mut().for_each(|n| n.invocation = invocation);
    }
    /// All outcomes in the order of the code, and how near they came.
    pub fn outcomes(&self) -> impl ExactSizeIterator<Item = (Outcome, Nearest)> + '_ {
        self.outcomes.all.iter().copied().zip(self.nearest.iter().copied())
    }
    /// How near the outcome came that is number `n` of all.
    pub fn nearest(&self, n: usize) -> Nearest {
        self.nearest.get(n).copied().unwrap_or(NEVER)
    }
    /// Whether a run came to the instruction that has outcome number `n`.
    pub fn came_to(&self, n: usize) -> bool {
        let Some(of) = self.outcomes.all.get(n) else { return false };
        let first = self.outcomes.first[of.func][of.inst] as usize;
        let mut same = self.outcomes().skip(first).take_while(|(o, _)| (o.func, o.inst) == (of.func, of.inst));
        same.any(|(_, near)| near.distance == 0.0)
    }
    /// How many outcomes came about.
    pub fn reached(&self) -> usize {
        self.nearest.iter().filter(|n| n.distance == 0.0).count()
    }
    /// The blocks of a function that no run entered, in order.
    pub fn unreached_blocks(&self, module: &Module, func: FuncId) -> Vec<Block> {
        let f = &module.functions[func];
        let mut seen: EntitySet<Block> = EntitySet::new();
        let mut todo: Vec<Block> = f.entry().into_iter().collect();
        while let Some(b) = todo.pop() {
            let Some(last) = f.blocks[b].insts.last().filter(|_| seen.insert(b)) else { continue };
            let chosen = |k: usize| choices(f, *last) == 0 || self.nearest(self.outcomes.first[func][*last] as usize + k).distance == 0.0;
            let targets = f.insts[*last].targets.iter().enumerate();
            todo.extend(targets.filter(|(k, _)| chosen(*k)).map(|(_, t)| t.block));
        }
        f.layout.iter().copied().filter(|b| !seen.contains(*b)).collect()
    }

    /// Notes a choice: `distance` says of other outcomes how far they were.
    pub(super) fn decide(&mut self, func: FuncId, inst: Inst, taken: Choice, invocation: u32, distance: &dyn Fn(u32) -> f64) {
        let first = self.outcomes.first[func][inst];
        for which in taken.among {
            let Some(near) = self.nearest.get_mut((first + which) as usize).filter(|n| n.distance > 0.0) else { continue };
            let d = if which == taken.which { 0.0 } else { distance(which).max(LEAST) };
            if d < near.distance {
                *near = Nearest { distance: d, invocation };
            }
        }
    }
}

/// The outcome that came about, and those among which it was chosen.
pub(super) struct Choice {
    pub which: u32,
    pub among: std::ops::Range<u32>,
}

/// How many outcomes an instruction has; 0 where it chooses nothing.
fn choices(f: &Function, inst: Inst) -> u32 {
    let d = &f.insts[inst];
    match d.op {
        Opcode::BrIf | Opcode::Switch => d.targets.len() as u32,
        Opcode::Discard => 2,
        Opcode::Select => 2 * d.args.first().map_or(1, |c| u32::from(f.ty(*c).lanes)),
        _ => 0,
    }
}

/// Registers of an invocation, as the distance of a choice is computed from them.
pub(super) struct Regs<'a> {
    pub f: &'a Function,
    pub read: &'a dyn Fn(Value) -> Word4,
}

impl Regs<'_> {
    /// How far a truth value is from being `want`.
    pub fn distance(&self, v: Value, lane: usize, want: bool) -> f64 {
        self.within(v, lane, want, DEPTH)
    }

    fn word(&self, v: Value, lane: usize) -> u32 {
        (self.read)(v).get(lane).copied().unwrap_or(0)
    }

    fn within(&self, v: Value, lane: usize, want: bool, depth: u32) -> f64 {
        let is = self.word(v, lane) & 1 == 1;
        if is == want {
            return 0.0;
        }
        let ValueDef::Result(i, _) = self.f.def(v) else { return UNKNOWN };
        let d = &self.f.insts[i];
        let Some(depth) = depth.checked_sub(1) else { return UNKNOWN };
        let of = |n: usize, lane: usize, want: bool| d.args.get(n).map_or(UNKNOWN, |v| self.within(*v, lane, want, depth));
        match (d.op, &d.imm) {
            (Opcode::Inot, _) => of(0, lane, !want),
            (Opcode::Iand | Opcode::Ior, _) if (d.op == Opcode::Iand) == want => of(0, lane, want) + of(1, lane, want),
            (Opcode::Iand | Opcode::Ior, _) => of(0, lane, want).min(of(1, lane, want)),
            (Opcode::Ixor, _) => {
                let flipped = |n: usize| d.args.get(n).map_or(UNKNOWN, |v| of(n, lane, self.word(*v, lane) & 1 == 0));
                flipped(0).min(flipped(1))
            }
            (Opcode::Select, _) => {
                let arms =
                    [true, false].map(|c| of(0, self.condition_lane(d.args.first(), lane), c) + of(if c { 1 } else { 2 }, lane, want));
                arms[0].min(arms[1])
            }
            (Opcode::Any | Opcode::All, _) => {
                let lanes = d.args.first().map_or(1, |v| usize::from(self.f.ty(*v).lanes));
                let each = (0..lanes).map(|l| of(0, l, want));
                if (d.op == Opcode::All) == want { each.sum() } else { each.fold(FAR, f64::min) }
            }
            (Opcode::Extract, Imm::Lane(l)) => of(0, usize::from(*l), want),
            (Opcode::Splat, _) => of(0, 0, want),
            (Opcode::Build, _) => of(lane, 0, want),
            (Opcode::Fcmp, Imm::FloatCC(cc)) => {
                let ty = d.args.first().map_or(crate::types::Scalar::F32, |v| self.f.ty(*v).scalar);
                let cc = if want { *cc } else { cc.inverse() };
                self.compare(&d.args, lane, depth, &|a, b| floats_apart(cc, to_f32(ty, a), to_f32(ty, b)))
            }
            (Opcode::Icmp, Imm::IntCC(cc)) => {
                let cc = if want { *cc } else { cc.inverse() };
                self.compare(&d.args, lane, depth, &|a, b| integers_apart(cc, a, b))
            }
            _ => UNKNOWN,
        }
    }

    /// Where a `select`'s truth value for a lane is: one may choose for all.
    fn condition_lane(&self, condition: Option<&Value>, lane: usize) -> usize {
        if condition.is_some_and(|c| self.f.ty(*c).lanes > 1) { lane } else { 0 }
    }

    /// How far two compared numbers are from the wanted relation. Either may itself be chosen of two.
    fn compare(&self, args: &[Value], lane: usize, depth: u32, apart: &dyn Fn(u32, u32) -> f64) -> f64 {
        let numbers = |n: usize| -> SmallVec<[(f64, u32); 2]> {
            let Some(v) = args.get(n) else { return SmallVec::new() };
            let d = match self.f.def(*v) {
                ValueDef::Result(i, _) => &self.f.insts[i],
                _ => return smallvec![(0.0, self.word(*v, lane))],
            };
            match (d.op, d.args.as_slice()) {
                (Opcode::Select, [c, a, b]) => {
                    let l = self.condition_lane(Some(c), lane);
                    [(true, a), (false, b)].map(|(want, x)| (self.within(*c, l, want, depth), self.word(*x, lane))).into()
                }
                _ => smallvec![(0.0, self.word(*v, lane))],
            }
        };
        let (left, right) = (numbers(0), numbers(1));
        let all = left.iter().flat_map(|(far, a)| right.iter().map(move |(off, b)| far + off + apart(*a, *b)));
        all.fold(FAR, f64::min)
    }
}

fn floats_apart(cc: FloatCC, a: f32, b: f32) -> f64 {
    use FloatCC::*;
    if cc.eval(a, b) {
        return 0.0;
    }
    let (x, y) = (f64::from(a), f64::from(b));
    let d = match cc {
        Oeq | Ueq => (x - y).abs(),
        Olt | Ult | Ole | Ule => x - y,
        Ogt | Ugt | Oge | Uge => y - x,
        One | Une | Ord | Uno => UNKNOWN,
    };
    if d.is_finite() { d.clamp(LEAST, FAR) } else { FAR }
}

fn integers_apart(cc: IntCC, a: u32, b: u32) -> f64 {
    use IntCC::*;
    if cc.eval(a, b) {
        return 0.0;
    }
    let (signed, unsigned) = (f64::from(a as i32) - f64::from(b as i32), f64::from(a) - f64::from(b));
    match cc {
        Eq => signed.abs(),
        Ne => UNKNOWN,
        Slt | Sle => signed + UNKNOWN,
        Sgt | Sge => UNKNOWN - signed,
        Ult | Ule => unsigned + UNKNOWN,
        Ugt | Uge => UNKNOWN - unsigned,
    }
}

/// How far a `switch` is from a target: the last is taken where no case fits.
pub(super) fn from_case(cases: &[u32], x: u32, which: u32) -> f64 {
    cases.get(which as usize).map_or(UNKNOWN, |c| integers_apart(IntCC::Eq, x, *c))
}

#[cfg(test)]
mod tests {
    use crate::env::{InvocationInputs, ShaderEnv};
    use crate::interp::{Limits, Watch, run_watched};
    use crate::{Reference, parse};

    /// The outcomes that one invocation with these inputs leaves unreached: (which, distance).
    fn open(text: &str, inputs: &[u32]) -> Vec<(u32, f64)> {
        let m = parse("watch.ir", text).unwrap();
        let invocation = InvocationInputs { inputs: inputs.iter().map(|w| vec![*w]).collect() };
        let env = ShaderEnv { invocations: vec![invocation], ..ShaderEnv::default() };
        let mut watch = Watch::new(&m);
        run_watched(&m, &env, &Reference, &Limits::default(), &mut watch).unwrap();
        watch.outcomes().filter(|(_, n)| n.distance > 0.0).map(|(o, n)| (o.which, n.distance)).collect()
    }

    #[test]
    fn distances_are_those_of_what_is_compared() {
        let program = |body: &str| {
            format!(
                "shader vertex \"watch\"\ninput %a : f32 @location(0)\ninput %n : i32 @location(1)\noutput %o : f32 @location(0)\nblock0:\n    \
                 v0 = input.f32 %a\n    v1 = input.i32 %n\n    v2 = fconst.f32 2.0\n    v3 = iconst.i32 7\n{body}"
            )
        };
        let ends = "block1:\n    output %o, v2\n    return\nblock2:\n    output %o, v0\n    return\n";
        let branch = |condition: &str| program(&format!("{condition}    br_if v9, block1, block2\n{ends}"));
        let inputs = [5.0f32.to_bits(), 4];
        for (condition, which, distance) in [
            ("    v9 = fcmp olt v0, v2\n", 0, 3.0),
            ("    v9 = fcmp ogt v0, v2\n", 1, 3.0),
            ("    v9 = fcmp oeq v0, v2\n", 0, 3.0),
            ("    v9 = icmp eq v1, v3\n", 0, 3.0),
            ("    v9 = icmp sge v1, v3\n", 0, 4.0),
            ("    v4 = fcmp olt v0, v2\n    v5 = icmp eq v1, v3\n    v9 = and v4, v5\n", 0, 6.0),
            ("    v4 = fcmp olt v0, v2\n    v5 = icmp sge v1, v3\n    v9 = or v4, v5\n", 0, 3.0),
            ("    v4 = fcmp ogt v0, v2\n    v5 = icmp slt v1, v3\n    v9 = and v4, v5\n", 1, 3.0),
            ("    v4 = fcmp ogt v0, v2\n    v5 = icmp slt v1, v3\n    v9 = or v4, v5\n", 1, 7.0),
            ("    v4 = fcmp olt v0, v2\n    v9 = not v4\n", 1, 3.0),
        ] {
            assert_eq!(open(&branch(condition), &inputs), [(which, distance)], "{condition}");
        }
        let switch = program(&format!("    switch v1, [1: block1, 7: block1], block2\n{ends}"));
        assert_eq!(open(&switch, &inputs), [(0, 3.0), (1, 3.0)]);
    }

    #[test]
    fn blocks_behind_an_outcome_that_did_not_come_about_are_not_reached() {
        let m = parse(
            "watch.ir",
            "shader vertex \"watch\"\ninput %a : f32 @location(0)\noutput %o : f32 @location(0)\nblock0:\n    v0 = input.f32 %a\n    \
             v1 = fconst.f32 0.0\n    v2 = fcmp olt v0, v1\n    br_if v2, block1, block2\nblock1:\n    jump block3\nblock3:\n    jump block2\n\
             block2:\n    output %o, v0\n    return\n",
        )
        .unwrap();
        let mut watch = Watch::new(&m);
        let run = |watch: &mut Watch, x: f32| {
            let invocation = InvocationInputs { inputs: vec![vec![x.to_bits()]] };
            let env = ShaderEnv { invocations: vec![invocation], ..ShaderEnv::default() };
            run_watched(&m, &env, &Reference, &Limits::default(), watch).unwrap();
        };
        run(&mut watch, 1.0);
        assert_eq!((watch.reached(), watch.unreached_blocks(&m, m.entry).len()), (1, 2));
        // Another run knows what came about, and nothing of what only came near.
        let known: Vec<f64> = watch.next().outcomes().map(|(_, n)| n.distance).collect();
        assert_eq!(known, [f64::INFINITY, 0.0]);
        run(&mut watch, -1.0);
        assert_eq!((watch.reached(), watch.unreached_blocks(&m, m.entry).len()), (2, 0));
    }
}
