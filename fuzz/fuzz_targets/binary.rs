//! Code words and containers: readers, disassemblers and linters end on any bytes. The first byte chooses the machine.
#![no_main]

use libfuzzer_sys::fuzz_target;
use retroshade::TextOptions;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let targets = retroshade::targets();
    let isa = targets[*first as usize % targets.len()];
    let _ = isa.disassemble(rest, &TextOptions::default());
    let _ = isa.lint(rest, &TextOptions::default());
});
