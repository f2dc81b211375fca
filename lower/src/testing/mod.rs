//! Differential testing: seeded random programs, the comparison of a target with the interpreter, and a shrinker.
//!
//! ```text
//!   Profile + seed ─random─▶ (Module, ShaderEnv)
//!        source ─interp(reference)──────────────────▶ A
//!        source ─legalise─▶ legal ─interp(numerics)─▶ B      A = B exactly where nothing is approximated
//!        source ─compile──▶ code ──simulate─────────▶ C      B = C bit for bit, always
//!   a mismatch ─shrink─▶ small `.ir` + bind file
//! ```
//! Each target's tests call [`check_random`] with its [`Profile`]. Nothing here depends on a clock or on outside randomness: a
//! seed names a program for good, as long as the generator is not changed.

mod beside;
mod damage;
mod diff;
mod draw;
mod emit;
mod envs;
mod golden;
mod profile;
mod random;
mod shrink;
mod stats;

pub use crate::rng::Rng;
pub use crate::validate::meaning::same::same_results;
pub use beside::{beside, table_beside, text_beside};
pub use damage::{Noticed, lawful_flips, noticed, noticed_by_meaning, noticed_of_what_differs, with_code};
pub use diff::{Mismatch, Verdict, diff, diff_with, is_exact};
pub use envs::random_env;
pub use golden::golden;
pub use profile::Profile;
pub use random::random_program;
pub use shrink::{shrink, shrink_module};
pub use stats::ProgramStats;

use crate::bind::env_to_json;
use crate::isa::TargetIsa;
use crate::options::Options;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a run over many seeds found.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Programs on which simulator and interpreter agree.
    pub agree: u64,
    /// Of these, programs whose legalised IR was also compared exactly with the source.
    pub exact: u64,
    /// Programs that the target refuses for what they use.
    pub refused: u64,
    /// Programs that exceed a limit of the machine.
    pub limited: u64,
    /// The first few reasons of refusal, by seed.
    pub reasons: Vec<(u64, String)>,
}

impl Summary {
    fn trim(&mut self) {
        self.reasons.sort();
        self.reasons.truncate(10);
    }
    fn add(&mut self, other: Summary) {
        self.agree += other.agree;
        self.exact += other.exact;
        self.refused += other.refused;
        self.limited += other.limited;
        self.reasons.extend(other.reasons);
        self.trim();
    }
}

/// How many random programs a test runs: `default`, or what the environment variable `RETROSHADE_RANDOM` says.
pub fn program_count(default: u64) -> u64 {
    std::env::var("RETROSHADE_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// The seeds of these programs: from 0, or from what `RETROSHADE_FROM` says; only that of `RETROSHADE_SEED` where it is set.
pub fn program_seeds(default: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    match (number("RETROSHADE_SEED"), number("RETROSHADE_FROM")) {
        (Some(s), _) => s..s + 1,
        (None, from) => from.unwrap_or(0)..from.unwrap_or(0) + program_count(default),
    }
}

/// Runs seeds of a profile against a target; the error is a report with the seed, the reduced program and its bind file.
pub fn check_random(isa: &dyn TargetIsa, profile: &Profile, seeds: std::ops::Range<u64>) -> Result<Summary, String> {
    check_random_with(isa, profile, seeds, &default_options)
}

/// The options of a seed: every second program without contraction, so that it can be compared with its source exactly. The code is
/// validated in release builds, too.
pub fn default_options(seed: u64) -> Options {
    Options { fp_contract: seed % 2 == 1, validate: true, ..Options::default() }
}

/// As [`check_random`], with options by seed. Uses all processors; the program of the lowest failing seed is reported.
pub fn check_random_with(
    isa: &dyn TargetIsa,
    profile: &Profile,
    seeds: std::ops::Range<u64>,
    options: &(dyn Fn(u64) -> Options + Sync),
) -> Result<Summary, String> {
    let next = AtomicU64::new(seeds.start);
    let failed = AtomicU64::new(u64::MAX);
    let work = || {
        let mut summary = Summary::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            // Seeds are handed out in order: when a lower one has failed, the rest does not matter.
            if seed >= seeds.end || seed > failed.load(Ordering::Relaxed) {
                return summary;
            }
            let (module, env) = random_program(profile, seed);
            // Nobody reads the texts of a program that agrees.
            match diff_with(isa, &module, &env, &Options { texts: false, ..options(seed) }) {
                Ok(Verdict::Agrees { exact }) => {
                    summary.agree += 1;
                    summary.exact += u64::from(exact);
                }
                Ok(Verdict::Refused { limit, message }) => {
                    *(if limit { &mut summary.limited } else { &mut summary.refused }) += 1;
                    summary.reasons.push((seed, message));
                    summary.trim();
                }
                Err(_) => {
                    failed.fetch_min(seed, Ordering::Relaxed);
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(16);
    let mut summary = Summary::default();
    std::thread::scope(|s| {
        let workers: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
        for w in workers {
            match w.join() {
                Ok(part) => summary.add(part),
                // A panic of the compiler or a simulator is the test's own.
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    match failed.into_inner() {
        u64::MAX => Ok(summary),
        seed => {
            let (module, env) = random_program(profile, seed);
            let options = options(seed);
            match diff_with(isa, &module, &env, &options) {
                Err(mismatch) => Err(report(isa, seed, &module, &env, &options, &mismatch)),
                Ok(_) => Err(format!("{} seed {seed} fails in one run and not in another", isa.name())),
            }
        }
    }
}

/// Reduces a failing program (unless `RETROSHADE_REDUCE=0`) and describes it.
fn report(
    isa: &dyn TargetIsa,
    seed: u64,
    module: &retroshade_ir::Module,
    env: &retroshade_ir::ShaderEnv,
    options: &Options,
    mismatch: &Mismatch,
) -> String {
    let (small, small_env) = if std::env::var_os("RETROSHADE_REDUCE").is_some_and(|v| v == "0") {
        (module.clone(), env.clone())
    } else {
        shrink(module, env, &mut |m, e| matches!(diff_with(isa, m, e, options), Err(x) if x.kind() == mismatch.kind()))
    };
    let last = match diff_with(isa, &small, &small_env, options) {
        Err(e) => e.to_string(),
        Ok(_) => mismatch.to_string(),
    };
    let mut s = String::new();
    let _ = writeln!(s, "{} seed {seed} (fp_contract {}): {last}", isa.name(), options.fp_contract);
    let _ = writeln!(s, "--- reduced program\n{}", retroshade_ir::text::print(&small));
    let _ = writeln!(s, "--- bind file\n{}", env_to_json(&small, &small_env));
    if let Ok(legal) = isa.legalise(&small, options) {
        let _ = writeln!(s, "--- legalised\n{}", retroshade_ir::text::print(&legal));
    }
    if let Ok(c) = isa.compile(&small, options) {
        let _ = writeln!(s, "--- code\n{}", c.asm);
    }
    s
}
