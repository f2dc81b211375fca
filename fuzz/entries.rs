//! What each entry does with its bytes. The fuzzing targets and the smoke run of `cargo test` share these functions; a panic is a finding.

use retroshade::frontend::{self, FrontError, FrontOptions};
use retroshade::ir::{Module, Stage};
use retroshade::lower::bind::parse_env;
use retroshade::render::{Image, Mesh};
use retroshade::{CompileError, Options, TargetIsa, TextOptions};

/// An entry: its name and what it does.
pub type Entry = (&'static str, fn(&[u8]));

/// All of them.
pub const ALL: &[Entry] = &[
    ("ir", ir),
    ("wgsl", wgsl),
    ("glsl", glsl),
    ("hlsl", hlsl),
    ("cg", cg),
    ("spirv", spirv),
    ("compile", compile),
    ("asm_tesla", |b| assembly("tesla", b)),
    ("asm_usse", |b| assembly("usse", b)),
    ("asm_r700", |b| assembly("r700", b)),
    ("asm_pica", |b| assembly("pica", b)),
    ("dis", disassembly),
    ("container", container),
    ("bind", bind),
    ("image", image),
];

/// IR text: the parser and the verifier end on any bytes, and what they accept prints to text that reads back the same.
pub fn ir(bytes: &[u8]) {
    let Ok(module) = retroshade::ir::parse_bytes("fuzz.ir", bytes) else { return };
    if retroshade::ir::verify(&module).is_err() {
        return;
    }
    let text = retroshade::print(&module);
    match retroshade::parse("again.ir", &text) {
        Ok(again) => assert_eq!(retroshade::print(&again), text),
        Err(e) => panic!("printed text is not valid: {e}\n{text}"),
    }
}

/// A front end ends on any text in each stage, and its modules obey the rules of the IR.
fn front(bytes: &[u8], stages: &[Option<Stage>], read: fn(&str, &[u8], &FrontOptions) -> Result<Module, FrontError>) {
    for stage in stages {
        let options = FrontOptions { stage: *stage, ..FrontOptions::default() };
        if let Ok(module) = read("fuzz", bytes, &options) {
            assert!(retroshade::ir::verify(&module).is_ok(), "the module breaks a rule of the IR");
        }
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

const EACH: [Option<Stage>; 4] = [Some(Stage::Vertex), Some(Stage::Fragment), Some(Stage::Geometry), Some(Stage::Compute)];

/// WGSL.
pub fn wgsl(bytes: &[u8]) {
    front(bytes, &[None], |name, b, o| frontend::wgsl(name, text(b), o));
}

/// GLSL.
pub fn glsl(bytes: &[u8]) {
    front(bytes, &EACH, |name, b, o| frontend::glsl(name, text(b), o));
}

/// HLSL.
pub fn hlsl(bytes: &[u8]) {
    front(bytes, &EACH[..2], |name, b, o| frontend::hlsl(name, text(b), o));
}

/// Cg, which becomes HLSL first.
pub fn cg(bytes: &[u8]) {
    front(bytes, &EACH[..2], |_, b, o| frontend::hlsl("fuzz.cg", text(b), o));
}

/// SPIR-V.
pub fn spirv(bytes: &[u8]) {
    front(bytes, &[None], frontend::spirv);
}

/// Every machine compiles or refuses what the verifier accepts, and its own bytes read back.
pub fn compile(bytes: &[u8]) {
    let Ok(module) = retroshade::ir::parse_bytes("fuzz.ir", bytes) else { return };
    if retroshade::ir::verify(&module).is_err() {
        return;
    }
    for isa in retroshade::targets() {
        if !isa.stages().contains(&module.stage) {
            continue;
        }
        match isa.compile(&module, &Options::default()) {
            Ok(shader) => assert!(isa.disassemble(&shader.container, &TextOptions::default()).is_ok(), "{}: no text", isa.name()),
            Err(e @ (CompileError::Internal(_) | CompileError::Unsound(_) | CompileError::Wrong(_))) => panic!("{}: {e}", isa.name()),
            Err(_) => {}
        }
    }
}

/// A machine's assembler ends on any text.
pub fn assembly(machine: &str, bytes: &[u8]) {
    let Some(isa) = retroshade::target(machine) else { return };
    for stage in EACH {
        let options = TextOptions { stage, ..TextOptions::default() };
        let _ = isa.assemble(text(bytes), &options);
        let _ = isa.asm_line(text(bytes).lines().next().unwrap_or(""), &options);
    }
}

/// The machine that the first byte chooses.
fn chosen(bytes: &[u8]) -> Option<(&'static dyn TargetIsa, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let targets = retroshade::targets();
    targets.get(*first as usize % targets.len().max(1)).map(|isa| (*isa, rest))
}

/// Code words: disassemblers and linters end on any bytes, and text lines of any kind are read or refused. The first byte chooses the machine.
pub fn disassembly(bytes: &[u8]) {
    let Some((isa, rest)) = chosen(bytes) else { return };
    let _ = isa.disassemble(rest, &TextOptions::default());
    let _ = isa.lint(rest, &TextOptions::default());
    let _ = isa.dis_line(text(rest).lines().next().unwrap_or(""), &TextOptions::default());
}

/// Containers: readers end on any bytes.
pub fn container(bytes: &[u8]) {
    for isa in retroshade::targets() {
        let _ = isa.is_container(bytes);
        let _ = isa.container_interface(bytes);
        let _ = isa.container_reflection(bytes);
        let _ = isa.disassemble(bytes, &TextOptions::default());
        let _ = isa.lint(bytes, &TextOptions::default());
    }
}

/// A program with an input, a uniform, an array of them, a texture and a buffer.
pub const BOUND: &str = "shader fragment \"bind\"
input %a : f32x4 @location(0)
uniform %u : f32x3 @group(0) @binding(0) @offset(0)
uniform %n : i32 @group(0) @binding(0) @offset(16)
texture %t : 2d f32 @binding(1)
output %o : f32x4 @location(0)
block0:
    v0 = input.f32x4 %a
    output %o, v0
    return
";

/// Bind files: any text is read or refused.
pub fn bind(bytes: &[u8]) {
    if let Ok(module) = retroshade::parse("bind.ir", BOUND) {
        let _ = parse_env(&module, text(bytes));
    }
}

/// Images and models: any bytes are read or refused.
pub fn image(bytes: &[u8]) {
    let _ = Image::from_png(bytes);
    let _ = Mesh::from_obj(bytes);
    let _ = Mesh::from_gltf(bytes, &|name| Err(format!("{name} is elsewhere")));
}
