//! The container's reader: what the writer makes is read back, and no damage makes it panic.
#![allow(clippy::unwrap_used)]

use retroshade_ir::{InvocationInputs, ShaderEnv, parse};
use retroshade_lower::{Options, TextOptions};
use retroshade_usse::container::{self, Gxp, Varyings, lint};
use retroshade_usse::isa;

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

const LIT_VERTEX: &str = r#"
shader vertex "lit"
input    %place : f32x3    @location(0)
input    %uv    : f32x2    @location(1)
input    %n     : i32      @vertex_index
uniform  %m     : f32x4[4] @binding(0)
uniform  %t     : f32x4[8] @binding(1)
output   %position : f32x4 @position
output   %out   : f32x2    @location(0)
block0:
    v0 = input.f32x3 %place
    v1 = input.f32x2 %uv
    v2 = input.i32 %n
    v3 = uniform.f32x4 %t[v2]
    v4 = uniform.f32x4 %m[0]
    v5 = fmul v3, v4
    output %position, v5
    output %out, v1
    return
"#;

fn compiled_vertex() -> Vec<u8> {
    let module = parse("lit.ir", LIT_VERTEX).unwrap_or_else(|e| panic!("{e:?}"));
    isa().compile(&module, &Options::default()).unwrap().container
}

/// Changes the first input descriptor.
fn first_input(g: &mut Gxp, change: fn(&mut container::Descriptor)) {
    if let Varyings::Fragment { descriptors, .. } = &mut g.varyings {
        change(&mut descriptors[0]);
    }
}

/// Damage to a container, and the rule that notices it.
const DAMAGE: &[(&str, bool, fn(&mut Gxp))] = &[
    ("version", true, |g| g.minor = 7),
    ("phases", true, |g| g.phases = vec![0]),
    ("phases", true, |g| g.phases = vec![0, 5, 9]),
    ("phase-header", true, |g| g.phases[1] += 1),
    ("phase-header", true, |g| g.primary[0] = 0xfa44_0700_0000_0000),
    ("fragment-flags", true, |g| g.flags ^= container::flag::ITERATED),
    ("fragment-flags", true, |g| g.texunit_flags = 0),
    ("kill", true, |g| g.flags ^= container::flag::KILL),
    ("kill", true, |g| g.literals.retain(|l| l.1 != 0xe000)),
    ("parameter", true, |g| g.parameters[0].category = 6),
    ("parameter", true, |g| g.parameters[0].array = 0),
    ("attribute", false, |g| g.parameters[0].components = 3),
    ("attribute", false, |g| g.parameters[0].resource = 2),
    ("attribute", false, |g| {
        if let Varyings::Vertex { attributes, .. } = &mut g.varyings {
            *attributes |= 1 << 60;
        }
    }),
    ("uniform", true, |g| g.parameters[0].resource = 90),
    ("sampler", true, |g| g.parameters[1].semantic = 0),
    ("query", true, |g| g.queries[0] = 0x0300),
    ("query", true, |g| g.queries.clear()),
    ("buffer-size", true, |g| g.default_words = 5),
    ("buffer-size", true, |g| g.containers[1].1 += 2),
    ("container", true, |g| g.containers[0].2 = 500),
    ("data-size", true, |g| g.data_count += 1),
    ("literal", true, |g| g.literals[0].0 = 40),
    ("buffer-flags", true, |g| g.buffer_flags = 0),
    ("base", false, |g| g.uniform_buffers[0].2 = -3),
    ("texture-state", true, |g| g.texunit_flags |= 2 << 4),
    ("outputs", false, |g| {
        if let Varyings::Vertex { outputs1, .. } = &mut g.varyings {
            *outputs1 += 1 << 24;
        }
    }),
    ("descriptor", true, |g| first_input(g, |d| d.info ^= 1 << 11)),
    ("inputs", true, |g| g.primary_regs = 1),
    ("result", true, |g| {
        if let Varyings::Fragment { output_type, .. } = &mut g.varyings {
            *output_type = 3;
        }
    }),
    ("vertex-flags", false, |g| g.flags ^= container::flag::VERTEX),
    ("vertex-end", false, |g| g.primary.retain(|w| *w != 0xfb27_5000_a020_0000)),
    ("secondary-end", true, |g| g.secondary = vec![0xf800_0940_0000_0000]),
    ("registers", true, |g| g.secondary_regs = 4),
];

#[test]
fn every_damage_is_noticed() {
    let (mut rules, mut missed) = (std::collections::BTreeSet::new(), Vec::new());
    for (rule, fragment, damage) in DAMAGE {
        let good = if *fragment { compiled() } else { compiled_vertex() };
        assert_eq!(lint::lint(&good).unwrap(), vec![]);
        let mut g = container::read(&good).unwrap();
        damage(&mut g);
        let found = lint::lint(&container::write(&g)).unwrap();
        if !found.iter().any(|e| e.message.starts_with(&format!("{rule}: "))) {
            missed.push((*rule, found));
        }
        rules.insert(*rule);
    }
    assert!(missed.is_empty(), "{missed:?}");
    // Sections on top of each other: the literals' offset points at the programs.
    let mut bytes = compiled();
    bytes[0x74..0x78].copy_from_slice(&(0xc0i32 - 0x74).to_le_bytes());
    assert!(lint::lint(&bytes).unwrap().iter().any(|e| e.message.starts_with("sections: ")));
    assert!(rules.len() >= 20 && rules.iter().all(|r| lint::RULES.iter().any(|x| x.name == *r)));
}

#[test]
fn what_is_written_is_read_back() {
    let bytes = compiled();
    let g = container::read(&bytes).unwrap();
    assert_eq!(container::read(&container::write(&g)).unwrap(), g);
    assert!(g.is_fragment() && g.phases.len() == 2 && g.flags >> 3 & 1 == 1);
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
                let m = &m[0];
                let inputs = m.inputs.values().map(|d| vec![0x3f00_0000; d.ty.lanes as usize]).collect();
                let env = ShaderEnv {
                    invocations: vec![InvocationInputs { inputs }],
                    uniforms: m.uniforms.values().map(|d| vec![0; d.elements().max(1) as usize * d.ty.lanes as usize]).collect(),
                    textures: m.textures.values().map(retroshade_lower::bind::blank_texture).collect(),
                    ..ShaderEnv::default()
                };
                runs += isa().run_container(&b, m, &env).is_ok() as u32;
            }
        }
    }
    assert!(runs > 100, "{runs} damaged containers ran");
}
