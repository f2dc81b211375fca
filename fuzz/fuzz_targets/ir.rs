//! IR text: the parser and the verifier end on any bytes, and what they accept prints to text that reads back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(module) = retroshade::ir::parse_bytes("fuzz.ir", bytes) else { return };
    if retroshade::ir::verify(&module).is_err() {
        return;
    }
    let text = retroshade::print(&module);
    let again = retroshade::parse("again.ir", &text).expect("printed text is valid");
    assert_eq!(retroshade::print(&again), text);
});
