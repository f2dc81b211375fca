//! What joins the IR to the machines: the target interface, virtual code, placement and helpers for lowering.
#![forbid(unsafe_code)]

pub mod error;
pub mod isa;
pub mod options;
pub mod reflect;
pub mod text;

pub use error::CompileError;
pub use isa::{CompiledShader, SimError, TargetIsa};
pub use options::{OptLevel, Options};
pub use reflect::Reflection;
pub use text::{AsmOutput, Syntax, TextError, TextOptions};
