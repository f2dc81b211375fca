//! Programs of the vendor's compiler in containers: words from the folder of known answers beside the repository are put into
//! containers as the format describes them, and run from the container's bytes alone.
#![allow(clippy::unwrap_used)]

use retroshade_ir::env::{Filter, Wrap};
use retroshade_ir::{InvocationInputs, ShaderEnv, ShaderResult, TexDim, TextureData};
use retroshade_lower::testing::text_beside;
use retroshade_usse::container::{self, Descriptor, Gxp, Parameter, Varyings};
use retroshade_usse::isa;

fn words(s: &str) -> Vec<u64> {
    s.split_whitespace().map(|w| u64::from_str_radix(w, 16).unwrap()).collect()
}

fn parameter(category: u8, name: &str, components: u8, array: u32, resource: u32) -> Parameter {
    let container = if category == 1 { 14 } else { 0 };
    Parameter { name: name.to_string(), category, components, container, array, resource, ..Parameter::default() }
}

/// A container with these programs and `uniforms` words of the default uniform buffer in registers.
fn gxp(fragment: bool, primary: Vec<u64>, secondary: Vec<u64>, uniforms: u16, varyings: Varyings) -> Gxp {
    Gxp {
        minor: 4,
        sdk: 0,
        compiler: 0,
        flags: if fragment { 1 } else { 1 << 16 },
        buffer_flags: 0x1000_0000,
        texunit_flags: 0,
        primary_regs: 36,
        secondary_regs: 64,
        temps: 32,
        phases: vec![0],
        primary,
        secondary,
        data_count: 0,
        default_words: uniforms as u32,
        parameters: Vec::new(),
        varyings,
        literals: Vec::new(),
        uniform_buffers: Vec::new(),
        dependent_samplers: Vec::new(),
        containers: vec![(14, 0, uniforms), (19, uniforms, 0)],
        queries: Vec::new(),
    }
}

fn vertex(outputs1: u32, outputs2: u32) -> Varyings {
    Varyings::Vertex { attributes: 0, untyped: 0, outputs1, outputs2, half: 0, vertex_index: 0, instance_index: 0 }
}

/// Runs the bytes of a container; inputs and uniforms in the order of its interface.
fn run(g: &Gxp, inputs: Vec<Vec<u32>>, uniforms: Vec<Vec<u32>>, textures: Vec<TextureData>) -> ShaderResult {
    let bytes = container::write(g);
    let names = isa().container_interface(&bytes).unwrap().remove(0);
    assert_eq!((names.inputs.len(), names.uniforms.len(), names.textures.len()), (inputs.len(), uniforms.len(), textures.len()));
    let n = if g.is_fragment() { 4 } else { 1 };
    let env = ShaderEnv { invocations: vec![InvocationInputs { inputs }; n], uniforms, textures, ..ShaderEnv::default() };
    isa().run_container(&bytes, &names, &env).unwrap()
}

fn bits(v: &[f32]) -> Vec<u32> {
    v.iter().map(|x| x.to_bits()).collect()
}

/// The words of a worked example: the lines behind its name up to the end of the block.
fn example(sheet: &str, name: &str) -> Vec<u64> {
    let block = sheet.split(&format!("`{name}`")).last().unwrap().split("```").nth(1).unwrap();
    block.lines().filter_map(|l| u64::from_str_radix(l.split_whitespace().next()?, 16).ok()).collect()
}

