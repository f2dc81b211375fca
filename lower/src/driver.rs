//! The driver's parts that every target shares: ways of compiling and which is kept, stages and the texts after them.
//!
//! ```text
//!   search: way, way, way … ──build──▶ program, cost ──▶ the cheapest (the first of equals; the first error if none)
//!   climb:  program ──step──▶ better? keep it ──step──▶ …                both within a budget of counted work
//! ```

use crate::error::CompileError;
use crate::options::{OptLevel, Options};
use retroshade_emit::LayoutError;
use retroshade_ir::passes::{PASSES, PassOptions};
use retroshade_ir::{Cancel, Module, Numerics, Span};
use std::sync::{Arc, Mutex};

/// The stages of every target, in the order in which a shader walks through them. A target leaves out what it does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The IR as selection takes it.
    Legal,
    /// The machine's code before registers.
    Select,
    /// Scalars in lanes of vectors.
    Pack,
    /// Order and groups.
    Schedule,
    /// Registers.
    Place,
    /// The code as it is encoded.
    Emit,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Phase; 6] = [Phase::Legal, Phase::Select, Phase::Pack, Phase::Schedule, Phase::Place, Phase::Emit];
    /// The name that `--print-after` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Legal => "legal",
            Phase::Select => "select",
            Phase::Pack => "pack",
            Phase::Schedule => "schedule",
            Phase::Place => "place",
            Phase::Emit => "emit",
        }
    }
}

/// What `--print-after` takes: the stages, the passes over the IR, and `all`.
pub fn printable() -> impl Iterator<Item = &'static str> {
    let stages = Phase::ALL.into_iter().map(Phase::name);
    stages.chain(PASSES.iter().map(|p| p.name)).chain(["all"])
}

/// A stage's or pass's name, and the program after it.
pub type Dump = (String, String);

/// What `--print-after` asked for of a compilation that failed: the texts of the way that came furthest.
#[derive(Clone, Debug, Default)]
pub struct Unfinished(Arc<Mutex<Vec<Dump>>>);

impl Unfinished {
    /// The texts, which are gone then.
    pub fn take(&self) -> Vec<Dump> {
        self.0.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
    }
    /// Keeps texts where there are more of them than there were.
    pub fn keep(&self, dumps: Vec<Dump>) {
        if let Ok(mut kept) = self.0.lock()
            && dumps.len() > kept.len()
        {
            *kept = dumps;
        }
    }
}

/// Collects the texts that `--print-after` asks for. A way of compiling has its own, so that what is shown is what was kept;
/// those of a way that ends before go to [`Options::unfinished`].
#[derive(Clone, Debug)]
pub struct Trace<'o> {
    options: Option<&'o Options>,
    dumps: Vec<Dump>,
}

impl<'o> Trace<'o> {
    /// A trace of what the options ask for.
    pub fn new(options: &'o Options) -> Trace<'o> {
        Trace { options: Some(options), dumps: Vec::new() }
    }
    /// A trace of nothing, for trials.
    pub const fn off() -> Trace<'static> {
        Trace { options: None, dumps: Vec::new() }
    }
    fn wants(&self, name: &str) -> bool {
        self.options.is_some_and(|o| o.wants(name))
    }
    /// Notes a stage's text; `text` is only called where somebody asked.
    pub fn text(&mut self, phase: Phase, text: impl FnOnce() -> String) {
        if self.wants(phase.name()) {
            self.dumps.push((phase.name().to_string(), text()));
        }
    }
    /// Notes a module after a stage.
    pub fn module(&mut self, phase: Phase, module: &Module) {
        self.text(phase, || retroshade_ir::print(module));
    }
    /// Notes a module after a pass over the IR: what [`pipeline`](retroshade_ir::passes::pipeline) calls.
    pub fn pass(&mut self, name: &str, module: &Module) {
        if self.wants(name) {
            self.dumps.push((name.to_string(), retroshade_ir::print(module)));
        }
    }
    /// (name, text) in order, for [`CompiledShader::dumps`](crate::CompiledShader::dumps).
    pub fn into_dumps(mut self) -> Vec<Dump> {
        std::mem::take(&mut self.dumps)
    }
}

