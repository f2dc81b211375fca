//! The shader IR: entities, text, verifier, builder, passes and the reference interpreter.
//!
//! `docs/ir.md` is the reference for the text form and for every operation's semantics.
//!
//! ```text
//!   text ──parse──▶ Module ──verify──▶ passes ──▶ Module ──▶ interpreter (reference answer)
//!          ◀─print──        ◀─Builder / front end          └▶ targets
//! ```
#![forbid(unsafe_code)]

pub mod analysis;
pub mod builder;
pub mod cancel;
pub mod diag;
pub mod docs;
pub mod entities;
pub mod env;
pub mod function;
pub mod half;
pub mod inst;
pub mod interp;
pub mod module;
pub mod numerics;
pub mod opcode;
pub mod operations;
pub mod passes;
pub mod same;
pub mod surface;
pub mod text;
pub mod texture;
pub mod types;
pub mod verify;
pub mod words;

pub use builder::Builder;
pub use cancel::Cancel;
pub use diag::{Diagnostic, FileId, Severity, SourceMap, Span};
pub use entities::*;
pub use env::{InvocationInputs, InvocationResult, ShaderEnv, ShaderResult, TextureData};
pub use function::{BlockData, Function, ValueDef};
pub use inst::{AtomicOp, BlockCall, FloatCC, Imm, InstData, IntCC, MemRef, TexInfo, TexLod, TexOp};
pub use module::*;
pub use numerics::{Numerics, Reference};
pub use opcode::{Effect, Opcode, ResultRule};
pub use operations::TypeError;
pub use same::same;
pub use text::{ParseFailure, parse, parse_bytes, print, print_function};
pub use types::{Scalar, Type};
pub use verify::{verify, verify_legal};
