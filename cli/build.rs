//! How the command is linked.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The tables of four machines are full of addresses. At a fixed place the linker writes them; otherwise the loader does, in every
    // process: 45,000 addresses and 300 pages, a fifth of the time of a small shader.
    let is = |variable: &str, value: &str| var(variable).is_ok_and(|v| v == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
