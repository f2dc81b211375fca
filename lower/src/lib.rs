//! What joins the IR to the machines: the target interface, virtual code, placement and helpers for lowering.
#![forbid(unsafe_code)]

#[cfg(feature = "json")]
pub mod bind;
mod course;
pub mod driver;
pub mod error;
pub mod isa;
pub mod legal;
pub mod limits;
#[cfg(feature = "json")]
pub mod nearest;
pub mod options;
pub mod outfile;
pub mod pattern;
pub mod reflect;
mod rng;
pub mod structure;
#[cfg(feature = "json")]
pub mod testing;
pub mod text;
pub mod validate;
pub mod vcode;

pub use course::{BranchOrder, Course, Turning, Turns};
pub use driver::{Budget, Dump, Phase, Trace, Unfinished, climb, search, shortlist};
pub use error::CompileError;
pub use isa::{CompiledShader, SimError, Simulator, TargetIsa, no_chip};
pub use limits::Limits;
pub use options::{ColorFormat, MatrixLayout, OptLevel, Options};
pub use pattern::{Fired, Matcher, Pattern, Selects, one_to_one};
pub use reflect::{ReflectConstants, Reflection};
pub use regalloc2::{OperandConstraint, OperandKind, OperandPos, PReg, PRegSet, RegClass, VReg};
pub use retroshade_ir::Cancel;
pub use retroshade_regalloc::{AllocOptions, AllocStep, BankKind, ClassSpec, PlacedReg, RegFile, Scan, SlotBank, file::NO_CLASS};
pub use text::{AsmOutput, Syntax, TextError, TextOptions};
pub use vcode::{MachInst, Memory, OperandVisitor, Placed, PlacedInst, Reg, Target, VBlock, VCode, View, place, place_in};