impl Drop for Trace<'_> {
    fn drop(&mut self) {
        if let Some(options) = self.options {
            options.unfinished.keep(std::mem::take(&mut self.dumps));
        }
    }
}

impl Options {
    /// The passes as the caller's options want them; a target adds what its machine likes.
    pub fn passes(&self, numerics: &'static dyn Numerics) -> PassOptions {
        let level = match self.opt {
            OptLevel::O0 => 0,
            OptLevel::O1 => 1,
            OptLevel::O2 | OptLevel::Os => 2,
        };
        PassOptions { level, robust: self.robust, numerics, cancel: self.cancel.clone(), ..PassOptions::default() }
    }
    /// Work of so many units, within the caller's limits.
    pub fn budget(&self, units: u64) -> Budget {
        Budget { units, trials: self.limits.trials, cancel: self.cancel.clone() }
    }
}

/// Work that a search may do, in units that the builds count themselves: results never depend on a clock.
#[derive(Clone, Debug)]
pub struct Budget {
    units: u64,
    trials: u64,
    cancel: Cancel,
}

impl Budget {
    /// So many units.
    pub fn new(units: u64) -> Budget {
        Budget { units, trials: u64::MAX, cancel: Cancel::default() }
    }
    /// No bound.
    pub fn unlimited() -> Budget {
        Budget::new(u64::MAX)
    }
    /// Spends units; what is not there is spent all the same.
    pub fn spend(&mut self, units: usize) {
        self.units = self.units.saturating_sub(units as u64);
    }
    /// Counts a trial.
    fn try_one(&mut self) {
        self.trials = self.trials.saturating_sub(1);
    }
    /// Whether so many units are left.
    pub const fn allows(&self, units: usize) -> bool {
        self.units >= units as u64
    }
    /// Whether nothing is left, or the caller waits no longer.
    pub fn spent(&self) -> bool {
        self.units == 0 || self.trials == 0 || self.cancel.is_set()
    }
}

/// Builds a program in several ways and keeps the cheapest, the earlier of two equals. The first way is always tried, further
/// ones as long as the budget lasts; where none succeeds, the error is that of the first.
pub fn search<W, P, C: PartialOrd>(
    ways: impl IntoIterator<Item = W>,
    budget: &mut Budget,
    build: impl FnMut(W, &mut Budget) -> Result<P, CompileError>,
    cost: impl Fn(&P) -> C,
) -> Result<P, CompileError> {
    let mut best = shortlist(ways, 1, budget, build, cost)?;
    best.pop().ok_or_else(|| CompileError::Internal("nothing was built".to_string()))
}

/// As [`search`], but keeps the `most` cheapest, the cheapest first: for a search that goes on from them.
pub fn shortlist<W, P, C: PartialOrd>(
    ways: impl IntoIterator<Item = W>,
    most: usize,
    budget: &mut Budget,
    mut build: impl FnMut(W, &mut Budget) -> Result<P, CompileError>,
    cost: impl Fn(&P) -> C,
) -> Result<Vec<P>, CompileError> {
    let (mut best, mut failed): (Vec<(C, P)>, _) = (Vec::new(), None);
    for (n, way) in ways.into_iter().enumerate() {
        if n > 0 && budget.spent() {
            break;
        }
        budget.try_one();
        match build(way, budget) {
            Ok(p) => {
                let c = cost(&p);
                let at = best.iter().position(|(known, _)| c < *known).unwrap_or(best.len());
                best.insert(at, (c, p));
                best.truncate(most);
            }
            Err(e) => drop(failed.get_or_insert(e)),
        }
    }
    if best.is_empty() {
        return Err(failed.unwrap_or_else(|| CompileError::Internal("there is no way to build this program".to_string())));
    }
    Ok(best.into_iter().map(|(_, p)| p).collect())
}

