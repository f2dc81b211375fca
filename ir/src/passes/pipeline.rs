//! The order in which passes run, and the registry of passes by name.
//!
//! Clean-up passes repeat until nothing changes, at most [`ROUNDS`] times: each is about linear, so the whole is.

use super::contract::FpContract;
use super::inline::InlinePolicy;
use super::*;
use crate::cancel::Cancel;
use crate::entities::FuncId;
use crate::module::Module;
use crate::numerics::{Numerics, Reference};

/// The most repetitions of the clean-up passes at one place.
pub const ROUNDS: usize = 6;

/// What a target asks of the pipeline.
#[derive(Clone)]
pub struct PassOptions {
    /// 0: only what lowering needs; 1: cheap passes; 2: everything.
    pub level: u8,
    /// What products and sums may become.
    pub fp_contract: FpContract,
    /// Contract a product with several uses if all of them take it in.
    pub contract_shared: bool,
    /// Whether the algebra of `relax` applies although contraction happens later, in the target's own expansion.
    pub relax: bool,
    /// Instructions that the copies of one unrolled loop may have; 0: no unrolling.
    pub unroll_fuel: u32,
    /// The most that both sides of an if-converted branch may cost; 0: no if-conversion.
    pub if_convert_cost: u32,
    /// Whether branches that discard are converted, too.
    pub convert_discards: bool,
    /// Whether vector operations become scalar ones.
    pub scalarise: bool,
    /// The least number of products that become a `dot`; 0: never. Runs before contraction.
    pub dot: u32,
    /// Whether products with transposed matrices become dot products with their rows.
    pub rows: bool,
    /// Which calls are inlined.
    pub inline: InlinePolicy,
    /// Whether computed indices are clamped.
    pub robust: bool,
    /// Whether switches become chains of comparisons.
    pub lower_switches: bool,
    /// Local arrays up to this length that are indexed by computed values become selects; 0: none.
    pub local_select: u32,
    /// Whether those that hold constants only stay arrays: the machine reads them from constant memory.
    pub keep_tables: bool,
    /// Whether constants and uniforms are made anew in each block that uses them, as the last step.
    pub remat: bool,
    /// The arithmetic for folding.
    pub numerics: &'static dyn Numerics,
    /// Ends the pipeline where it is: what comes out is nothing to go on with.
    pub cancel: Cancel,
}

impl Default for PassOptions {
    fn default() -> PassOptions {
        PassOptions {
            level: 2,
            fp_contract: FpContract::None,
            contract_shared: false,
            relax: false,
            unroll_fuel: 256,
            if_convert_cost: 12,
            convert_discards: false,
            scalarise: false,
            dot: 0,
            rows: false,
            inline: InlinePolicy::All,
            robust: false,
            lower_switches: false,
            local_select: 0,
            keep_tables: false,
            remat: true,
            numerics: &Reference,
            cancel: Cancel::default(),
        }
    }
}

impl std::fmt::Debug for PassOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "PassOptions {{ level: {}, fp_contract: {:?}, unroll_fuel: {}, if_convert_cost: {}, scalarise: {}, inline: {:?} }}",
            self.level, self.fp_contract, self.unroll_fuel, self.if_convert_cost, self.scalarise, self.inline
        )
    }
}

/// A pass that can be run alone.
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub doc: &'static str,
    /// Runs it over a module.
    pub run: fn(&mut Module, &PassOptions) -> bool,
}

macro_rules! passes {
    ($($name:literal $doc:literal |$m:ident, $o:ident| $run:expr;)*) => {
        /// Every pass, by name.
        pub static PASSES: &[Pass] = &[$(Pass { name: $name, doc: $doc, run: |$m, $o| { let _ = &$o; $run } },)*];
    };
}

