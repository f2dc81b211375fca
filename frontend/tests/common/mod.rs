//! Running shaders on the interpreter from tests.
#![allow(dead_code)]

use retroshade_frontend::{FrontOptions, glsl, wgsl};
use retroshade_ir::{InvocationInputs, Module, Reference, ShaderEnv, Stage, TextureData, TextureDecl};

/// Translates WGSL and verifies the result.
pub fn from_wgsl(source: &str) -> Module {
    let m = match wgsl("test.wgsl", source, &FrontOptions::default()) {
        Ok(m) => m,
        Err(e) => panic!("{e}\n{source}"),
    };
    checked(m)
}

/// Translates GLSL and verifies the result.
pub fn from_glsl(stage: Stage, source: &str) -> Module {
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    let m = match glsl("test.glsl", source, &options) {
        Ok(m) => m,
        Err(e) => panic!("{e}\n{source}"),
    };
    checked(m)
}

/// Verifies a module, and that its text reads back.
pub fn checked(m: Module) -> Module {
    if let Err(e) = retroshade_ir::verify(&m) {
        panic!("{}\n{}", e.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("\n"), retroshade_ir::print(&m));
    }
    m
}

/// Words of floats.
pub fn words(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Floats of words.
pub fn floats(x: &[u32]) -> Vec<f32> {
    x.iter().map(|x| f32::from_bits(*x)).collect()
}

/// A texture of one level with these in its first channel.
pub fn texture(d: &TextureDecl, size: [u32; 3], first: impl Iterator<Item = u32>) -> TextureData {
    TextureData {
        dim: d.dim,
        size,
        layers: 1,
        levels: 1,
        depth: false,
        filter: Default::default(),
        wrap: Default::default(),
        texels: first.map(|k| [k, 0, 0, 0]).collect(),
    }
}

/// Runs one vertex or fragment invocation: inputs in declaration order.
pub fn run(m: &Module, inputs: Vec<Vec<u32>>, uniforms: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let lanes = if m.stage == Stage::Fragment { 4 } else { 1 };
    let env = ShaderEnv { invocations: vec![InvocationInputs { inputs }; lanes], uniforms, ..ShaderEnv::default() };
    match retroshade_ir::interp::run(m, &env, &Reference) {
        Ok(r) => r.invocations[0].outputs.clone(),
        Err(e) => panic!("{e}\n{}", retroshade_ir::print(m)),
    }
}

/// Runs a compute shader on storage buffers.
pub fn run_compute(m: &Module, storage: Vec<Vec<u32>>, uniforms: Vec<Vec<u32>>, workgroups: [u32; 3]) -> Vec<Vec<u32>> {
    let env = ShaderEnv { storage, uniforms, workgroups, ..ShaderEnv::default() };
    match retroshade_ir::interp::run(m, &env, &Reference) {
        Ok(r) => r.storage,
        Err(e) => panic!("{e}\n{}", retroshade_ir::print(m)),
    }
}

/// Runs one workgroup of a compute program: storage buffers in the order of declaration, uniforms by name.
pub fn compute(m: &Module, storage: Vec<Vec<u32>>, uniforms: &[(&str, Vec<u32>)]) -> Vec<Vec<u32>> {
    let of = |name: &str| uniforms.iter().find(|u| u.0 == name).map(|u| u.1.clone());
    let uniforms = m.uniforms.values().map(|u| of(&u.name).unwrap_or_else(|| panic!("no value for {}", u.name))).collect();
    run_compute(m, storage, uniforms, [1; 3])
}

/// Asserts that a program which writes a texel of the storage texture `t` and reads it into the second buffer finds `want` there.
pub fn texel_comes_back(m: &Module, format: &str, want: [f32; 4]) {
    let r = compute(m, vec![vec![0; 64], vec![0; 4]], &[("t.size", vec![2, 2, 2, 8])]);
    close(format, &floats(&r[1]), &want, 1e-6);
}

/// Asserts that floats agree within a relative and absolute tolerance.
pub fn close(what: &str, got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len(), "{what}: {got:?} instead of {want:?}");
    for (g, w) in got.iter().zip(want) {
        let ok = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= tolerance * w.abs().max(1.0);
        assert!(ok, "{what}: {got:?} instead of {want:?}");
    }
}
