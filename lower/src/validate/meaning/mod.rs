//! What finished code means: its decoded bytes run on the machine's simulator, the legalised IR on the interpreter, and both must leave the same.
//!
//! ```text
//!   constants of the program ─▶ inputs ─▶ legalised IR ─interpreter─▶ expected
//!                                  └────▶ container bytes ─simulator─▶ got = expected, bit for bit
//! ```
//! A wrong register that happens to hold something breaks none of the rules that [`validate`](super::validate) follows; here it shows as another
//! value. The same program is always run on the same inputs, and no longer than a bound that grows with the program. What the IR leaves open
//! is never held against the code: when results differ, the interpreter runs again under [`Limits::closed`], and inputs on which it then stops
//! prove nothing.

mod detours;
pub(crate) mod inputs;
mod origins;
pub(crate) mod same;
mod search;

use crate::course::{BranchOrder, Turns};
use crate::isa::{CompiledShader, SimError, Simulator, TargetIsa, in_orders};
use detours::Branches;
use inputs::Inputs;
use origins::Ways;
use retroshade_ir::interp::{Branch, Detour, InterpError, Limits, Nearest, Outcome, Watch, needs_quads, run_detour};
use retroshade_ir::{Block, Cancel, Function, Module, Numerics, Opcode, ShaderEnv, Span, Stage};
use same::{same_results, shows_nan};
use search::Search;

/// Steps of the interpreter that a set may take, so that loops come round; and further ones for each instruction of the program.
const STEPS: u64 = 8_000;
const STEPS_EACH: u64 = 32;
/// Sets' worth of steps for all runs on which branches are turned.
const DETOURS: u64 = 4;

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Sets of inputs that a program is run on in any case. A large workgroup runs whole on one set more, on the others a few of its
    /// invocations alone.
    pub sets: u64,
    /// Steps of the interpreter in search of further sets, for each instruction of the program.
    pub search: u64,
    /// The most runs on which branches are turned.
    pub detours: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { sets: 6, search: 25, detours: 24 }
    }
}

/// How much of a program was seen, on inputs on which code and IR were compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Sets of inputs.
    pub sets: u64,
    /// Runs on which branches were turned.
    pub detours: u64,
    /// Blocks of the legalised IR.
    pub blocks: usize,
    /// Where those begin that no invocation entered.
    pub unreached: Vec<Span>,
    /// Outcomes of its branches, `switch`, `select` and `discard`.
    pub outcomes: usize,
    /// Those that came about.
    pub outcomes_reached: usize,
    /// Of these, the ones that only came about where branches were turned.
    pub outcomes_turned: usize,
}

/// Runs a compiled shader and its legalised IR on chosen inputs, and says how much of it they reach. The error says what differs first. Sets
/// on which the program runs for too long or does what the IR leaves open are passed over.
pub fn check<T: TargetIsa + ?Sized>(isa: &T, shader: &CompiledShader, cancel: &Cancel) -> Result<Seen, String> {
    check_with(isa, shader, Effort::default(), cancel)
}