#[test]
fn worked_examples() {
    let Some(sheet) = text_beside("isa/usse.md") else { return };
    // A position by a matrix, a texture coordinate passed on.
    let mut g = gxp(false, example(&sheet, "libvita2d/texture_v"), Vec::new(), 16, vertex(0x0600_1000, 1));
    g.parameters = vec![parameter(0, "aPosition", 3, 1, 0), parameter(0, "aTexcoord", 2, 1, 4), parameter(1, "wvp", 4, 4, 0)];
    let wvp: Vec<f32> = (0..16).map(|k| k as f32).collect();
    let r = run(&g, vec![bits(&[1.0, 2.0, 3.0]), bits(&[0.25, 0.75])], vec![bits(&wvp)], Vec::new());
    let column = |k: usize| wvp[k] + 2.0 * wvp[4 + k] + 3.0 * wvp[8 + k] + wvp[12 + k];
    assert_eq!(r.invocations[0].outputs, [bits(&[column(0), column(1), column(2), column(3)]), bits(&[0.25, 0.75])]);
    // A texel that is there at the start, times a uniform, to halves.
    let varyings = Varyings::Fragment {
        output_start: 0,
        output_type: 1,
        components: 4,
        textures: 1,
        descriptors: vec![Descriptor { info: 0xf900, unit: 0, size: 0xc0, result: 0x30 }],
    };
    let mut g = gxp(true, example(&sheet, "libvita2d/texture_tint_f"), Vec::new(), 4, varyings);
    g.parameters = vec![parameter(1, "uTintColor", 4, 1, 0), parameter(2, "tex", 4, 1, 0)];
    let tex = TextureData {
        dim: TexDim::D2,
        size: [2, 1, 1],
        layers: 1,
        levels: 1,
        depth: false,
        filter: Filter::Nearest,
        wrap: Wrap::Repeat,
        texels: [[0.5f32, 0.25, 1.0, 0.75], [0.0; 4]].map(|t| t.map(f32::to_bits)).to_vec(),
    };
    let r = run(&g, vec![bits(&[0.1, 0.5])], vec![bits(&[0.5, 2.0, 0.25, 1.0])], vec![tex]);
    assert_eq!(r.invocations[3].outputs, [bits(&[0.25, 0.5, 0.25, 0.75])]);
}

/// A texture coordinate that the container marks as halves stands in its registers as a float, of which half precision is kept.
#[test]
fn half_varyings() {
    let Some(sheet) = text_beside("isa/usse.md") else { return };
    let mut g = gxp(false, example(&sheet, "libvita2d/texture_v"), Vec::new(), 16, vertex(0x0600_1000, 1));
    g.parameters = vec![parameter(0, "aPosition", 3, 1, 0), parameter(0, "aTexcoord", 2, 1, 4), parameter(1, "wvp", 4, 4, 0)];
    if let Varyings::Vertex { half, .. } = &mut g.varyings {
        *half = 1;
    }
    let third = 1.0f32 / 3.0;
    let r = run(&g, vec![bits(&[0.0; 3]), bits(&[third, 0.75])], vec![bits(&[0.0; 16])], Vec::new());
    assert_eq!(r.invocations[0].outputs[1], bits(&[0.333_251_95, 0.75]));
}

/// The programs that were recorded on a console, with secondary programs and literals, in containers.
#[test]
fn recorded_programs() {
    let Some(all) = text_beside("vectors/usse-hardware.tsv") else { return };
    let (mut programs, mut bytes) = (std::collections::BTreeMap::new(), 0);
    for line in all.lines().filter(|l| !l.starts_with('#')) {
        let c: Vec<&str> = line.split('\t').collect();
        let regs = |s: &str| words(s).into_iter().map(|w| w as u32).collect::<Vec<u32>>();
        if let Some(name) = c[0].strip_prefix("program ") {
            // Outputs from o4 on: two colours and a texture coordinate.
            let mut g = gxp(false, words(c[2]), words(c[1]), 32, vertex(0x1000_1c00, 7));
            let literals = c.get(3).unwrap_or(&"").split_whitespace().filter_map(|l| l.strip_prefix("sa")?.split_once('='));
            g.literals = literals.map(|(n, v)| (n.parse::<u32>().unwrap() - 32, u32::from_str_radix(v, 16).unwrap())).collect();
            g.parameters = (0..9).map(|k| parameter(0, &format!("a{k}"), 4, 1, 4 * k)).collect();
            g.parameters.push(parameter(1, "u", 4, 8, 0));
            programs.insert(name.to_string(), g);
            continue;
        }
        let g = &programs[c[0].strip_prefix("run ").unwrap()];
        let pa = regs(c[2]);
        let r = run(g, pa.chunks(4).map(<[u32]>::to_vec).collect(), vec![regs(c[1])], Vec::new());
        let got: Vec<u32> = r.invocations[0].outputs[1..].concat();
        for (k, want) in c[3].split_whitespace().enumerate().filter(|(_, w)| *w != "--") {
            let want = i32::from_str_radix(want, 16).unwrap();
            let byte = (f32::from_bits(got[k]).clamp(0.0, 1.0) * 255.0).round() as i32;
            assert!((byte - want).abs() <= 1, "{}, o{}: {byte} instead of {want}", c[0], 4 + k);
            bytes += 1;
        }
    }
    println!("{bytes} recorded bytes");
    assert!(programs.len() == 6 && bytes > 1000);
}
