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
    // Shared libraries are found, mapped and looked up name by name, which takes longer than many a compilation.
    let folder = |name: &str, of: &[_]| static_libraries(&var("CXX"), &Path::new(&var("OUT_DIR")).join(name), of);
    if let Some(all) = folder("all", &LIBRARIES) {
        println!("cargo:rustc-link-arg-bin=shaderc=-L{}", all.display());
        println!("cargo:rustc-link-arg-bin=shaderc=-static");
    } else if let Some(largest) = folder("largest", &LIBRARIES[..1]) {
        println!("cargo:rustc-link-arg-bin=shaderc=-L{}", largest.display());
    }
}

/// Libraries of the system that the command is linked to, and what each is for static linking.
const LIBRARIES: [(&str, &str); 8] = [
    // Only glslang needs it.
    ("stdc++", "libstdc++.a"),
    ("gcc_s", "libgcc_eh.a"),
    ("util", "libutil.a"),
    ("rt", "librt.a"),
    ("pthread", "libpthread.a"),
    ("m", "libm.a"),
    ("dl", "libdl.a"),
    ("c", "libc.a"),
];

/// A folder that leads to such libraries, if the compiler has them: linkers prefer shared ones that lie beside them.
fn static_libraries(compiler: &str, folder: &Path, libraries: &[(&str, &str)]) -> Option<PathBuf> {
    let compiler = if compiler.is_empty() { "c++" } else { compiler };
    let place = |file: &str| {
        let said = Command::new(compiler).arg(format!("-print-file-name={file}")).output().ok()?;
        let place = PathBuf::from(String::from_utf8(said.stdout).ok()?.trim());
        // A compiler that does not know it prints its name.
        place.is_absolute().then_some(place)
    };
    let places: Vec<PathBuf> = libraries.iter().map(|(_, file)| place(file)).collect::<Option<_>>()?;
    std::fs::create_dir_all(folder).ok()?;
    for ((name, _), place) in libraries.iter().zip(places) {
        std::fs::write(folder.join(format!("lib{name}.a")), format!("INPUT ( \"{}\" )\n", place.display())).ok()?;
    }
    Some(folder.to_path_buf())
}
