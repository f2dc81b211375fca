//! The compiler as a library: the machines of a build, sources of every language, programs of one pipeline, shaders in build scripts.
//!
//! Compiling recurses over the program's blocks and expressions, whose nesting is bounded: call it on a thread with a stack of 2 MiB, which
//! Rust's own threads have, or more (main threads usually have 8).
//!
//! The crate `retroshade` shows all of this under its own name; nobody needs to name this one.
#![forbid(unsafe_code)]

pub use language::Language;
pub use retroshade_emit as emit;
#[cfg(feature = "spirv")]
pub use retroshade_frontend as frontend;
pub use retroshade_ir as ir;
pub use retroshade_ir::{Builder, Module, ParseFailure, parse, print};
pub use retroshade_lower as lower;
pub use retroshade_lower::{CompileError, CompiledShader, Options, TargetIsa, TextOptions};

#[cfg(feature = "spirv")]
pub mod build;
pub mod codes;
pub mod diagnostics;
mod language;
pub mod link;
#[cfg(feature = "spirv")]
pub mod source;
pub mod warnings;

#[cfg(feature = "spirv")]
pub use source::{SourceError, compile};

/// Every machine that this build knows, in the order of the documentation.
pub fn targets() -> Vec<&'static dyn TargetIsa> {
    vec![
        #[cfg(feature = "tesla")]
        retroshade_tesla::isa(),
        #[cfg(feature = "usse")]
        retroshade_usse::isa(),
        #[cfg(feature = "r700")]
        retroshade_r700::isa(),
        #[cfg(feature = "pica")]
        retroshade_pica::isa(),
    ]
}

/// A machine by its name.
pub fn target(name: &str) -> Option<&'static dyn TargetIsa> {
    targets().into_iter().find(|t| t.name() == name)
}