passes! {
    "merge_calls" "Merges calls of the same function with the same arguments." |m, o| calls::run(m);
    "inline" "Inlines helper functions and drops those that nobody calls." |m, o| inline::run(m, o.inline);
    "robust" "Clamps computed indices." |m, o| robust::run(m);
    "bounds" "Drops clamps and comparisons that the ranges of integers decide." |m, o| bounds::run(m);
    "indices" "Turns constant indices into offsets." |m, o| indices::run(m);
    "promote" "Turns local arrays with constant indices into values; forwards stores." |m, o| each(m, promote::run);
    "promote_outputs" "Turns outputs with several stores into one store at the end." |m, o| promote::outputs(m);
    "local_select" "Turns computed indices into small local arrays into selects." |m, o| {
        let limit = if o.local_select == 0 { 16 } else { o.local_select };
        each(m, |f| promote::expand_dynamic(f, limit, o.keep_tables))
    };
    "dead_loops" "Passes by loops that do nothing." |m, o| each(m, dead_loops::run);
    "dce" "Removes what nobody needs." |m, o| each(m, dce::run);
    "simplify" "Folds constants and applies exact algebra." |m, o| each(m, |f| simplify::run(f, o.numerics, o.scalarise));
    "sccp" "Propagates constants through branches and block parameters." |m, o| each(m, |f| sccp::run(f, o.numerics));
    "gvn" "Merges equal computations." |m, o| each(m, gvn::run);
    "simplify_cfg" "Cleans up control flow." |m, o| each(m, simplify_cfg::run);
    "lower_switches" "Turns switches into chains of comparisons." |m, o| each(m, switches::lower);
    "copy_falls" "Gives cases that fall through bodies of their own." |m, o| each(m, switches::copy_falls);
    "switch_values" "Turns switches that only pick values into selects." |m, o| each(m, |f| switches::pick_values(f, 2 * o.if_convert_cost));
    "thread" "Passes by branches whose outcome is known on the way." |m, o| each(m, thread::run);
    "hoist" "Computes once before a branch what all ways from it compute." |m, o| each(m, |f| hoist::run(f, u32::from(!o.scalarise)));
    "chain" "Multiplies vectors by matrices one after the other instead of multiplying the matrices." |m, o| each(m, chain::run);
    "rows" "Multiplies vectors by transposed matrices by a dot product for each row." |m, o| each(m, rows::run);
    "unroll" "Unrolls counted loops fully." |m, o| each(m, |f| unroll::run(f, o.numerics, o.unroll_fuel, o.scalarise));
    "if_convert" "Replaces small branches by selects." |m, o| each(m, |f| if_convert::run(f, o.if_convert_cost, o.convert_discards));
    "short_circuit" "Replaces the cheapest branches by operations: right sides of && and ||." |m, o| {
        each(m, |f| if_convert::run(f, o.if_convert_cost.min(if_convert::CHEAPEST), o.convert_discards))
    };
    "licm" "Moves what does not change out of loops." |m, o| each(m, licm::run);
    "scalarise" "Splits vector operations into lanes." |m, o| each(m, scalarise::run);
    "dead_lanes" "Narrows vector operations to the lanes that are used." |m, o| each(m, scalarise::dead_lanes);
    "dot" "Forms dot products of sums of products." |m, o| each(m, |f| dot::run(f, o.dot.max(2) as usize));
    "expand_dot" "Expands dot products." |m, o| each(m, dot::expand);
    "modifiers" "Moves signs of products to their factors." |m, o| each(m, modifiers::run);
    "contract" "Forms multiply-adds." |m, o| {
        // Asked for by name it contracts even where the options do not.
        let how = if o.fp_contract == FpContract::None { FpContract::Fmad } else { o.fp_contract };
        each(m, |f| contract::run(f, how, o.contract_shared))
    };
    "relax" "Applies float algebra that the shading languages allow but that is not exact." |m, o| each(m, |f| relax::run(f, o.numerics));
    "remat" "Sinks instructions and makes constants and uniforms anew next to their uses." |m, o| each(m, remat::run);
    "split_critical_edges" "Puts a block on every critical edge." |m, o| each(m, crate::analysis::split_critical_edges);
}

/// Finds a pass by its name.
pub fn by_name(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|p| p.name == name)
}

const CLEANUP: [&str; 5] = ["simplify", "sccp", "gvn", "simplify_cfg", "dce"];

/// The clean-up passes until nothing changes (bounded): for targets, after their own rewriting.
pub fn cleanup(module: &mut Module, options: &PassOptions) -> bool {
    let mut settled = Settled::default();
    let mut any = false;
    for _ in 0..ROUNDS {
        let passes = CLEANUP.iter().filter_map(|name| by_name(name));
        let changed = passes.fold(false, |changed, p| settled.run(p, module, options) | changed);
        any |= changed;
        if !changed {
            break;
        }
    }
    any
}