/// As [`check`], with more or less effort.
pub fn check_with<T: TargetIsa + ?Sized>(isa: &T, shader: &CompiledShader, effort: Effort, cancel: &Cancel) -> Result<Seen, String> {
    let mut legal = shader.legal.clone();
    legal.functions.values_mut().for_each(Function::resolve_aliases);
    let size: u64 = legal.functions.values().map(|f| f.inst_count() as u64).sum();
    let branches = legal.functions.values().any(|f| f.layout.len() > 1);
    let code = match isa.simulator(shader) {
        Ok(code) => code,
        Err(SimError::BadEnv(_)) => return Ok(Seen::default()),
        Err(e) => return Err(format!("the code does not run: {e}")),
    };
    let mut beside = Beside {
        legal: &legal,
        num: isa.numerics(),
        limits: Limits { total: STEPS + STEPS_EACH * size, ..Limits::default() },
        code,
        orders: if branches { isa.branch_orders() } else { &[BranchOrder::Next] },
        branches: &shader.branches,
        seen: Watch::new(&legal),
        sets: 0,
        detours: 0,
    };
    let inputs = Inputs::new(&legal);
    let mut tried = Vec::new();
    let chosen = beside.limits;
    let long = Limits { total: chosen.total * effort.sets, ..chosen };
    if let Some(env) = inputs.whole() {
        beside.limits = long;
        beside.inputs(&env, false).map_err(|e| format!("on a whole workgroup, {e}"))?;
        beside.limits = chosen;
    }
    for n in 0..effort.sets {
        if cancel.is_set() {
            break;
        }
        let env = inputs.environment(n);
        if let Some(watch) = beside.inputs(&env, false).map_err(|e| format!("on inputs {n}, {e}"))? {
            tried.push((env, watch));
        }
    }
    // It may only take long: once for all, and then for one of a workgroup's invocations.
    for invocations in [usize::MAX, 1] {
        let mut env = inputs.environment(0);
        let again = invocations == 1 && env.threads.is_empty();
        if again || beside.sets > 0 || cancel.is_set() {
            break;
        }
        beside.limits = long;
        env.threads.truncate(invocations);
        let watch = beside.inputs(&env, false).map_err(|e| format!("on inputs 0, {e}"))?;
        tried.extend(watch.map(|w| (env, w)));
    }
    let seen = beside.seen.clone();
    let mut turned = 0;
    if seen.reached() < seen.outcomes().len() {
        let (module, num, limits) = (beside.legal, beside.num, beside.limits);
        let alone = legal.stage != Stage::Compute && !needs_quads(&legal);
        let (work, ways) = (effort.search * size, Ways::new(&legal));
        let mut sets: Vec<ShaderEnv> = tried.iter().map(|t| t.0.clone()).collect();
        let found = Search { module, inputs: &inputs, num, limits, work, seen, ways, tried, alone, cancel }.run();
        // Later ones started from earlier ones and often reach what those did.
        for env in found.iter().rev().take_while(|_| !cancel.is_set()) {
            beside.inputs(env, true).map_err(|e| format!("on inputs that were searched for, {e}"))?;
        }
        sets.extend(found);
        let reached = beside.seen.reached();
        beside.go_around(&Branches::new(shader, &legal), &inputs, sets, effort.detours, cancel)?;
        turned = beside.seen.reached() - reached;
    }
    Ok(beside.result(turned))
}

/// Where detours start: inputs, the detour so far, and what it reaches.
type Start = (ShaderEnv, Detour, Watch);

/// A program's legalised IR on the interpreter beside its code on the simulator.
struct Beside<'a> {
    legal: &'a Module,
    num: &'a dyn Numerics,
    limits: Limits,
    code: Simulator<'a>,
    orders: &'a [BranchOrder],
    branches: &'a [(u32, Branch)],
    /// What was reached where both were compared.
    seen: Watch,
    sets: u64,
    detours: u64,
}

