//! How the command is linked on Linux: most of the time of a small program goes into loading it.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CXX");
    let var = |key: &str| std::env::var(key).unwrap_or_default();
    let target = [var("CARGO_CFG_TARGET_ARCH"), var("CARGO_CFG_TARGET_OS"), var("CARGO_CFG_TARGET_ENV")];
    if target != ["x86_64", "linux", "gnu"] || var("HOST") != var("TARGET") {
        return;
    }
    // At addresses that are known before it starts nothing is left to relocate, above all not the tables of all encodings.
    println!("cargo:rustc-link-arg-bin=shaderc=-no-pie");
    // The C++ library, which only glslang needs, is looked up name by name unless it is part of the command.
    if let Some(folder) = static_library(&var("CXX"), Path::new(&var("OUT_DIR"))) {
        println!("cargo:rustc-link-arg-bin=shaderc=-L{}", folder.display());
    }
}

/// A folder with the C++ library for static linking and nothing else, if the compiler has one: linkers prefer shared ones that lie beside it.
fn static_library(compiler: &str, out: &Path) -> Option<PathBuf> {
    const NAME: &str = "libstdc++.a";
    let compiler = if compiler.is_empty() { "c++" } else { compiler };
    let said = Command::new(compiler).arg(format!("-print-file-name={NAME}")).output().ok()?;
    let library = PathBuf::from(String::from_utf8(said.stdout).ok()?.trim());
    // A compiler that does not know it prints its name.
    library.is_absolute().then(|| std::fs::copy(&library, out.join(NAME)).ok())??;
    Some(out.to_path_buf())
}
