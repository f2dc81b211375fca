//! Analyses of functions. Each is a plain struct computed by `new`, valid until the function changes.
//!
//! All of them are iterative and about linear: control-flow graphs may be 100,000 blocks deep.

pub mod calls;
pub mod cfg;
pub mod domtree;
pub mod liveness;
pub mod loops;
pub mod range;
pub mod relaxed;
pub mod tables;
pub mod uniformity;

pub use calls::CallGraph;
pub use cfg::{Cfg, split_critical_edges};
pub use domtree::{DomTree, PostDomTree};
pub use liveness::Liveness;
pub use loops::{LoopId, Loops};
pub use range::{Range, Ranges};
pub use relaxed::Relaxed;
pub use tables::tables;
pub use uniformity::{Level, Uniformity};

#[cfg(test)]
mod tests;
