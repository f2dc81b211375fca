//! The container's reader: what the writer makes is read back, and no damage makes it panic.
#![allow(clippy::unwrap_used)]

use retroshade_ir::{InvocationInputs, ShaderEnv, parse};
use retroshade_lower::{Options, TextOptions};
use retroshade_usse::{container, isa};

const LIT: &str = r#"
shader fragment "lit"
input    %uv   : f32x2    @location(0)
input    %rgba : f32x4    @location(1)
uniform  %tint : f32x4    @binding(0)
texture  %tex  : 2d f32   @binding(1)
output   %color : f32x4   @location(0)
block0:
    v0 = input.f32x2 %uv
    v1 = input.f32x4 %rgba
    v2 = tex.f32x4 sample %tex, v0
    v3 = fmul v2, v1
    v4 = uniform.f32x4 %tint
    v5 = fmul v3, v4
    v6 = extract v5, 3
    v7 = fconst.f32 0.666
    v8 = fcmp olt v6, v7
    discard v8
    output %color, v5
    return
"#;

fn compiled() -> Vec<u8> {
    let module = parse("lit.ir", LIT).unwrap_or_else(|e| panic!("{e:?}"));
    isa().compile(&module, &Options::default()).unwrap().container
}

#[test]
fn what_is_written_is_read_back() {
    let bytes = compiled();
    let g = container::read(&bytes).unwrap();
    assert_eq!(container::read(&container::write(&g)).unwrap(), g);
    assert!(g.is_fragment() && g.phases == 2 && g.flags >> 3 & 1 == 1);
    assert!(g.parameters.iter().any(|p| p.name == "tint" && p.category == 1));
    let text = isa().disassemble(&bytes, &TextOptions::default()).unwrap();
    assert!(text.contains("KILL") && !text.contains("error"), "{text}");
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = compiled();
    // Padding behind the last name is not part of the file.
    let size = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    for n in 0..size {
        assert!(container::read(&bytes[..n]).is_err(), "{n} bytes of {size} are read as a container");
    }
}

#[test]
fn random_damage_never_panics() {
    let bytes = compiled();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut runs = 0;
    for n in 0..100_000 {
        let mut b = bytes.clone();
        for _ in 0..1 + next() % 3 {
            let at = next() as usize % b.len();
            b[at] ^= 1 << (next() % 8);
        }
        if let Ok(g) = container::read(&b) {
            let _ = container::describe(&g);
            let _ = retroshade_usse::sim::Code::new(&g.primary, false);
            // What still has an interface can be run, or says why not.
            if let (0, Ok(m)) = (n % 100, isa().container_interface(&b)) {
                let inputs = m.inputs.values().map(|d| vec![0x3f00_0000; d.ty.lanes as usize]).collect();
                let env = ShaderEnv {
                    invocations: vec![InvocationInputs { inputs }],
                    uniforms: m.uniforms.values().map(|d| vec![0; d.elements().max(1) as usize * d.ty.lanes as usize]).collect(),
                    textures: m.textures.values().map(retroshade_lower::bind::blank_texture).collect(),
                    ..ShaderEnv::default()
                };
                runs += isa().run_container(&b, &env).is_ok() as u32;
            }
        }
    }
    assert!(runs > 100, "{runs} damaged containers ran");
}
