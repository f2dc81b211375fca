//! WGSL: the front end ends on any text, and its modules obey the rules of the IR.
#![no_main]

use libfuzzer_sys::fuzz_target;
use retroshade::frontend::{FrontOptions, wgsl};

fuzz_target!(|text: &str| {
    if let Ok(module) = wgsl("fuzz.wgsl", text, &FrontOptions::default()) {
        assert!(retroshade::ir::verify(&module).is_ok());
    }
});
