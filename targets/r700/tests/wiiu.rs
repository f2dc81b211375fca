//! Wii U files, read back field by field by a reader written from the description of the format, and run on the simulator.
#![allow(clippy::unwrap_used)]

use retroshade_ir::{Module, ShaderEnv};
use retroshade_lower::testing::{Profile, check_random_with, default_options};
use retroshade_lower::{CompiledShader, Options};
use std::collections::BTreeMap;

fn options() -> Options {
    Options { chip: Some("latte".to_string()), ..Options::default() }
}

fn parse(text: &str) -> Module {
    retroshade_ir::parse("wiiu", text).unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

fn compile(text: &str) -> CompiledShader {
    retroshade_r700::isa().compile(&parse(text), &options()).unwrap_or_else(|e| panic!("{e}"))
}

fn word(b: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(b[at..at + 4].try_into().unwrap())
}

/// A block: its type, its number among those of the type, its data.
struct Block {
    kind: u32,
    index: u32,
    data: Vec<u8>,
}

/// Reads a file and relocates its headers to address 0: tagged pointers become offsets. Everything is checked on the way.
fn read(file: &[u8]) -> Vec<Block> {
    assert_eq!((word(file, 0), word(file, 4), word(file, 8), word(file, 12), word(file, 16)), (0x4766_7832, 0x20, 7, 1, 2));
    let (mut at, mut out) = (0x20, Vec::<Block>::new());
    loop {
        assert_eq!((word(file, at), word(file, at + 4), word(file, at + 8)), (0x424c_4b7b, 0x20, 1), "block at {at:#x}");
        let (kind, size) = (word(file, at + 16), word(file, at + 20) as usize);
        assert_eq!(word(file, at + 24) as usize, out.len(), "blocks are numbered");
        if kind == 1 {
            assert_eq!((size, at + 0x20), (0, file.len()));
            return out;
        }
        let mut data = file[at + 0x20..at + 0x20 + size].to_vec();
        if matches!(kind, 3 | 6 | 8) {
            relocate(&mut data);
        }
        out.push(Block { kind, index: word(file, at + 28), data });
        at += 0x20 + size;
    }
}

fn relocate(data: &mut [u8]) {
    let head = data.len() - 0x28;
    assert_eq!((word(data, head), word(data, head + 4)), (0x7d42_4c4b, 0x28));
    let (count, table) = (word(data, head + 0x20), word(data, head + 0x24));
    assert_eq!(table & 0xfff0_0000, 0xd060_0000);
    let table = (table & 0xf_ffff) as usize;
    assert_eq!((word(data, head + 12) as usize, table + 4 * count as usize), (table, head));
    for n in 0..count as usize {
        let entry = word(data, table + 4 * n);
        let place = (entry & 0xf_ffff) as usize;
        let pointer = word(data, place);
        assert!(matches!(entry & 0xfff0_0000, 0xd060_0000 | 0xca70_0000), "{entry:x}");
        assert_eq!(entry & 0xfff0_0000, pointer & 0xfff0_0000, "an array or a name");
        assert!((pointer & 0xf_ffff) as usize <= table);
        data[place..place + 4].copy_from_slice(&(pointer & 0xf_ffff).to_be_bytes());
    }
}

fn name(data: &[u8], at: usize) -> String {
    let at = word(data, at) as usize;
    String::from_utf8(data[at..].iter().take_while(|c| **c != 0).copied().collect()).unwrap()
}

/// Rows of an array with names: count and pointer stand at `at`, a row has `words` words, the first its name.
fn rows(data: &[u8], at: usize, words: usize) -> BTreeMap<String, Vec<u32>> {
    let (count, from) = (word(data, at) as usize, word(data, at + 4) as usize);
    (0..count)
        .map(|n| {
            let row = from + 4 * words * n;
            (name(data, row), (1..words).map(|k| word(data, row + 4 * k)).collect())
        })
        .collect()
}

fn expect(got: BTreeMap<String, Vec<u32>>, want: &[(&str, &[u32])]) {
    let want: BTreeMap<String, Vec<u32>> = want.iter().map(|(n, w)| (n.to_string(), w.to_vec())).collect();
    assert_eq!(got, want);
}

const VERTEX: &str = "shader vertex \"v\"
input %position : f32x3 @location(0)
input %tint : f32x4 @location(3)
uniform %\"u.mvp\" : mat4x4 @binding(2) @offset(0)
uniform %\"u.offset\" : f32x2 @binding(2) @offset(64)
output %position_out : f32x4 @position
output %colour : f32x4 @location(1)
output %uv : f32x2 @location(5)
output %size : f32 @point_size
output %clip : f32[2] @clip_distances
block0:
    v0 = input.f32x3 %position
    v1 = input.f32x4 %tint
    v2 = uniform.f32x4 %\"u.mvp\"[0]
    v3 = extract v0, 0
    v4 = splat.f32x4 v3
    v5 = fmul v2, v4
    v6 = uniform.f32x2 %\"u.offset\"
    output %position_out, v5
    output %colour, v1
    output %uv, v6
    output %size, v3
    output %clip[0], v3
    output %clip[1], v3
    return
";

const PIXEL: &str = "shader fragment \"p\"
input %colour : f32x4 @location(1) @linear @centroid
input %uv : f32x2 @location(5)
input %id : i32 @location(7)
input %face : i1 @front_facing
input %at : f32x4 @position
texture %albedo : 2d f32 @binding(0)
texture %sky : cube f32 @binding(1)
output %o : f32x4 @location(0)
output %bright : f32x4 @location(2)
output %mask : i32 @sample_mask
block0:
    v0 = input.f32x4 %colour
    v1 = input.f32x2 %uv
    v2 = tex.f32x4 sample implicit %albedo, v1
    v3 = input.f32x4 %at
    v4 = shuffle v3, v3, [0, 1, 2]
    v5 = tex.f32x4 sample zero %sky, v4
    v6 = fadd v2, v5
    v7 = input.i32 %id
    v8 = input.i1 %face
    v9 = fconst.f32x4 0.5
    v10 = select v8, v0, v9
    discard v8
    output %o, v6
    output %bright, v10
    output %mask, v7
    return
";

const GEOMETRY: &str = "shader geometry \"g\"
geometry points -> triangle_strip max_vertices(3)
input %p : f32x4[1] @position
input %colour : f32x4[1] @location(1)
output %position : f32x4 @position
output %c : f32x4 @location(1)
block0:
    v0 = input.f32x4 %p
    v1 = input.f32x4 %colour
    output %position, v0
    output %c, v1
    emit_vertex
    emit_vertex
    emit_vertex
    end_primitive
    return
";

#[test]
fn a_vertex_and_a_pixel_shader() {
    let (v, p) = (compile(VERTEX), compile(PIXEL));
    let file = retroshade_r700::isa().link(&[p.clone(), v.clone()]).unwrap();
    let blocks = read(&file);
    assert_eq!(blocks.iter().map(|b| (b.kind, b.index)).collect::<Vec<_>>(), [(3, 0), (5, 0), (6, 0), (7, 0)]);
    assert!(blocks[1].data == v.code && blocks[3].data == p.code);
    let h = &blocks[0].data;
    let at = |n: usize| word(h, n);
    assert_eq!(at(0xd0) as usize, v.code.len());
    assert_eq!((at(0xd4), at(0xd8)), (0, 1), "no program pointer; uniforms in blocks");
    assert_eq!(at(0x08), 1 << 1, "two parameters");
    assert_eq!((at(0x0c), at(0x10), at(0x14)), (1, 0xffff_0501, u32::MAX), "their locations");
    assert_eq!(at(0x38), 0b11 | 1 << 16 | 1 << 21 | 1 << 22, "two clip distances, point size");
    assert_eq!((at(0x3c), at(0x40), at(0x44), at(0x48), at(0x4c)), (!3, 2, 0, 3, 0xff), "semantics");
    assert_eq!((at(0xc8), at(0xcc)), (14, 16));
    expect(rows(h, 0xdc, 3), &[("u", &[2, 80])]);
    expect(rows(h, 0xe4, 5), &[("u.mvp", &[29, 1, 0, 0]), ("u.offset", &[9, 1, 16, 0])]);
    expect(rows(h, 0x104, 4), &[("position", &[10, 0, 0]), ("tint", &[11, 0, 3])]);
    let h = &blocks[2].data;
    let at = |n: usize| word(h, n);
    assert_eq!((at(0xa4) as usize, at(0xac)), (p.code.len(), 1));
    assert_eq!(at(0x04), 3 << 1 | 1, "three colours and the depth vector");
    assert_eq!(at(0x08), 4 | 1 << 8 | 3 << 10 | 1 << 26 | 1 << 28 | 1 << 29, "four inputs, the position in R3, noperspective gradients");
    assert_eq!(at(0x0c), 1 << 8 | 4 << 12, "the face in R4");
    assert_eq!((at(0x10), at(0x14), at(0x18), at(0x1c)), (4, 1 | 1 << 11 | 1 << 12, 5, 7 | 1 << 10));
    assert_eq!((at(0x94), at(0x98)), (0xf0f, 7), "colours 0 and 2");
    assert_eq!((at(0x9c), at(0xa0)), (1 << 4 | 1 << 6 | 1 << 8, 1), "early then late depth, kills, a sample mask; the position");
    expect(rows(h, 0xd0, 3), &[("albedo", &[1, 0]), ("sky", &[4, 1])]);
}

#[test]
fn a_geometry_shader_with_its_copy_program() {
    let (v, g) = (compile(VERTEX), compile(GEOMETRY));
    let file = retroshade_r700::isa().link(&[v.clone(), g.clone()]).unwrap();
    let blocks = read(&file);
    assert_eq!(blocks.iter().map(|b| b.kind).collect::<Vec<_>>(), [3, 5, 8, 9, 10]);
    let h = &blocks[0].data;
    assert_eq!((word(h, 0xd8), word(h, 0x10c)), (2, 16), "the export stage: two parameters, position, point size in the ring");
    assert_ne!(blocks[1].data, v.code);
    let h = &blocks[2].data;
    let at = |n: usize| word(h, n);
    assert_eq!(h.len(), 0xc0 + 0x28);
    assert_eq!((at(0x04), at(0x08)), (2, 3 | 3 << 3), "triangle strips, scenario G, few vertices");
    assert_eq!((at(0x14), at(0x88)), (8, 24), "words of a vertex, of all of them");
    assert_eq!((at(0x18), at(0x1c), at(0x20)), (0, 1, 0xffff_ff01));
    assert_eq!((at(0x4c) as usize, at(0x54) as usize, at(0x5c)), (blocks[3].data.len(), blocks[4].data.len(), 2));
    assert!(retroshade_r700::isa().lint(&file, &Default::default()).unwrap().is_empty());
    let text = retroshade_r700::isa().disassemble(&file, &Default::default()).unwrap();
    assert!(["; vertex 0", "; geometry 0", "; copy 0"].iter().all(|t| text.contains(t)), "{text}");
}

#[test]
fn damaged_files_are_refused() {
    let file = compile(VERTEX).container;
    for end in 1..file.len() {
        // What is cut off is an error, never a panic.
        let _ = retroshade_r700::isa().disassemble(&file[..end], &Default::default());
    }
    assert!(retroshade_r700::isa().disassemble(&file[..100], &Default::default()).is_err());
}

#[test]
fn computed_indices_reach_the_block_of_their_binding() {
    let text = "shader vertex \"i\"\ninput %n : i32 @location(0)\nuniform %pad : f32x4 @binding(9) @offset(0)\nuniform %w : f32x4[9] @binding(9) @offset(16)\noutput %position : f32x4 @position\nblock0:\n    v0 = input.i32 %n\n    v1 = uniform.f32x4 %w[v0 + 4]\n    output %position, v1\n    return\n";
    let s = compile(text);
    let values: Vec<u32> = (0..36).map(|k| (k as f32).to_bits()).collect();
    for (n, first) in [(-4i32, 0.0f32), (-1, 12.0), (4, 32.0)] {
        let invocation = retroshade_ir::InvocationInputs { inputs: vec![vec![n as u32]] };
        let env = ShaderEnv { uniforms: vec![vec![0; 4], values.clone()], invocations: vec![invocation], ..ShaderEnv::default() };
        let r = retroshade_r700::isa().simulate(&s, &env).unwrap();
        assert_eq!(f32::from_bits(r.invocations[0].outputs[0][0]), first, "{n}");
    }
}

#[test]
fn random_programs() {
    let latte = |seed: u64| Options { chip: Some("latte".to_string()), ..default_options(seed) };
    let summary = check_random_with(retroshade_r700::isa(), &Profile::r700(), 40_000..40_150, &latte).unwrap_or_else(|e| panic!("{e}"));
    assert!(summary.agree > 90, "{summary:?}");
}

/// What GX2 has no call for is refused with a code.
#[test]
fn refused() {
    let head = "shader fragment \"r\"\ninput %a : f32x4 @location(0)\ninput %n : i32 @location(1)\n";
    let tail = "    output %o, v1\n    return\n";
    let body = "output %o : f32x4 @location(0)\nblock0:\n    v0 = input.i32 %n\n";
    for (code, declaration, load) in [
        ("R0113", "storage %s : f32[] @binding(0)\n", "    v2 = storage_load.f32 %s[v0]\n    v1 = splat.f32x4 v2\n"),
        ("R0303", "uniform %u : f32x4 @binding(16)\n", "    v1 = uniform.f32x4 %u\n"),
        ("R0306", "local %t : f32x4[200]\n", "    v2 = input.f32x4 %a\n    local_store %t[v0], v2\n    v1 = local_load.f32x4 %t[v0 + 3]\n"),
    ] {
        // Locals are declared behind the outputs.
        let m = parse(&format!("{head}{}{load}{tail}", body.replace("block0", &format!("{declaration}block0"))));
        let e = retroshade_r700::isa().compile(&m, &options()).unwrap_err();
        assert!(format!("{:?}", e.diagnostics()).contains(code), "{code}: {e}");
    }
}
