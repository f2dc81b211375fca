//! Passes: each a function over a function or a module that says whether it changed something.
//!
//! [`by_name`] finds one for `test opt NAME`; [`pipeline`] runs them in the order that pays.

mod algebra;
pub mod bounds;
mod calls;
pub mod chain;
pub mod contract;
pub mod dce;
pub mod dead_loops;
pub mod dot;
pub mod gvn;
pub mod hoist;
pub mod if_convert;
pub mod indices;
pub mod inline;
pub mod licm;
pub mod modifiers;
mod pipeline;
pub mod promote;
pub mod relax;
pub mod remat;
pub mod rewrite;
pub mod robust;
pub mod rows;
pub mod scalarise;
pub mod sccp;
pub(crate) mod settled;
pub mod simplify;
pub mod simplify_cfg;
pub mod switches;
pub mod thread;
pub mod unroll;

pub use contract::FpContract;
pub use inline::InlinePolicy;
pub use pipeline::{
    PASSES, Pass, PassOptions, ROUNDS, after_unrolling, before_forming, before_unrolling, by_name, cleanup, each, finish, forming,
    pipeline, prepare, sequence, unrolling,
};

#[cfg(test)]
mod tests;
