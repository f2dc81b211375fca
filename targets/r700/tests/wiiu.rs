//! Wii U files, read back field by field by a reader written from the description of the format, and run on the simulator.
#![allow(clippy::unwrap_used)]

use retroshade_ir::surface::{Block, BlockKind};
use retroshade_ir::{Binding, Module, ShaderEnv};
use retroshade_lower::testing::{Profile, check_random_with, default_options, random_program};
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

/// A block of the file: its type, its number among those of the type, its data.
struct FileBlock {
    kind: u32,
    index: u32,
    data: Vec<u8>,
}

/// Reads a file and relocates its headers to address 0: tagged pointers become offsets. Everything is checked on the way.
fn read(file: &[u8]) -> Vec<FileBlock> {
    assert_eq!((word(file, 0), word(file, 4), word(file, 8), word(file, 12), word(file, 16)), (0x4766_7832, 0x20, 7, 1, 2));
    let (mut at, mut out) = (0x20, Vec::<FileBlock>::new());
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
        out.push(FileBlock { kind, index: word(file, at + 28), data });
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

/// Applications ask GX2 for a block by the name that the source gives it.
#[test]
fn blocks_have_their_own_names() {
    let block = |name: &str, instance: &str, binding| Block {
        kind: BlockKind::Uniform,
        name: name.to_string(),
        instance: instance.to_string(),
        binding,
        ..Block::default()
    };
    let names = |blocks: Vec<Block>| {
        let mut m = parse(VERTEX);
        m.surface.blocks = blocks;
        let s = retroshade_r700::isa().compile(&m, &options()).unwrap();
        let h = &read(&s.container)[0].data;
        name(h, word(h, 0xe0) as usize)
    };
    assert_eq!(names(vec![block("Camera", "u", 2)]), "Camera");
    assert_eq!(names(vec![block("Camera", "u", 2), block("Camera", "other", 3)]), "u", "two of one name");
    assert_eq!(names(Vec::new()), "u", "what stands before the dot");
}

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
    assert_eq!(
        at(0x08),
        4 | 1 << 8 | 3 << 10 | 2 << 26 | 1 << 28 | 1 << 29,
        "four inputs, the position in R3, centroids and centres, noperspective gradients"
    );
    assert_eq!(at(0x0c), 1 << 8 | 4 << 12, "the face in R4");
    assert_eq!((at(0x10), at(0x14), at(0x18), at(0x1c)), (4, 1 | 1 << 11 | 1 << 12, 5, 7 | 1 << 10));
    assert_eq!((at(0x94), at(0x98)), (0xfff, 7), "colours 0 and 2, and the one between them, which is exported and has no channels");
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
    assert_eq!((word(h, 0xd8), word(h, 0x10c)), (2, 32), "the export stage: up to location 5, which is slot 7 of the ring");
    assert_eq!((word(h, 0x04), word(h, 0xc8), word(h, 0xcc)), (0, 14, 16), "reuse as without a geometry program");
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

/// Both sides of the ring agree on slots by location, whatever else either side has; what the geometry program needs stands in the
/// vertex program's header.
#[test]
fn slots_of_the_ring_follow_locations() {
    let geometry = "shader geometry \"g\"\ngeometry points -> points max_vertices(1)\ninput %n : i32 @primitive_index\ninput %far : f32x4[1] @location(9)\ninput %uv : f32x2[1] @location(5)\ninput %p : f32x4[1] @position\noutput %o : f32x4 @position\nblock0:\n    v0 = input.f32x4 %p\n    v1 = input.f32x2 %uv\n    v2 = shuffle v1, v1, [0, 1, 0, 1]\n    v3 = input.f32x4 %far\n    v4 = input.i32 %n\n    v5 = s2f.f32 v4\n    v6 = splat.f32x4 v5\n    v7 = fadd v0, v2\n    v8 = fadd v3, v6\n    v9 = fadd v7, v8\n    output %o, v9\n    emit_vertex\n    return\n";
    let isa = retroshade_r700::isa();
    let file = isa.link(&[compile(VERTEX), compile(geometry)]).unwrap();
    let reflected = isa.container_reflection(&file).unwrap();
    let places = |list: &[retroshade_lower::reflect::ReflectIo]| list.iter().filter_map(|x| x.register.clone()).collect::<Vec<_>>();
    assert_eq!(places(&reflected[0].outputs), ["ring0", "ring1", "ring3", "ring7"]);
    assert_eq!(places(&reflected[1].inputs), ["ring0", "ring7", "ring11"]);
    let h = &read(&file)[0].data;
    assert_eq!((word(h, 0x10c), word(h, 0x04)), (48, 1), "as far as the geometry program reads; the primitive's number");
    let alone = isa.compile(&parse(geometry), &Options::default()).unwrap().reflection;
    assert_eq!(places(&alone.inputs), ["R0.z", "ring11", "ring7", "ring0"]);
    assert!(isa.lint(&file, &Default::default()).unwrap().is_empty());
}

/// Built-in values that a pixel program reads come from the program before it, as parameters, or are refused by name.
#[test]
fn built_in_values_are_handed_on() {
    let isa = retroshade_r700::isa();
    let pixel = |declaration: &str, load: &str| {
        let text = format!(
            "shader fragment \"p\"\n{declaration}output %o : f32x4 @location(0)\nblock0:\n{load}    v9 = splat.f32x4 v8\n    output %o, v9\n    return\n"
        );
        compile(&text)
    };
    let clip = pixel("input %clip : f32[2] @clip_distances\n", "    v8 = input.f32 %clip[1]\n");
    let file = isa.link(&[compile(VERTEX), clip.clone()]).unwrap();
    let blocks = read(&file);
    let (v, p) = (&blocks[0].data, &blocks[2].data);
    assert_eq!((word(v, 0x08), word(v, 0x10)), (3 << 1, 0xf5f4_0501), "two parameters more");
    assert_eq!((word(p, 0x14) & 0xff, word(p, 0x18) & 0xff), (0xf4, 0xf5));
    assert!(isa.lint(&file, &Default::default()).unwrap().is_empty());
    let number = pixel("input %n : i32 @primitive_index\n", "    v7 = input.i32 %n\n    v8 = s2f.f32 v7\n");
    for (before, after, what) in [
        (compile(VERTEX), number.clone(), "only a geometry program"),
        (compile(EVERYTHING_VERTEX), pixel("input %n : i32 @layer\n", "    v7 = input.i32 %n\n    v8 = s2f.f32 v7\n"), "`layer`"),
    ] {
        let e = isa.link(&[before, after]).unwrap_err().to_string();
        assert!(e.contains("R0114") && e.contains(what), "{e}");
    }
    let geometry = "shader geometry \"g\"\ngeometry points -> points max_vertices(1)\ninput %n : i32 @primitive_index\ninput %p : f32x4[1] @position\noutput %o : f32x4 @position\noutput %id : i32 @primitive_index\nblock0:\n    v0 = input.f32x4 %p\n    v1 = input.i32 %n\n    output %o, v0\n    output %id, v1\n    emit_vertex\n    return\n";
    let file = isa.link(&[compile(VERTEX), number, compile(geometry)]).unwrap();
    let g = &read(&file)[4];
    assert_eq!((g.kind, word(&g.data, 0x20)), (8, 0xffff_fff0), "the primitive's number is a parameter");
}

/// Cull distances stand behind the clip distances, in registers, in what a file says of itself and among the parameters that hand them on.
#[test]
fn cull_distances_share_the_vectors_of_clip_distances() {
    let isa = retroshade_r700::isa();
    let vertex = compile(
        "shader vertex \"v\"\ninput %p : f32x4 @location(0)\noutput %o : f32x4 @position\noutput %clip : f32[3] @clip_distances\noutput %cull : f32[2] @cull_distances\nblock0:\n    v0 = input.f32x4 %p\n    v1 = extract v0, 0\n    v2 = extract v0, 1\n    v3 = extract v0, 2\n    output %o, v0\n    output %clip[2], v3\n    output %cull[0], v1\n    output %cull[1], v2\n    return\n",
    );
    assert_eq!(vertex.reflection.outputs[2].register.as_deref(), Some("position61.w"));
    let pixel = compile(
        "shader fragment \"p\"\ninput %cull : f32[2] @cull_distances\noutput %o : f32x4 @location(0)\nblock0:\n    v0 = input.f32 %cull[1]\n    v1 = splat.f32x4 v0\n    output %o, v1\n    return\n",
    );
    let file = isa.link(&[vertex, pixel]).unwrap();
    assert!(isa.lint(&file, &Default::default()).unwrap().is_empty());
    let all = isa.container_interface(&file).unwrap();
    let (v, f) = (&all[0], |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<u32>>());
    let counts: Vec<(&str, u32)> = v.outputs.values().map(|d| (d.name.as_str(), d.count)).collect();
    // Three clip distances and two cull distances once more, a parameter each; one of those is never written.
    assert_eq!(counts[..3], [("position", 1), ("clip_distances", 3), ("cull_distances", 2)]);
    let invocation = retroshade_ir::InvocationInputs { inputs: vec![f(&[2.0, 3.0, 4.0, 1.0])] };
    let env = ShaderEnv { invocations: vec![invocation], ..ShaderEnv::default() };
    let out = &isa.run_container(&file, v, &env).unwrap().invocations[0].outputs;
    assert_eq!((out[1][2], &out[2]), (4f32.to_bits(), &f(&[2.0, 3.0])));
    let handed = v.outputs.values().position(|d| d.binding == Binding::Location(233)).unwrap();
    assert_eq!(out[handed][0], 3f32.to_bits());
}

/// GX2UniformVar counts the elements of all levels; vectors of truth values have their own types.
#[test]
fn arrays_of_arrays_are_counted() {
    let text = "shader vertex \"c\"\nuniform %\"b.m\" : f32[2][3] @binding(0) @offset(0)\nuniform %\"b.q\" : mat2x2[2][2] @binding(0) @offset(96)\nuniform %\"b.t\" : i32x3 @binding(0) @offset(224) @type(\"boolx3\")\noutput %position : f32x4 @position\nblock0:\n    v0 = uniform.f32 %\"b.m\"[5]\n    v1 = splat.f32x4 v0\n    output %position, v1\n    return\n";
    let h = &read(&compile(text).container)[0].data;
    expect(rows(h, 0xe4, 5), &[("b.m", &[4, 6, 0, 0]), ("b.q", &[21, 4, 24, 0]), ("b.t", &[13, 1, 56, 0])]);
}

/// With a geometry program, too, emulators get what they read: fetches in texture clauses with the resource's format, a copy program of
/// fetches and whole exports, parameters by their locations.
#[test]
fn geometry_for_emulators() {
    let options = Options { emulators: true, ..options() };
    let isa = retroshade_r700::isa();
    let g = isa.compile(&parse(&GEOMETRY.replace("%c : f32x4 @location(1)", "%c : f32x4 @location(3)")), &options).unwrap();
    let file = isa.link(&[isa.compile(&parse(VERTEX), &options).unwrap(), g.clone()]).unwrap();
    assert!(g.asm.contains("TEX ") && !g.asm.contains("VTX ") && !g.asm.contains("CUT_VERTEX"), "{}", g.asm);
    assert!(g.asm.lines().filter(|l| l.contains("RID:159")).all(|l| l.contains("USE_CONST_FIELDS=1")), "{}", g.asm);
    let text = isa.disassemble(&file, &Default::default()).unwrap();
    let copy = &text[text.find("; copy 0").unwrap()..];
    assert!(!copy.contains("ALU") && copy.contains("VTX 1"), "{copy}");
    for line in copy.lines().filter(|l| l.contains("VTX_FETCH") || l.starts_with("EXPORT")) {
        assert!(
            line.contains(".XYZW") && (line.starts_with("EXPORT") || line.contains(" T0.X+") && line.contains("USE_CONST_FIELDS=1")),
            "{line}"
        );
    }
    assert!(copy.contains("ARRAY_BASE=3 TYPE=2"), "{copy}");
    let h = &read(&file)[2].data;
    assert_eq!((word(h, 0x18), word(h, 0x20)), (3 << 1, 0x03ff_ffff), "four parameters, the last one is used");
    assert!(isa.lint(&file, &Default::default()).unwrap().is_empty());
}

/// The vertex index is an input where the program reads it, not where a fetch or sum has gone there before.
#[test]
fn registers_that_fetches_fill_are_no_inputs() {
    let text = "shader vertex \"i\"\ninput %n : i32 @location(0)\nuniform %w : f32x4[9] @binding(0)\noutput %position : f32x4 @position\nblock0:\n    v0 = input.i32 %n\n    v1 = uniform.f32x4 %w[v0]\n    output %position, v1\n    return\n";
    let isa = retroshade_r700::isa();
    let interface = &isa.container_interface(&compile(text).container).unwrap()[0];
    assert_eq!(interface.inputs.values().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["n"]);
}

const EVERYTHING_VERTEX: &str = "shader vertex \"ev\"
input %p : f32x3 @location(4)
input %weights : f32x2[2] @location(0)
input %bone : i32x4 @location(7)
uniform %\"rig.bones\" : f32x4[8] @binding(3) @offset(16)
uniform %\"rig.count\" : i32 @binding(3) @offset(0)
uniform %loose : f32x3 @binding(5) @offset(32)
output %position : f32x4 @position
output %a : f32x4 @location(9)
output %b : f32[2] @location(2)
output %size : f32 @point_size
output %clip : f32[5] @clip_distances
block0:
    v0 = input.f32x3 %p
    v1 = input.f32x2 %weights[1]
    v2 = input.i32x4 %bone
    v3 = extract v2, 1
    v4 = uniform.f32x4 %\"rig.bones\"[v3]
    v5 = uniform.i32 %\"rig.count\"
    v6 = s2f.f32 v5
    v7 = uniform.f32x3 %loose
    v8 = extract v7, 2
    v9 = extract v0, 0
    v10 = extract v1, 1
    v11 = fmul v6, v9
    output %position, v4
    output %a, v4
    output %b[0], v8
    output %b[1], v10
    output %size, v11
    output %clip[0], v6
    output %clip[4], v9
    return
";

const EVERYTHING_PIXEL: &str = "shader fragment \"ep\"
input %a : f32x4 @location(9) @centroid
input %flat : f32x4 @location(2) @flat
input %at : f32x4 @position
uniform %\"light.colour\" : f32x4 @binding(1) @offset(0)
uniform %\"light.turn\" : mat3x3 @binding(1) @offset(16)
texture %ramp : 1d f32 @binding(0)
texture %albedo : 2d f32 @binding(1)
texture %fog : 3d f32 @binding(2)
texture %sky : cube f32 @binding(3)
texture %shadow : 2d shadow f32 @binding(4)
texture %layers : 2d array f32 @binding(5)
output %o : f32x4 @location(0)
output %depth : f32 @frag_depth
output %mask : i32 @sample_mask
block0:
    v0 = input.f32x4 %a
    v1 = input.f32x4 %flat
    v2 = input.f32x4 %at
    v3 = shuffle v0, v0, [0, 1]
    v4 = shuffle v0, v0, [0, 1, 2]
    v5 = extract v0, 0
    v6 = extract v1, 1
    v7 = extract v2, 2
    v8 = tex.f32x4 sample implicit %ramp, v5
    v9 = tex.f32x4 sample implicit %albedo, v3
    v10 = tex.f32x4 sample zero %fog, v4
    v11 = tex.f32x4 sample implicit %sky, v4
    v12 = tex.f32 sample zero compare %shadow, v3, v7
    v13 = iconst.i32 2
    v14 = tex.f32x4 sample zero %layers, v3, v13
    v15 = fadd v8, v9
    v16 = fadd v10, v11
    v17 = fadd v15, v16
    v18 = fadd v17, v14
    v19 = splat.f32x4 v12
    v20 = fmul v18, v19
    v21 = uniform.f32x4 %\"light.colour\"
    v22 = fmul v20, v21
    v23 = uniform.f32x3 %\"light.turn\"[2]
    v24 = extract v23, 0
    v25 = fconst.f32 0.5
    v26 = fcmp olt v6, v25
    discard v26
    v27 = fadd v24, v7
    output %o, v22
    output %depth, v27
    output %mask, v13
    return
";

#[test]
fn a_program_with_everything() {
    let (v, p) = (compile(EVERYTHING_VERTEX), compile(EVERYTHING_PIXEL));
    let file = retroshade_r700::isa().link(&[v.clone(), p.clone()]).unwrap();
    let blocks = read(&file);
    assert_eq!(
        blocks.iter().map(|b| (b.kind, b.data.len())).filter(|b| matches!(b.0, 5 | 7)).collect::<Vec<_>>(),
        [(5, v.code.len()), (7, p.code.len())]
    );
    let h = &blocks[0].data;
    let at = |n: usize| word(h, n);
    assert_eq!(at(0x00) & 0xff, v.stats.registers, "NUM_GPRS");
    assert_eq!(at(0x08), 2 << 1, "three parameters");
    assert_eq!((at(0x0c), at(0x10)), (1, 0xff09_0302), "their locations");
    assert_eq!(at(0x38), 0b1_1111 | 1 << 16 | 1 << 21 | 1 << 22 | 1 << 23, "five clip distances in two vectors, point size");
    assert_eq!((at(0x3c), at(0x40)), (!0xf, 4), "four semantics");
    assert_eq!((at(0x44), at(0x48), at(0x4c), at(0x50)), (0, 1, 4, 7), "in order of location");
    expect(rows(h, 0xdc, 3), &[("rig", &[3, 144]), ("block5", &[5, 48])]);
    expect(rows(h, 0xe4, 5), &[("rig.bones", &[11, 8, 4, 0]), ("rig.count", &[2, 1, 0, 0]), ("loose", &[10, 1, 8, 1])]);
    expect(rows(h, 0x104, 4), &[("p", &[10, 0, 4]), ("weights", &[9, 2, 0]), ("bone", &[17, 0, 7])]);
    assert_eq!((at(0xf4), at(0xec)), (0, 0), "no loops, no initial values");
    let h = &blocks[2].data;
    let at = |n: usize| word(h, n);
    assert_eq!(at(0x04), 1 << 1 | 1, "a colour and the depth vector");
    assert_eq!(at(0x08), 3 | 1 << 8 | 2 << 10 | 2 << 26 | 1 << 28, "three inputs, the position in R2, centroids and centres");
    assert_eq!((at(0x10), at(0x14), at(0x18)), (3, 2 | 1 << 10, 9 | 1 << 11), "flat, centroid");
    assert_eq!((at(0x94), at(0x98), at(0xa0)), (0xf, 1, 1));
    assert_eq!(at(0x9c), 1 | 1 << 4 | 1 << 6 | 1 << 8, "depth, early then late, kill, mask");
    expect(rows(h, 0xb0, 3), &[("light", &[1, 64])]);
    expect(rows(h, 0xb8, 5), &[("light.colour", &[11, 1, 0, 0]), ("light.turn", &[25, 1, 4, 0])]);
    let samplers: &[(&str, &[u32])] =
        &[("ramp", &[0, 0]), ("albedo", &[1, 1]), ("fog", &[3, 2]), ("sky", &[4, 3]), ("shadow", &[1, 4]), ("layers", &[1, 5])];
    expect(rows(h, 0xd0, 3), samplers);
}

/// A loop names its constant; nothing else does.
#[test]
fn loops_name_their_constant() {
    let text = "shader fragment \"l\"\ninput %n : f32 @location(0)\noutput %o : f32 @location(0)\nblock0:\n    v0 = input.f32 %n\n    v1 = fconst.f32 0.5\n    jump block1(v0)\nblock1(v2: f32):\n    v3 = fmul v2, v1\n    v4 = fcmp olt v1, v3\n    br_if v4, block2, block3\nblock2:\n    jump block1(v3)\nblock3:\n    output %o, v3\n    return\n";
    let s = compile(text);
    let h = &read(&s.container)[0].data;
    assert_eq!(word(h, 0xc8), 1);
    let row = word(h, 0xcc) as usize;
    assert_eq!((word(h, row), word(h, row + 4)), (0, 0x0100_0fff));
}

/// What a file says of itself is enough to run it, with the results of the program that it was made of.
#[test]
fn files_run_by_themselves() {
    let file = retroshade_r700::isa().link(&[compile(VERTEX), compile(EVERYTHING_PIXEL)]).unwrap();
    let isa = retroshade_r700::isa();
    let all = isa.container_interface(&file).unwrap();
    assert_eq!(all.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["vertex0", "pixel0"]);
    let v = &all[0];
    let names = |m: &Module| m.outputs.values().map(|d| d.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(v), ["position", "point_size", "clip_distances", "varying1", "varying5"]);
    let f = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    let invocation = retroshade_ir::InvocationInputs { inputs: vec![f(&[2.0, 3.0, 4.0]), f(&[0.25, 0.5, 0.75, 1.0])] };
    let matrix: Vec<f32> = (0..16).map(|k| k as f32).collect();
    let env = ShaderEnv { uniforms: vec![f(&matrix), f(&[7.0, 8.0])], invocations: vec![invocation], ..ShaderEnv::default() };
    let out = &isa.run_container(&file, v, &env).unwrap().invocations[0].outputs;
    assert_eq!(out[0], f(&[0.0, 2.0, 4.0, 6.0]), "the first column twice");
    assert_eq!((&out[1], &out[2], &out[3]), (&f(&[2.0]), &f(&[2.0, 2.0]), &f(&[0.25, 0.5, 0.75, 1.0])));
    assert_eq!(out[4][..2], f(&[7.0, 8.0]));
    let p = &all[1];
    assert_eq!(names(p), ["color0", "frag_depth", "sample_mask"]);
    let textures: Vec<_> = p.textures.values().map(|t| (t.name.as_str(), t.dim.name(), t.shadow, t.arrayed)).collect();
    let want = [
        ("ramp", "1d", false, false),
        ("albedo", "2d", false, false),
        ("fog", "3d", false, false),
        ("sky", "cube", false, false),
        ("shadow", "2d", true, false),
        ("layers", "2d", false, true),
    ];
    assert_eq!(textures, want);
    let r = isa.container_reflection(&file).unwrap();
    assert_eq!(
        r[1].uniforms.iter().map(|u| (u.name.as_str(), u.ty.as_str(), u.offset)).collect::<Vec<_>>(),
        [("light.colour", "f32x4", 0), ("light.turn", "mat3x3", 16)]
    );
    // Programs around a geometry program need each other.
    let ring = isa.link(&[compile(VERTEX), compile(GEOMETRY)]).unwrap();
    let v = &isa.container_interface(&ring).unwrap()[0];
    assert!(isa.run_container(&ring, v, &env).is_err());
}

/// With `--robust-emulators` nothing is emitted that emulators lack, and results stay the same.
#[test]
fn for_emulators() {
    let lacking = [
        "MULADD_IEEE_M2",
        "MULADD_IEEE_M4",
        "MULADD_IEEE_D2",
        "CEIL",
        "RECIP_UINT",
        "MULHI_",
        "PRED_SETGT_UINT",
        "PRED_SETGE_UINT",
        "LSHR",
        "KILLNE ",
        "KILLGE_INT",
        "KILLGT_UINT",
        "KILLGE_UINT",
    ];
    let control = ["ALU_CONTINUE", "LOOP_CONTINUE", "PUSH ", "VTX ", "WAIT_ACK", "MEM_SCRATCH"];
    let options = |seed: u64| Options { chip: Some("latte".to_string()), emulators: true, ..default_options(seed) };
    let summary = check_random_with(retroshade_r700::isa(), &Profile::r700(), 50_000..50_150, &options).unwrap_or_else(|e| panic!("{e}"));
    assert!(summary.agree > 90, "{summary:?}");
    let mut seen = 0;
    for seed in 50_000..50_150 {
        let (m, _) = random_program(&Profile::r700(), seed);
        let Ok(s) = retroshade_r700::isa().compile(&m, &options(2)) else { continue };
        seen += 1;
        for name in lacking.iter().chain(&control) {
            let found = s.asm.lines().find(|l| l.trim_start().starts_with(name));
            assert_eq!(found, None, "seed {seed}");
        }
        for l in s.asm.lines().map(str::trim) {
            // PS is no operand, bursts have no parameters, a predicate has its group to itself, CUBE has its four channels, floats are no integers.
            let integer = |l: &str| l.contains(", 1,") || l.contains(", -1,");
            let wrong = l.contains(" PS,")
                || l.contains("TYPE=2") && l.contains("BURST_COUNT")
                || l.contains("ExecMask") && !l.contains("* ExecMask")
                || l.starts_with("CUBE") && l.contains("MASKED")
                || l.starts_with("MOV") && integer(l);
            assert!(!wrong, "seed {seed}: {l}");
        }
    }
    assert!(seen > 90);
    // Nor are 0.0 and 1.0 coordinates of what compares, has gradients or is a cube.
    let text = "shader fragment \"t\"\ninput %a : f32x2 @location(0)\noutput %o : f32 @location(0)\ntexture %s : 2d shadow f32 @binding(0)\n\
                block0:\n    v0 = input.f32x2 %a\n    v1 = fconst.f32 1.0\n    v2 = tex.f32 sample implicit compare %s, v0, v1\n    output %o, v2\n    return\n";
    let s = retroshade_r700::isa().compile(&parse(text), &options(2)).unwrap();
    let sample = s.asm.lines().find(|l| l.contains("TEX_SAMPLE_C")).unwrap();
    assert!(!sample.contains(".XY01") && !sample.contains("01 RID"), "{sample}");
    // A computed index is fetched in a texture clause.
    let text = "shader vertex \"i\"\ninput %n : i32 @location(0)\nuniform %w : f32x4[9] @binding(9)\noutput %position : f32x4 @position\nblock0:\n    v0 = input.i32 %n\n    v1 = uniform.f32x4 %w[v0]\n    output %position, v1\n    return\n";
    let s = retroshade_r700::isa().compile(&parse(text), &options(2)).unwrap();
    assert!(s.asm.contains("\nTEX ") && s.asm.contains("VTX_FETCH") || s.asm.contains("FETCH"), "{}", s.asm);
    assert!(retroshade_r700::isa().lint(&s.container, &Default::default()).unwrap().is_empty());
}

#[test]
fn damaged_files_are_refused() {
    let file = compile(VERTEX).container;
    for end in 1..file.len() {
        // What is cut off is an error, never a panic.
        let _ = retroshade_r700::isa().disassemble(&file[..end], &Default::default());
        let _ = retroshade_r700::isa().container_reflection(&file[..end]);
    }
    // Nor what was changed.
    for bit in 0..file.len() * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let _ = retroshade_r700::isa().container_reflection(&damaged);
    }
    assert!(retroshade_r700::isa().disassemble(&file[..100], &Default::default()).is_err());
}

