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
input    %more : f32x4    @location(2)
uniform  %tint : f32x4    @binding(0)
texture  %tex  : 2d f32   @binding(1)
output   %color : f32x4   @location(0)
block0:
    v0 = input.f32x2 %uv
    v1 = input.f32x4 %rgba
    v2 = tex.f32x4 sample %tex, v0
    v8 = fadd v0, v0
    v9 = tex.f32x4 sample %tex, v8
    v10 = input.f32x4 %more
    v11 = fmul v9, v10
    v12 = fmul v2, v1
    v3 = fadd v11, v12
    v4 = uniform.f32x4 %tint
    v5 = fmul v3, v4
    v6 = extract v5, 3
    v7 = fconst.f32 0.666
    v13 = fcmp olt v6, v7
    discard v13
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

/// Changes the last input descriptor, which reads no texture.
fn last_input(g: &mut Gxp, change: fn(&mut container::Descriptor)) {
    if let Varyings::Fragment { descriptors, .. } = &mut g.varyings {
        let last = descriptors.iter().rposition(|d| !d.reads_texture()).unwrap();
        change(&mut descriptors[last]);
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
    ("texture-units", true, |g| g.texunit_flags = 0),
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
    ("texture-units", true, |g| g.texunit_flags |= 2 << 4),
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
    ("version", true, |g| g.sdk = 0x1234),
    ("version", true, |g| g.compiler = 0),
    ("banks", true, |g| g.primary_regs = 999),
    ("banks", true, |g| g.secondary_regs = 500),
    ("banks", false, |g| g.temps = 500),
    ("flags", true, |g| g.flags ^= 1 << 15),
    ("flags", true, |g| g.flags ^= 1 << 31),
    ("flags", false, |g| g.flags ^= 1 << 21),
    ("flags", true, |g| g.flags ^= 1 << 17),
    ("flags", true, |g| g.flags ^= 1 << 19),
    ("flags", true, |g| g.flags ^= container::flag::NATIVE_COLOUR),
    ("flags", true, |g| g.flags ^= container::flag::READS_COLOUR),
    ("flags", true, |g| g.flags ^= 1 << 8),
    ("native-colour", true, |g| g.flags ^= container::flag::NATIVE_COLOUR),
    ("colour", true, |g| {
        // The colour's conversion once more, at the end of a program that says it has none.
        g.flags ^= container::flag::NO_COLOUR;
        g.primary.extend(g.primary.clone().into_iter().rfind(|w| w >> 59 == 8));
    }),
    ("result", true, |g| g.flags ^= container::flag::NO_COLOUR),
    ("stores", false, |g| g.flags ^= 1 << 14),
    ("index", false, |g| g.flags ^= container::flag::VERTEX_INDEX),
    ("index-read", false, |g| g.flags ^= container::flag::VERTEX_INDEX),
    ("index", false, |g| {
        if let Varyings::Vertex { vertex_index, .. } = &mut g.varyings {
            *vertex_index = 0;
        }
    }),
    ("attribute", false, |g| {
        if let Varyings::Vertex { untyped, .. } = &mut g.varyings {
            *untyped |= 1 << 60;
        }
    }),
    ("attribute", false, |g| g.parameters[0].semantic_index = 200),
    ("buffer-size", true, |g| g.default_words += 2),
    ("buffer-flags", true, |g| g.buffer_flags |= 1 << 30),
    ("texture-units", true, |g| g.texunit_flags |= 1 << 12),
    ("texture-state", true, |g| g.dependent_samplers[1].1 += 1),
    ("texture-read", true, |g| g.dependent_samplers.clear()),
    ("texture-units", true, |g| g.texunit_flags ^= 3),
    ("names", true, |g| g.parameters[1].name = g.parameters[0].name.clone()),
    ("names", true, |g| g.parameters[0].name.clear()),
    ("uniform", true, |g| g.parameters[0].semantic = 99),
    ("uniform", true, |g| g.parameters[0].semantic_index = 200),
    ("uniform", true, |g| g.parameters[0].container = 9),
    ("overlap", false, |g| {
        let first = g.parameters.iter().position(|p| p.category == 1).unwrap();
        g.parameters[first].resource = g.parameters[first + 1].resource;
    }),
    ("sampler", true, |g| g.parameters[1].array = 9999),
    ("sampler", true, |g| g.parameters[1].semantic_index = 200),
    ("query", true, |g| g.queries[15] = 0x0302),
    ("literal", true, |g| g.literals[0].0 = g.literals[1].0),
    ("base", false, |g| g.uniform_buffers[0].2 = 100_000),
    ("descriptor", true, |g| first_input(g, |d| d.info ^= 1 << 20)),
    ("descriptor", true, |g| first_input(g, |d| d.info ^= 1 << 8)),
    ("descriptor", true, |g| first_input(g, |d| d.info ^= 1 << 21)),
    ("descriptor", true, |g| last_input(g, |d| d.unit = 3)),
    ("descriptor", true, |g| last_input(g, |d| d.size |= 0x40)),
    ("descriptor", true, |g| last_input(g, |d| d.size |= 0x1000)),
    ("descriptor", true, |g| last_input(g, |d| d.result |= 0x10)),
    ("descriptor", true, |g| last_input(g, |d| d.result |= 1)),
    ("outputs", false, |g| {
        if let Varyings::Vertex { outputs1, .. } = &mut g.varyings {
            *outputs1 |= 1 << 13;
        }
    }),
    ("outputs", false, |g| {
        if let Varyings::Vertex { outputs2, .. } = &mut g.varyings {
            *outputs2 |= 1 << 30;
        }
    }),
    ("outputs", false, |g| {
        if let Varyings::Vertex { half, .. } = &mut g.varyings {
            *half |= 1 << 9;
        }
    }),
    ("phase-end", true, |g| {
        let last = g.phases[1] as usize - 1;
        g.primary[last] = 0xf800_0140_0000_0000;
    }),
    ("phase-end", true, |g| {
        let last = g.primary.len() - 1;
        g.primary[last] = 0xf804_0140_0000_0000;
    }),
    ("position", false, |g| {
        // The last word before EMIT that writes the position.
        for w in &mut g.primary[1..] {
            if *w != 0xfb27_5000_a020_0000 {
                *w = 0xf800_0140_0000_0000;
            }
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
    // What no field of ours holds: bytes of the file, and the rule.
    let varyings = 0x9c;
    let containers = container::sections(&compiled()).unwrap().into_iter().find(|s| s.0 == "containers").unwrap().1.start;
    let parameters = container::sections(&compiled()).unwrap().into_iter().find(|s| s.0 == "parameters").unwrap().1.start;
    let zeros = [0x38, 0x50, 0x54, 0x58, 0x60, 0x88, varyings, varyings + 9, containers + 2].map(|at| (at, 4, "zero"));
    for (at, value, rule) in zeros.into_iter().chain([(parameters, 0, "names")]) {
        let mut bytes = compiled();
        bytes[at] = value;
        assert!(lint::lint(&bytes).unwrap().iter().any(|e| e.message.starts_with(&format!("{rule}: "))), "{at:#x}");
        rules.insert(rule);
    }
    let mut bytes = compiled();
    let size = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
    bytes[8..12].copy_from_slice(&(size - 4).to_le_bytes());
    assert!(lint::lint(&bytes).unwrap().iter().any(|e| e.message.starts_with("size: ")));
    rules.extend(["size", "sections"]);
    assert_eq!(lint::RULES.iter().map(|r| r.name).filter(|r| !rules.contains(r)).collect::<Vec<_>>(), [""; 0]);
    assert!(rules.iter().all(|r| lint::RULES.iter().any(|x| x.name == *r)));
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