/// Changes a program step by step and keeps every change that `better(new, old)` likes; steps that fail change nothing. Ends
/// with the steps or with the budget, whichever comes first.
pub fn climb<P, S>(
    mut best: P,
    steps: impl IntoIterator<Item = S>,
    budget: &mut Budget,
    mut build: impl FnMut(&P, S, &mut Budget) -> Result<P, CompileError>,
    better: impl Fn(&P, &P) -> bool,
) -> P {
    for step in steps {
        if budget.spent() {
            break;
        }
        budget.try_one();
        if let Ok(new) = build(&best, step, budget)
            && better(&new, &best)
        {
            best = new;
        }
    }
    best
}

impl CompileError {
    /// Code that could not be laid out: a branch that does not reach is a limit under `code`, all else a broken promise.
    pub fn layout(code: &'static str, e: LayoutError<Span>) -> CompileError {
        match e {
            LayoutError::OutOfReach { form, value, least, most, span, .. } => {
                let (needed, available) =
                    if value < 0 { (value.unsigned_abs(), least.unsigned_abs()) } else { (value as u64, most as u64) };
                CompileError::limit(code, span, format!("`{form}` does not reach that far"), needed, available)
            }
            other => CompileError::Internal(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no(n: u64) -> CompileError {
        CompileError::limit("X0000", Span::NONE, "no", n, 0)
    }

    #[test]
    fn the_cheapest_way_is_kept_and_the_first_of_equals() {
        let costs = [9, 4, 7, 4];
        let found = search(0..4, &mut Budget::unlimited(), |n: usize, _| Ok(n), |n| costs[*n]).unwrap();
        assert_eq!(found, 1);
    }

    #[test]
    fn a_shortlist_has_the_cheapest_first() {
        let costs = [9, 4, 7, 4, 8];
        let found = shortlist(0..5, 3, &mut Budget::unlimited(), |n: usize, _| Ok(n), |n| costs[*n]).unwrap();
        assert_eq!(found, [1, 3, 2]);
    }

    #[test]
    fn the_budget_ends_a_search_but_not_its_first_way() {
        let mut tried = Vec::new();
        let mut budget = Budget::new(3);
        let build = |n: usize, b: &mut Budget| {
            b.spend(2);
            tried.push(n);
            Ok(n)
        };
        search(0..9, &mut budget, build, |n| 9 - *n).unwrap();
        assert_eq!(tried, [0, 1]);
        assert_eq!(search([5], &mut Budget::new(0), |n, _| Ok(n), |n| *n).unwrap(), 5);
    }

    #[test]
    fn without_a_way_the_first_error_counts() {
        let e = search([1u64, 2], &mut Budget::unlimited(), |n, _| Err::<u64, _>(no(n)), |n| *n).unwrap_err();
        assert!(matches!(e, CompileError::Limit { needed: 1, .. }));
    }

    #[test]
    fn climbing_keeps_what_is_better() {
        let steps = [-3i32, 5, -1, 0];
        let build = |p: &i32, s, _: &mut Budget| if s == 0 { Err(no(0)) } else { Ok(p + s) };
        assert_eq!(climb(10, steps, &mut Budget::unlimited(), build, |new, old| new < old), 6);
    }

    #[test]
    fn only_what_was_asked_for_is_printed() {
        let options = Options { print_after: ["place".to_string()].into_iter().collect(), ..Options::default() };
        let mut t = Trace::new(&options);
        t.text(Phase::Place, || "here".to_string());
        t.text(Phase::Emit, || unreachable!("nobody asked"));
        assert_eq!(t.into_dumps(), [("place".to_string(), "here".to_string())]);
    }
}
