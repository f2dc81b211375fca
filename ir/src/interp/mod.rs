//! The reference interpreter of all four stages.
//!
//! Given a module, an environment and a machine's arithmetic, [`run`] computes what the shader leaves. On a source module
//! with [`crate::Reference`] that is the reference answer; on a legalised module under its target's [`Numerics`] it is what
//! the target's simulator must give bit for bit.
//!
//! What the IR leaves open is fixed here, so that simulators can do the same:
//!
//! * **Quads.** The four invocations of a quad run one after the other, each until it needs its neighbours (`ddx`, `ddy`,
//!   implicit level of detail). When all have stopped or ended, those at the earliest place of the program go on together; in a loop an
//!   earlier round is an earlier place, so that neighbours meet in the same round, as on machines that keep lanes in step.
//!   A neighbour that is elsewhere or has ended counts as having the reader's own value (difference 0).
//! * **Discard.** The invocation goes on as a helper: it still serves its neighbours, but stores and atomics have no effect.
//!   The outputs of a discarded invocation are all 0.
//! * **Geometry.** A program with `invocations(n)` runs n times for a primitive, one after the other; `invocation_id` counts, whatever
//!   the environment says. Outputs keep their values across `emit_vertex`; vertices beyond `max_vertices` are dropped. `outputs` is
//!   empty, everything is in `primitives`.
//! * **Compute.** Workgroups run in order, threads of a workgroup in order up to the next barrier; a thread that has ended
//!   counts as arrived. Workgroup memory starts as 0.
//! * **Indices.** Inputs and uniforms clamp an index (as unsigned) to the last element; local, shared and storage loads
//!   outside give 0, stores outside are dropped.
//! * `undef` is 0, and so are local arrays when their function is entered and outputs that are never written.

mod detour;
mod lane;
mod open;
pub mod ops;
mod stages;
mod watch;

use crate::env::{ShaderEnv, ShaderResult};
use crate::module::Module;
use crate::numerics::Numerics;
use thiserror::Error;

pub use detour::{Branch, Detour, Visit, Visits};
pub use ops::eval;
pub use stages::{compute_inputs, needs_quads};
pub use watch::{Nearest, Outcome, Watch};

/// Why an interpretation ended without a result.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum InterpError {
    /// The environment lacks something or has it in the wrong shape.
    #[error("{0}")]
    BadEnv(String),
    /// An invocation ran longer than allowed.
    #[error("stopped an invocation after {0} instructions")]
    OutOfFuel(u64),
    /// Calls nest too deeply.
    #[error("calls nest more than {0} deep")]
    CallDepth(usize),
    /// The program does what the IR leaves open, under [`Limits::closed`].
    #[error("{0}")]
    Open(&'static str),
    /// The program asks for more memory than allowed.
    #[error("{what} needs {words} words; at most {limit} are allowed")]
    TooLarge {
        /// What.
        what: String,
        /// How much.
        words: u64,
        /// The limit.
        limit: u64,
    },
    /// The arithmetic does not know a machine operation.
    #[error("{numerics} arithmetic has no operation `{name}`")]
    UnknownExt {
        /// The operation.
        name: String,
        /// The arithmetic.
        numerics: String,
    },
    /// The module is not one that the verifier accepts.
    #[error("malformed module: {0}")]
    Malformed(String),
}

/// Bounds on what a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions per invocation.
    pub fuel: u64,
    /// Instructions of all invocations together.
    pub total: u64,
    /// Depth of calls.
    pub calls: usize,
    /// Words of local arrays per frame, and of workgroup memory.
    pub memory: u64,
    /// Compute invocations in all.
    pub invocations: u64,
    /// Whether a run ends where the program does what the IR leaves open (on the machines: this interpreter has an answer, as above):
    /// `undef`, `unreachable`, indices out of range, elements that were never written, memory that invocations touch in no order.
    pub closed: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { fuel: 1 << 24, total: u64::MAX, calls: 256, memory: 1 << 22, invocations: 1 << 22, closed: false }
    }
}

/// Runs a shader on all invocations of an environment.
pub fn run(module: &Module, env: &ShaderEnv, numerics: &dyn Numerics) -> Result<ShaderResult, InterpError> {
    run_with(module, env, numerics, &Limits::default())
}

/// As [`run`], with chosen limits.
pub fn run_with(module: &Module, env: &ShaderEnv, numerics: &dyn Numerics, limits: &Limits) -> Result<ShaderResult, InterpError> {
    stages::run(module, env, numerics, limits, Observers::default())
}

/// As [`run_with`], and notes what the program decides. A module with aliases has to be resolved first.
pub fn run_watched(
    module: &Module,
    env: &ShaderEnv,
    numerics: &dyn Numerics,
    limits: &Limits,
    watch: &mut Watch,
) -> Result<ShaderResult, InterpError> {
    stages::run(module, env, numerics, limits, Observers { watch: Some(watch), detour: None })
}

/// As [`run_watched`], but the program takes the sides that a detour chooses.
pub fn run_detour(
    module: &Module,
    env: &ShaderEnv,
    numerics: &dyn Numerics,
    limits: &Limits,
    watch: Option<&mut Watch>,
    detour: &mut Detour,
) -> Result<ShaderResult, InterpError> {
    stages::run(module, env, numerics, limits, Observers { watch, detour: Some(detour) })
}

/// Those that are asked or told where a program goes.
#[derive(Default)]
struct Observers<'w> {
    watch: Option<&'w mut Watch>,
    detour: Option<&'w mut Detour>,
}

#[cfg(test)]
mod tests;
