//! `retroshade`: the compiler as a library, and what the `shaderc` command is made of.
//!
//! ```
//! let module = retroshade::parse("a.ir", "shader vertex \"main\"\nblock0:\n    return\n")?;
//! let tesla = retroshade::target("tesla").ok_or("no such target")?;
//! # let _ = (module, tesla);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub use retroshade_emit as emit;
pub use retroshade_frontend as frontend;
pub use retroshade_ir as ir;
pub use retroshade_ir::{Builder, Module, ParseFailure, parse, print};
pub use retroshade_lower as lower;
pub use retroshade_lower::{CompileError, CompiledShader, Options, TargetIsa, TextOptions};

pub mod build;
pub mod link;
pub mod listing;
pub mod page;
pub mod render;
pub mod stats;

/// Every machine that this build knows, in the order of the documentation.
pub fn targets() -> Vec<&'static dyn TargetIsa> {
    vec![retroshade_tesla::isa(), retroshade_usse::isa(), retroshade_r700::isa(), retroshade_pica::isa()]
}

/// A machine by its name.
pub fn target(name: &str) -> Option<&'static dyn TargetIsa> {
    targets().into_iter().find(|t| t.name() == name)
}

/// The stage that a file's ending names: `.vert .geom .frag .comp`, and those that HLSL's tools use.
pub fn stage_of_extension(extension: &str) -> Option<ir::Stage> {
    Some(match extension {
        "vert" | "vs" => ir::Stage::Vertex,
        "geom" | "gs" => ir::Stage::Geometry,
        "frag" | "ps" | "fs" => ir::Stage::Fragment,
        "comp" | "cs" => ir::Stage::Compute,
        _ => return None,
    })
}