impl Beside<'_> {
    /// Runs both on a set of inputs, the code only where that reaches something that was not `seen` if so asked; gives what the IR did if they
    /// were compared.
    fn inputs(&mut self, env: &ShaderEnv, only_new: bool) -> Result<Option<Watch>, String> {
        let mut watch = self.seen.next();
        let compared = self.compare(env, &Detour::default(), &mut watch, only_new)?;
        self.sets += u64::from(compared);
        Ok(compared.then_some(watch))
    }

    /// Runs both on detours to what was not reached, from sets of inputs that reach some of it.
    fn go_around(
        &mut self,
        branches: &Branches,
        inputs: &Inputs,
        sets: Vec<ShaderEnv>,
        most: usize,
        cancel: &Cancel,
    ) -> Result<(), String> {
        let missing = |(_, o): &(usize, (Outcome, Nearest))| o.1.distance > 0.0 && branches.has(o.0);
        let mut left: Vec<(usize, Outcome)> = self.seen.outcomes().enumerate().filter(missing).map(|(n, o)| (n, o.0)).collect();
        if left.is_empty() || most == 0 {
            return Ok(());
        }
        let mut starts: Vec<Start> = Vec::new();
        let mut covered = self.seen.anew();
        for env in sets {
            if covered.reached() == self.seen.reached() {
                break;
            }
            let mut watch = self.seen.anew();
            if run_detour(self.legal, &env, self.num, &self.limits, Some(&mut watch), &mut Detour::default()).is_ok() {
                covered.absorb(&watch);
                starts.push((env, Detour::default(), watch));
            }
        }
        let (mut runs, mut work) = (most, DETOURS * self.limits.total);
        if starts.is_empty() {
            let env = inputs.environment(0);
            starts.extend(self.turned(env, branches.briefly(), &mut runs, &mut work)?);
        }
        while let Some(k) = left.iter().position(|(n, _)| starts.iter().any(|s| s.2.came_to(*n))) {
            let (n, outcome) = left.remove(k);
            let near = starts.iter().filter(|s| s.2.came_to(n));
            let ways: Vec<_> = near.filter_map(|(env, from, _)| Some((env.clone(), branches.towards(outcome, from)?))).collect();
            for (env, detour) in ways {
                if runs == 0 || work == 0 || cancel.is_set() {
                    return Ok(());
                }
                let found = self.turned(env, detour, &mut runs, &mut work)?;
                if found.is_some() {
                    starts.extend(found);
                    break;
                }
            }
            left.retain(|(n, _)| self.seen.nearest(*n).distance > 0.0);
        }
        Ok(())
    }

    /// Runs both on a detour, if that reaches something new: it is where others may start.
    fn turned(&mut self, env: ShaderEnv, detour: Detour, runs: &mut usize, work: &mut u64) -> Result<Option<Start>, String> {
        let mut watch = self.seen.anew();
        let compared = self.compare(&env, &detour, &mut watch, true).map_err(|e| format!("where its branches are turned, {e}"))?;
        (*runs, *work) = (*runs - 1, work.saturating_sub(watch.steps));
        self.detours += u64::from(compared);
        Ok(compared.then_some((env, detour, watch)))
    }

    /// Runs both, the code only where that reaches something that was not `seen` if so asked; whether they were compared.
    fn compare(&mut self, env: &ShaderEnv, detour: &Detour, watch: &mut Watch, only_new: bool) -> Result<bool, String> {
        let mut taken = detour.again();
        let want = match run_detour(self.legal, env, self.num, &self.limits, Some(watch), &mut taken) {
            Ok(r) => r,
            Err(e @ (InterpError::Malformed(_) | InterpError::UnknownExt { .. })) => {
                return Err(format!("the legalised IR does not run: {e}"));
            }
            Err(_) => return Ok(false),
        };
        if only_new && !watch.adds_to(&self.seen) || self.meets() && !detours::together(taken.turned(), env, self.legal.workgroup_size) {
            return Ok(false);
        }
        let turns = (!taken.turned().is_empty()).then(|| Turns::new(self.branches, taken.turned()));
        let differs = match in_orders(self.orders, &self.code, env, turns.as_ref()) {
            Ok(got) => same_results(self.legal, &want, &got).err(),
            Err(SimError::BadEnv(_)) => return Ok(false),
            Err(e) => Some(format!("the code does not run: {e}")),
        };
        match differs {
            Some(_) if self.is_open(env, detour) => Ok(false),
            Some(what) => Err(what),
            None => {
                self.seen.absorb(watch);
                Ok(true)
            }
        }
    }

    /// Whether invocations wait for each other.
    fn meets(&self) -> bool {
        let barrier = |f: &Function| f.ordered().any(|(_, i)| f.insts[i].op == Opcode::Barrier);
        self.legal.stage == Stage::Compute && self.legal.functions.values().any(barrier)
    }

    /// Whether what the module gives is open: it depends on the bits of a NaN, or the program does what has no one meaning.
    fn is_open(&self, env: &ShaderEnv, detour: &Detour) -> bool {
        let closed = Limits { closed: true, ..self.limits };
        // Inputs that lead to a number out of its range by themselves are no excuse.
        let mut detour = if detour.is_empty() { Detour::default() } else { detour.within(detours::ranges(self.legal)) };
        shows_nan(self.legal, env, self.num, &self.limits, &detour)
            || run_detour(self.legal, env, self.num, &closed, None, &mut detour).is_err()
    }

    fn result(&self, outcomes_turned: usize) -> Seen {
        let mut unreached = Vec::new();
        for (id, f) in self.legal.functions.iter() {
            let place = |b: &Block| f.blocks[*b].insts.iter().map(|i| f.spans[*i]).find(|s| !s.is_none()).unwrap_or(Span::NONE);
            let all = if self.sets + self.detours == 0 { f.layout.clone() } else { self.seen.unreached_blocks(self.legal, id) };
            unreached.extend(all.iter().map(place));
        }
        let blocks = self.legal.functions.values().map(|f| f.layout.len()).sum();
        Seen {
            sets: self.sets,
            detours: self.detours,
            blocks,
            unreached,
            outcomes: self.seen.outcomes().len(),
            outcomes_reached: self.seen.reached(),
            outcomes_turned,
        }
    }
}
