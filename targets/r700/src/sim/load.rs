//! Runs a program of a Wii U file: all that it needs stands in the file, and in the environment by the file's own names.

use crate::container::interface;
use crate::container::stages;
use crate::isa::program::{Program, words_of};
use retroshade_ir::{ShaderEnv, ShaderResult, Stage};
use retroshade_lower::{SimError, TextError};

/// Runs the program that has this name in [`interface::of`].
pub fn run_file(bytes: &[u8], name: &str, env: &ShaderEnv) -> Result<ShaderResult, SimError> {
    let bad = |e: TextError| SimError::BadEnv(e.message);
    let entries = interface::of(bytes).map_err(bad)?;
    let entry = entries.iter().find(|e| e.module.name == name);
    let entry = entry.ok_or_else(|| SimError::BadEnv(format!("the file has no program `{name}`")))?;
    if entry.ring {
        let message = "programs around a ring run with the one before or behind them only: their file does not say what lies in it";
        return Err(SimError::BadEnv(message.to_string()));
    }
    let fetch = match entry.module.stage {
        Stage::Vertex => {
            let words = stages::fetch_shader(&stages::attributes(&entry.module, &entry.abi));
            Some(Program::decode(&words.map_err(|e| SimError::BadEnv(e.to_string()))?).map_err(bad)?)
        }
        _ => None,
    };
    let program = words_of(entry.code).and_then(|w| Program::decode(&w)).map_err(bad)?;
    super::run(&program, fetch.as_ref(), &entry.module, &entry.abi, env)
}
