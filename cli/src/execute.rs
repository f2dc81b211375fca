//! `run`, `render` and `test`.

use crate::args::{RenderArgs, RunArgs, TestArgs};
use crate::report::Failure;

/// `shaderc run`
pub fn run(_: &RunArgs) -> Result<(), Failure> {
    Err(Failure::plain(1, "C0012", "this build cannot run shaders"))
}

/// `shaderc render`
pub fn render(_: &RenderArgs) -> Result<(), Failure> {
    Err(Failure::plain(1, "C0012", "this build cannot render"))
}

/// `shaderc test`
pub fn test(_: &TestArgs) -> Result<(), Failure> {
    Err(Failure::plain(1, "C0012", "this build cannot run filetests"))
}