/// Remembers which passes found nothing to do in the module as it is: they need not run again before something changed. What removes
/// instructions that nobody needs, or merges equal ones, leaves nothing to itself and no constants to `sccp`.
#[derive(Default)]
struct Settled(Vec<&'static str>);

impl Settled {
    fn run(&mut self, pass: &Pass, module: &mut Module, options: &PassOptions) -> bool {
        if self.0.contains(&pass.name) {
            return false;
        }
        let changed = (pass.run)(module, options);
        if changed {
            let left: &[&str] = match pass.name {
                "dce" => &["sccp", "gvn", "dce"],
                "gvn" => &["sccp", "gvn"],
                _ => &[],
            };
            self.0.retain(|name| left.contains(name));
        }
        if !changed || matches!(pass.name, "gvn" | "dce") {
            self.0.push(pass.name);
        }
        changed
    }
}

/// Runs passes by their names, in this order: for targets, between their own steps. Returns whether one changed something.
pub fn sequence(module: &mut Module, names: &[&str], options: &PassOptions) -> bool {
    let passes = names.iter().filter(|_| !options.cancel.is_set()).filter_map(|name| by_name(name));
    passes.fold(false, |changed, p| (p.run)(module, options) | changed)
}

/// Runs a function pass over all functions.
pub fn each(module: &mut Module, mut run: impl FnMut(&mut crate::function::Function) -> bool) -> bool {
    let ids: Vec<FuncId> = module.functions.keys().collect();
    let mut changed = false;
    for id in ids {
        changed |= run(&mut module.functions[id]);
    }
    changed
}

/// Runs the pipeline: [`prepare`], then [`finish`]. `dump` is called with a pass's name after each run that changed something.
pub fn pipeline(module: &mut Module, options: &PassOptions, dump: &mut dyn FnMut(&str, &Module)) {
    prepare(module, options, dump);
    finish(module, options, dump);
}

/// Runs a pass by its name, unless it found nothing to do in the module as it is.
fn runner<'a>(
    options: &'a PassOptions,
    dump: &'a mut dyn FnMut(&str, &Module),
    settled: &'a mut Settled,
) -> impl FnMut(&mut Module, &str) -> bool + 'a {
    move |module, name| {
        let Some(pass) = by_name(name).filter(|_| !options.cancel.is_set()) else { return false };
        let changed = settled.run(pass, module, options);
        if changed {
            check(module, name);
            dump(name, module);
        }
        changed
    }
}

/// The pipeline but for its end: nothing here depends on [`PassOptions::dot`], so that compilations which differ in that share it.
pub fn prepare(module: &mut Module, options: &PassOptions, dump: &mut dyn FnMut(&str, &Module)) {
    before_unrolling(module, options, dump);
    unrolling(module, options, dump);
    after_unrolling(module, options, dump);
}

/// The clean-up passes, until nothing changes.
fn clean(module: &mut Module, options: &PassOptions, run: &mut dyn FnMut(&mut Module, &str) -> bool) {
    for _ in 0..rounds(options) {
        let mut changed = false;
        for name in CLEANUP {
            changed |= run(module, name);
        }
        if is_loose(options) {
            changed |= run(module, "relax");
        }
        if !changed {
            break;
        }
    }
}

fn rounds(options: &PassOptions) -> usize {
    if options.level == 1 { 2 } else { ROUNDS }
}

/// The first part of [`prepare`]: nothing here depends on [`PassOptions::unroll_fuel`], so that compilations which differ in that share it.
pub fn before_unrolling(module: &mut Module, options: &PassOptions, dump: &mut dyn FnMut(&str, &Module)) {
    let mut settled = Settled::default();
    let mut run = runner(options, dump, &mut settled);
    if options.level > 0 {
        run(module, "merge_calls");
    }
    run(module, "inline");
    if options.robust {
        run(module, "robust");
    }
    if options.level > 1 && options.if_convert_cost > 0 {
        if run(module, "copy_falls") {
            clean(module, options, &mut run);
        }
        run(module, "switch_values");
    }
    if options.lower_switches {
        run(module, "lower_switches");
    }
    run(module, "simplify_cfg");
    run(module, "promote");
    if options.level == 0 {
        if options.local_select > 0 && run(module, "local_select") {
            run(module, "promote");
        }
        if options.scalarise {
            run(module, "scalarise");
        }
        run(module, "dce");
        return;
    }
    clean(module, options, &mut run);
    // Computed indices may be constants by now.
    if run(module, "promote") {
        clean(module, options, &mut run);
    }
    // Before loops are copied: each copy would have to be cleaned up.
    if options.level > 1 && options.if_convert_cost > 0 && run(module, "short_circuit") {
        clean(module, options, &mut run);
    }
}

