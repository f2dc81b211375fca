//! `from_naga`, for programs that have a naga module already: `cargo test -p retroshade-frontend --features naga-30 --test from_naga`.
#![cfg(feature = "naga-30")]

mod common;

use common::{checked, floats, run, words};
use retroshade_frontend::{FrontOptions, from_naga};
use retroshade_ir::Stage;

const SOURCE: &str = "@group(0) @binding(1) var<uniform> scale: vec4<f32>;
@vertex fn first(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> { return p; }
@vertex fn second(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> { return p * scale; }";

#[test]
fn a_module_becomes_a_program() {
    let module = naga::front::wgsl::parse_str(SOURCE).expect("parses");
    let options = FrontOptions { entry: Some("second".into()), stage: Some(Stage::Vertex), ..FrontOptions::default() };
    let m = checked(from_naga(&module, "s.wgsl", SOURCE, &options).expect("translates"));
    assert_eq!(m.uniforms.values().map(|u| &*u.name).collect::<Vec<_>>(), ["scale"]);
    let r = run(&m, vec![words(&[1.0, 2.0, 3.0, 4.0])], vec![words(&[2.0, 3.0, 4.0, 5.0])]);
    assert_eq!(floats(&r[0]), [2.0, 6.0, 12.0, 20.0]);
    // Messages and instructions point into the text that is given.
    let f = &m.functions[m.entry];
    assert!(f.ordered().any(|(_, i)| SOURCE[f.spans[i].start as usize..f.spans[i].end as usize].contains("p * scale")));
    let both = FrontOptions { stage: Some(Stage::Vertex), ..FrontOptions::default() };
    assert!(from_naga(&module, "s.wgsl", SOURCE, &both).is_err_and(|e| e.diagnostics[0].message.contains("second")));
}
