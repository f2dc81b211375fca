//! GLSL: the front end ends on any text in each stage, and its modules obey the rules of the IR.
#![no_main]

use libfuzzer_sys::fuzz_target;
use retroshade::frontend::{FrontOptions, glsl};
use retroshade::ir::Stage;

fuzz_target!(|text: &str| {
    for stage in Stage::ALL {
        let options = FrontOptions { stage: Some(*stage), ..FrontOptions::default() };
        if let Ok(module) = glsl("fuzz.glsl", text, &options) {
            assert!(retroshade::ir::verify(&module).is_ok());
        }
    }
});
