//! Compiles the shader for two machines.

use retroshade::build::{BuildError, Shader};

fn main() -> Result<(), BuildError> {
    Shader::new("shaders/textured.wgsl").target("pica").build()?;
    // A second machine goes to a folder of its own.
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("r700");
    std::fs::create_dir_all(&out).map_err(|source| BuildError::Io { path: out.clone(), source })?;
    Shader::new("shaders/textured.wgsl").target("r700").write(&out)?;
    Ok(())
}