/// The second part of [`prepare`]: unrolls loops. Whether there was one to unroll.
pub fn unrolling(module: &mut Module, options: &PassOptions, dump: &mut dyn FnMut(&str, &Module)) -> bool {
    let mut settled = Settled::default();
    let mut run = runner(options, dump, &mut settled);
    let unrolled = options.unroll_fuel > 0 && options.level > 1 && run(module, "unroll");
    if unrolled {
        run(module, "promote");
        clean(module, options, &mut run);
    }
    unrolled
}

/// The third part of [`prepare`].
pub fn after_unrolling(module: &mut Module, options: &PassOptions, dump: &mut dyn FnMut(&str, &Module)) {
    if options.level == 0 {
        return;
    }
    let mut settled = Settled::default();
    let mut run = runner(options, dump, &mut settled);
    if options.local_select > 0 && run(module, "local_select") {
        run(module, "promote");
        clean(module, options, &mut run);
    }
    if run(module, "bounds") {
        clean(module, options, &mut run);
    }
    if options.level > 1 {
        run(module, "promote_outputs");
        if run(module, "dead_loops") {
            clean(module, options, &mut run);
        }
        if is_loose(options) && run(module, "chain") {
            clean(module, options, &mut run);
        }
        run(module, "hoist");
        if options.if_convert_cost > 0 && run(module, "if_convert") {
            clean(module, options, &mut run);
        }
        // Behind if-conversion: what is a select by now is no way that knows something.
        // Ways that come to lie behind one another may know more.
        for _ in 0..rounds(options) {
            if !run(module, "thread") {
                break;
            }
            clean(module, options, &mut run);
        }
    }
    if options.scalarise {
        run(module, "scalarise");
        clean(module, options, &mut run);
        // Branches that looked too expensive with whole vectors may now be cheap.
        if options.level > 1 && options.if_convert_cost > 0 && run(module, "if_convert") {
            clean(module, options, &mut run);
        }
    } else {
        run(module, "dead_lanes");
        clean(module, options, &mut run);
    }
    if options.level > 1 && run(module, "licm") {
        clean(module, options, &mut run);
    }
}

/// Whether float algebra that is not exact is allowed.
fn is_loose(options: &PassOptions) -> bool {
    options.relax || options.fp_contract != FpContract::None
}

/// What comes last: forming the machine's larger operations, then placing values next to their uses.
pub fn finish(module: &mut Module, options: &PassOptions, dump: &mut dyn FnMut(&str, &Module)) {
    before_forming(module, options, dump);
    forming(module, options, dump);
}

/// The first part of [`finish`]: nothing here depends on [`PassOptions::dot`], so that compilations which differ in that share it.
pub fn before_forming(module: &mut Module, options: &PassOptions, dump: &mut dyn FnMut(&str, &Module)) {
    let mut settled = Settled::default();
    let mut run = runner(options, dump, &mut settled);
    if options.level > 0 && run(module, "modifiers") {
        run(module, "simplify");
        run(module, "gvn");
    }
}

/// The second part of [`finish`].
pub fn forming(module: &mut Module, options: &PassOptions, dump: &mut dyn FnMut(&str, &Module)) {
    if options.level == 0 {
        return;
    }
    let mut settled = Settled::default();
    let mut run = runner(options, dump, &mut settled);
    if options.dot > 0 && run(module, "dot") {
        run(module, "simplify");
        run(module, "gvn");
    }
    if options.rows && run(module, "rows") {
        run(module, "simplify");
        run(module, "gvn");
    }
    if options.fp_contract != FpContract::None && run(module, "contract") {
        run(module, "simplify");
        run(module, "gvn");
    }
    run(module, "dce");
    if options.remat {
        run(module, "remat");
    }
}

/// Debug builds verify after every pass: a broken pass must not look like a broken target. Machine operations are legal here:
/// targets run the pipeline on partly legalised modules too.
fn check(module: &Module, name: &str) {
    if cfg!(debug_assertions)
        && let Err(errors) = crate::verify::verify_legal(module)
    {
        let text = crate::text::print(module);
        debug_assert!(false, "pass {name} left an invalid module: {errors:?}\n{text}");
    }
}
