//! Assembly text: assemblers end on any text. The first byte chooses the machine.
#![no_main]

use libfuzzer_sys::fuzz_target;
use retroshade::TextOptions;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let targets = retroshade::targets();
    let isa = targets[*first as usize % targets.len()];
    let _ = isa.assemble(text, &TextOptions::default());
    let _ = isa.asm_line(text.lines().next().unwrap_or(""), &TextOptions::default());
});
