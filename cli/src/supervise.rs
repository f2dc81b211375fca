//! HLSL is read in a process of its own: glslang's reader of it ends on some malformed texts by a fault, which would leave no message.
//! (For GLSL glslang is the reference, and no such text is known.)

use crate::report::Failure;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// Says to a process that it is the one that is watched.
const INNER: &str = "SHADERC_INNER";

/// Runs the command in a process of its own if it reads HLSL; `None` where this process is to do it.
pub fn run(arguments: &[OsString]) -> Option<Result<ExitCode, Failure>> {
    if std::env::var_os(INNER).is_some() || !arguments.iter().any(is_hlsl) {
        return None;
    }
    let program = std::env::current_exe().ok()?;
    let status = Command::new(program).args(std::env::args_os().skip(1)).env(INNER, "1").status().ok()?;
    Some(match status.code().map(u8::try_from) {
        Some(Ok(code)) => Ok(ExitCode::from(code)),
        _ => {
            let m = format!("glslang, which reads HLSL, fails on the source ({status}), which is malformed in a way that it does not tell");
            Err(Failure::plain(1, "F0025", m))
        }
    })
}

/// Whether an argument names a file in HLSL or Cg, or the language.
fn is_hlsl(argument: &OsString) -> bool {
    let text = argument.to_string_lossy().to_ascii_lowercase();
    [".hlsl", ".cg"].iter().any(|e| text.ends_with(e)) || text == "hlsl" || text == "--lang=hlsl"
}
