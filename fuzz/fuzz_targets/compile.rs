//! Compilation: every machine compiles or refuses what the verifier accepts, and its own bytes read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use retroshade::{CompileError, Options, TextOptions};

fuzz_target!(|bytes: &[u8]| {
    let Ok(module) = retroshade::ir::parse_bytes("fuzz.ir", bytes) else { return };
    if retroshade::ir::verify(&module).is_err() {
        return;
    }
    for isa in retroshade::targets() {
        if !isa.stages().contains(&module.stage) {
            continue;
        }
        match isa.compile(&module, &Options::default()) {
            Ok(shader) => assert!(isa.disassemble(&shader.container, &TextOptions::default()).is_ok()),
            Err(CompileError::Internal(m)) => panic!("{}: {m}", isa.name()),
            Err(_) => {}
        }
    }
});
