//! Passes: each a function over a function or a module that says whether it changed something.
//!
//! [`by_name`] finds one for `test opt NAME`; [`pipeline`] runs them in the order that pays.

pub mod dce;
pub mod gvn;
pub mod rewrite;
pub mod sccp;
pub mod simplify;
pub mod simplify_cfg;
