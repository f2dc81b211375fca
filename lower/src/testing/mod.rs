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

mod diff;
mod emit;
mod envs;
mod profile;
mod random;
mod rng;
mod shrink;
mod stats;

pub use diff::{Mismatch, Verdict, diff, diff_with, is_exact, same_results};
pub use envs::random_env;
pub use profile::Profile;
pub use random::random_program;
pub use rng::Rng;
pub use shrink::shrink;
pub use stats::ProgramStats;

use crate::bind::env_to_json;
use crate::isa::TargetIsa;
use crate::options::Options;
use std::fmt::Write;

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
    /// The first few reasons of refusal.
    pub reasons: Vec<String>,
}

/// How many random programs a test runs: `default`, or what the environment variable `RETROSHADE_RANDOM` says.
pub fn program_count(default: u64) -> u64 {
    std::env::var("RETROSHADE_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Runs seeds of a profile against a target; the error is a report with the seed, the reduced program and its bind file.
pub fn check_random(isa: &dyn TargetIsa, profile: &Profile, seeds: std::ops::Range<u64>) -> Result<Summary, String> {
    let mut summary = Summary::default();
    for seed in seeds {
        let (module, env) = random_program(profile, seed);
        // Every second program without contraction, so that it can be compared with its source exactly.
        let options = Options { fp_contract: seed % 2 == 1, ..Options::default() };
        match diff_with(isa, &module, &env, &options) {
            Ok(Verdict::Agrees { exact }) => {
                summary.agree += 1;
                summary.exact += u64::from(exact);
            }
            Ok(Verdict::Refused { limit, message }) => {
                *(if limit { &mut summary.limited } else { &mut summary.refused }) += 1;
                if summary.reasons.len() < 10 {
                    summary.reasons.push(format!("seed {seed}: {message}"));
                }
            }
            Err(mismatch) => return Err(report(isa, seed, &module, &env, &options, &mismatch)),
        }
    }
    Ok(summary)
}

/// Reduces a failing program and describes it.
fn report(
    isa: &dyn TargetIsa,
    seed: u64,
    module: &retroshade_ir::Module,
    env: &retroshade_ir::ShaderEnv,
    options: &Options,
    mismatch: &Mismatch,
) -> String {
    let (small, small_env) =
        shrink(module, env, &mut |m, e| matches!(diff_with(isa, m, e, options), Err(x) if x.kind() == mismatch.kind()));
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
