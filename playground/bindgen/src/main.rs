//! `bindgen IN.wasm FOLDER`: the module for the web and the JavaScript that loads it, by the version of wasm-bindgen that the lock file names.
#![forbid(unsafe_code)]

use std::error::Error;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(input), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: bindgen IN.wasm FOLDER".into());
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(input).web(true)?.typescript(false).out_name("compiler");
    bindgen.generate(folder)?;
    Ok(())
}
