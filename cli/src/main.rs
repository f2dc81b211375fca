//! The `shaderc` command.
fn main() {}
