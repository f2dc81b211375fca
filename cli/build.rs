//! How the command is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|v| v == value);
    // At addresses that are known before it starts nothing is left to relocate: with tables of all encodings that takes longer than a
    // small program takes to compile.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        println!("cargo:rustc-link-arg-bin=shaderc=-no-pie");
    }
}
