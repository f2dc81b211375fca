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

pub(crate) mod inputs;
pub(crate) mod same;

use crate::isa::{CompiledShader, SimError, TargetIsa};
use inputs::Inputs;
use retroshade_ir::interp::{InterpError, Limits, run_with};
use retroshade_ir::{Cancel, Function, Module, Numerics, ShaderEnv};
use same::{same_results, shows_nan};

/// Sets of inputs that a program is run on: a workgroup with more than [`FEW`] invocations runs on fewer, the largest once.
const SETS: u64 = 6;
/// Invocations of a set of most programs.
const FEW: u64 = 4;
/// Steps of the interpreter that a set may take, so that loops come round; and further ones for each instruction of the program.
const STEPS: u64 = 16_000;
const STEPS_EACH: u64 = 32;

/// Runs a compiled shader and its legalised IR on chosen inputs, and gives the number of sets on which they were compared. The error says what
/// differs first. Sets on which the program runs for too long or does what the IR leaves open are passed over.
pub fn check<T: TargetIsa + ?Sized>(isa: &T, shader: &CompiledShader, cancel: &Cancel) -> Result<u64, String> {
    check_on(isa, shader, SETS, cancel)
}

/// As [`check`], on this many sets.
pub fn check_on<T: TargetIsa + ?Sized>(isa: &T, shader: &CompiledShader, sets: u64, cancel: &Cancel) -> Result<u64, String> {
    let mut legal = shader.legal.clone();
    legal.functions.values_mut().for_each(Function::resolve_aliases);
    let size: u64 = legal.functions.values().map(|f| f.inst_count() as u64).sum();
    let branches = legal.functions.values().any(|f| f.layout.len() > 1);
    let inputs = Inputs::new(&legal);
    let limits = Limits { total: STEPS + STEPS_EACH * size, ..Limits::default() };
    let mut compared = 0;
    for n in 0..(sets * FEW / inputs.invocations()).clamp(1, sets) {
        if cancel.is_set() {
            break;
        }
        let env = inputs.environment(n);
        let want = match run_with(&legal, &env, isa.numerics(), &limits) {
            Ok(r) => r,
            Err(e @ (InterpError::Malformed(_) | InterpError::UnknownExt { .. })) => {
                return Err(format!("the legalised IR does not run: {e}"));
            }
            Err(_) => continue,
        };
        let got = if branches { isa.simulate_in_every_order(shader, &env) } else { isa.simulate(shader, &env) };
        let differs = match got {
            Ok(got) => same_results(&legal, &want, &got).err(),
            Err(SimError::BadEnv(_)) => continue,
            Err(e) => Some(format!("the code does not run: {e}")),
        };
        match differs {
            Some(_) if is_open(&legal, &env, isa.numerics(), &limits) => {}
            Some(what) => return Err(format!("on inputs {n}, {what}")),
            None => compared += 1,
        }
    }
    Ok(compared)
}

/// Whether what a module gives is open on these inputs: it depends on the bits of a NaN, or the program does what has no one meaning.
fn is_open(legal: &Module, env: &ShaderEnv, num: &dyn Numerics, limits: &Limits) -> bool {
    shows_nan(legal, env, num, limits) || run_with(legal, env, num, &Limits { closed: true, ..*limits }).is_err()
}
