//! HLSL is read in a process of its own: glslang's reader of it ends on some malformed texts by a fault, which would leave no message.
//! (For GLSL glslang is the reference, and no such text is known.)

use crate::report::Failure;
use retroshade::Language;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The first argument of the process that is watched. (A variable would reach the commands that `batch` and `reduce` start, which are to be
/// watched again.)
const INNER: &str = "--supervised";

/// Runs the command in a process of its own if it reads HLSL; `None` where this process is to do it.
pub fn run(arguments: &mut Vec<OsString>) -> Option<Result<ExitCode, Failure>> {
    if arguments.get(1).is_some_and(|a| a == INNER) {
        arguments.remove(1);
        return None;
    }
    if !arguments.iter().any(is_hlsl) {
        return None;
    }
    let program = std::env::current_exe().ok()?;
    let status = Command::new(program).arg(INNER).args(std::env::args_os().skip(1)).status().ok()?;
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
    Language::of_path(Path::new(argument)).is_some_and(|l| l.0 == Language::Hlsl) || argument == "hlsl" || argument == "--lang=hlsl"
}
