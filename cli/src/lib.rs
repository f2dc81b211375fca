//! `retroshade`: the compiler as a library, and what the `shaderc` command is made of.
//!
//! ```
//! # #[cfg(all(feature = "wgsl", feature = "tesla"))] {
//! let source = "@vertex fn main(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> { return p; }";
//! let tesla = retroshade::target("tesla").ok_or("no such target")?;
//! let shader = retroshade::compile("a.wgsl", source.as_bytes(), tesla, &Default::default(), &Default::default())?;
//! println!("{} bytes\n{}", shader.code.len(), shader.asm);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program that wants one machine and no command takes one feature: `default-features = false, features = ["pica"]` (and `spirv`, `wgsl`
//! or `glsl` for sources other than IR).
#![forbid(unsafe_code)]

pub use retroshade_core::*;
#[cfg(feature = "filetests")]
pub use retroshade_filetests as filetests;
#[cfg(feature = "macros")]
pub use retroshade_macros::include_shader;

#[cfg(feature = "json")]
pub mod listing;
#[cfg(feature = "json")]
pub mod page;
#[cfg(feature = "render")]
pub mod render;
#[cfg(feature = "json")]
pub mod stats;