/// What a loader follows is looked at before anything is read, and words that the programs contradict are told by `lint`.
#[test]
fn files_are_checked() {
    let isa = retroshade_r700::isa();
    let file = isa.link(&[compile(EVERYTHING_VERTEX), compile(EVERYTHING_PIXEL)]).unwrap();
    assert_eq!(isa.lint(&file, &Default::default()).unwrap(), []);
    let with = |at: usize, value: u32| {
        let mut f = file.clone();
        f[at..at + 4].copy_from_slice(&value.to_be_bytes());
        f
    };
    let header = 0x40;
    let size = word(&file, 0x20 + 0x14) as usize;
    let relocation = header + size - 0x28;
    let patches = header + (word(&file, relocation + 0x24) & 0xf_ffff) as usize;
    // Versions, blocks, sizes, modes, counts, the relocation header and each patch.
    let mut broken = vec![
        (0x08, 6),
        (0x0c, 2),
        (0x10, 3),
        (0x14, 2),
        (0x24, 0x24),
        (0x28, 2),
        (0x30, 4),
        (0x38, 1),
        (0x3c, 1),
        (header + 0xd0, 8),
        (header + 0xd4, 4),
        (header + 0xd8, 7),
        (header + 0x0c, 11),
        (header + 0x40, 33),
        (header + 0xdc, 900),
        (header + 0xe8, 0xd060_0001),
        (header + 0xf8, 0xd060_0134),
    ];
    broken.extend((0..10).map(|n| (relocation + 4 * n, 0x1234_5678)));
    broken.extend((0..(relocation - patches) / 4).map(|n| (patches + 4 * n, word(&file, patches + 4 * n) ^ 0x10)));
    for (at, value) in broken {
        let f = with(at, value);
        assert!(isa.disassemble(&f, &Default::default()).is_err(), "{at:#x} {value:#x}");
        assert!(isa.container_reflection(&f).is_err() && isa.lint(&f, &Default::default()).is_err(), "{at:#x}");
    }
    // NUM_GPRS, stack, mode, parameters, attributes, ids; inputs, colours, kills of the pixel program.
    let pixel =
        (0..file.len() / 4).map(|n| 4 * n).find(|at| word(&file, *at) == 0x424c_4b7b && word(&file, at + 0x10) == 6).unwrap() + 0x20;
    let gprs = |at: usize| word(&file, at) & !0xff | 1;
    for (at, value) in [
        (header, gprs(header)),
        (header, word(&file, header) & !0xff00),
        (header + 0x08, 0),
        (header + 0x0c, 2),
        (header + 0x38, 0),
        (header + 0x3c, 1),
        (pixel, gprs(pixel)),
        (pixel + 0x04, 2),
        (pixel + 0x08, 1),
        (pixel + 0x94, 0xff),
        (pixel + 0x98, 3),
        (pixel + 0x9c, 0),
        (pixel + 0xa0, 0),
        (pixel + 0xac, 0),
    ] {
        let found = isa.lint(&with(at, value), &Default::default()).unwrap();
        assert!(!found.is_empty(), "{at:#x} {value:#x}");
    }
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

/// Where values are interpolated is said once for all inputs, and the sample has a register of its own.
#[test]
fn places_of_interpolation() {
    let pixel = |inputs: &str, reads: &str| {
        let text =
            format!("shader fragment \"i\"\n{inputs}output %o : f32x4 @location(0)\nblock0:\n{reads}    output %o, v0\n    return\n");
        let h = read(&compile(&text).container).remove(0).data;
        (word(&h, 0x08), word(&h, 0x0c))
    };
    let one = |how: &str| pixel(&format!("input %a : f32x4 @location(0){how}\n"), "    v0 = input.f32x4 %a\n").0;
    let always = 1 | 1 << 28;
    assert_eq!([one(""), one(" @centroid"), one(" @sample")], [always | 1 << 26, always, always | 1 << 26 | 1 << 31]);
    let builtins = "input %f : i1 @front_facing\ninput %m : i32 @sample_mask\ninput %n : i32 @sample_index\n";
    let reads = "    v1 = input.i1 %f\n    v2 = input.i32 %m\n    v3 = input.i32 %n\n    v4 = iadd v2, v3\n    v5 = s2f.f32 v4\n    v6 = fconst.f32 1.0\n    v7 = select v1, v5, v6\n    v0 = splat.f32x4 v7\n";
    assert_eq!(pixel(builtins, reads).1, 1 << 8 | 1 << 24 | 1 << 25, "face and mask in R0, the sample in R1");
}
