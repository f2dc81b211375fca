//! Containers of published programs: what is known of them (header, parameters, containers, literals, descriptors; not their
//! code) lies beside the repository. Every rule is silent about them, and ours of the same programs are equal field by field.
#![allow(clippy::unwrap_used)]

use retroshade::Options;
use retroshade::frontend::FrontOptions;
use retroshade::ir::Stage;
use retroshade::lower::testing::text_beside;
use retroshade_usse::container::{self, Descriptor, Gxp, Parameter, Varyings, lint};
use retroshade_usse::isa;
use serde_json::Value;

struct Published {
    name: String,
    fields: Value,
}

fn published() -> Option<Vec<Published>> {
    let all = text_beside("vectors/gxp-containers.tsv")?;
    let row = |line: &str| {
        let c: Vec<&str> = line.split('\t').collect();
        let repository = c[1].rsplit('/').next().unwrap();
        Published { name: format!("{repository}/{}", c[2]), fields: serde_json::from_str(c[3]).unwrap() }
    };
    Some(all.lines().filter(|l| !l.starts_with('#')).map(row).collect())
}

impl Published {
    fn n(&self, key: &str) -> u64 {
        self.fields[key].as_u64().unwrap_or_else(|| panic!("{}: no field {key}", self.name))
    }
    /// A table of numbers.
    fn rows(&self, key: &str) -> Vec<Vec<i64>> {
        let row = |r: &Value| r.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect();
        self.fields[key].as_array().unwrap().iter().map(row).collect()
    }
    fn fragment(&self) -> bool {
        self.n("frag") == 1
    }
    /// The container without its code.
    fn container(&self) -> Gxp {
        let of = |v: &Value, key: &str| v[key].as_u64().unwrap();
        let parameter = |p: &Value| Parameter {
            name: p["name"].as_str().unwrap().to_string(),
            category: of(p, "cat") as u8,
            ty: of(p, "type") as u8,
            components: of(p, "comp") as u8,
            container: of(p, "cont") as u8,
            semantic: of(p, "sem") as u8,
            semantic_index: of(p, "semi") as u8,
            array: of(p, "arr") as u32,
            resource: of(p, "res") as u32,
        };
        let varyings = if self.fragment() {
            let v = &self.fields["fo"];
            let input = |r: Vec<i64>| Descriptor { info: r[0] as u32, unit: r[1] as u32, size: r[2] as u32, result: r[3] as u32 };
            Varyings::Fragment {
                output_start: of(v, "start") as u8,
                output_type: of(v, "type") as u8,
                components: of(v, "comp") as u8,
                textures: of(v, "nt") as u16,
                descriptors: self.rows("I").into_iter().map(input).collect(),
            }
        } else {
            let v = &self.fields["vo"];
            Varyings::Vertex {
                attributes: of(v, "reg"),
                untyped: of(v, "unt"),
                outputs1: of(v, "o1") as u32,
                outputs2: of(v, "o2") as u32,
                half: of(v, "half") as u32,
                vertex_index: of(v, "vi") as u16,
                instance_index: of(v, "ii") as u16,
            }
        };
        let parameters: Vec<Parameter> = self.fields["P"].as_array().unwrap().iter().map(parameter).collect();
        // The words of the query table are not known; they say what the samplers say.
        let mut queries = vec![0; if parameters.iter().any(|p| p.category == 2) && self.n("minor") == 5 { container::UNITS } else { 0 }];
        for p in parameters.iter().filter(|p| p.category == 2) {
            if let Some(q) = queries.get_mut(p.resource as usize) {
                *q = 0x0300 | p.semantic as u16;
            }
        }
        Gxp {
            minor: self.n("minor") as u8,
            sdk: self.n("sdk") as u16,
            compiler: self.n("cver") as u32,
            flags: self.n("flags") as u32,
            buffer_flags: self.n("bufflags") as u32,
            texunit_flags: self.n("texflags"),
            primary_regs: self.n("pa") as u16,
            secondary_regs: self.n("sa") as u16,
            temps: self.n("t1") as u32,
            phases: self.fields["phase_table"].as_array().unwrap().iter().map(|p| p.as_u64().unwrap() as u32).collect(),
            primary: Vec::new(),
            secondary: Vec::new(),
            data_count: self.n("databuf") as u32,
            default_words: self.n("dubc") as u32,
            parameters,
            varyings,
            literals: self.rows("L").iter().map(|r| (r[0] as u32, r[1] as u32)).collect(),
            uniform_buffers: self.rows("U").iter().map(|r| (r[0] as u16, r[1] as u16, r[2] as i32)).collect(),
            dependent_samplers: self.rows("D").iter().map(|r| (r[0] as u16, r[1] as u16)).collect(),
            containers: self.rows("C").iter().map(|r| (r[0] as u16, r[2] as u16, r[3] as u16)).collect(),
            queries,
        }
    }
    /// What the writer makes of the parts, with words that do nothing for code, and those fields that the writer leaves 0 as they are.
    fn file(&self) -> Vec<u8> {
        let code = |n| vec![0xf800_0140_0000_0000; self.n(n) as usize];
        let mut file = container::write(&Gxp { primary: code("np"), secondary: code("ns"), ..self.container() });
        let mut patch = |at: usize, size: usize, n: u64| file[at..at + size].copy_from_slice(&n.to_le_bytes()[..size]);
        for (at, size, key) in
            [(0x38, 2, "t2"), (0x50, 4, "scratch"), (0x54, 4, "thread"), (0x58, 4, "litbuf"), (0x60, 4, "texbuf"), (0x88, 4, "ntbds")]
        {
            patch(at, size, self.n(key));
        }
        if self.fragment() {
            patch(container::HEADER, 8, self.fields["fo"]["w0"].as_u64().unwrap());
            patch(container::HEADER + 9, 1, self.fields["fo"]["b9"].as_u64().unwrap());
        }
        let at = container::sections(&file).unwrap().into_iter().find(|s| s.0 == "containers").map_or(0, |s| s.1.start);
        for (n, row) in self.rows("C").iter().enumerate() {
            file[at + 8 * n + 2..at + 8 * n + 4].copy_from_slice(&(row[1] as u16).to_le_bytes());
        }
        file
    }
    fn sections(&self) -> Vec<container::Section> {
        let at = |key: &str| self.fields["positions"][key].as_u64().unwrap() as usize;
        let table = |name, key: &str, count: &str, size: usize| (name, at(key)..at(key) + size * self.n(count) as usize);
        let mut out = vec![
            ("header", 0..at("vary").min(container::HEADER)),
            table("secondary program", "sec", "ns", 8),
            table("phase table", "phase_table", "phases", 4),
            table("primary program", "prim", "np", 8),
            table("literals", "lit", "nlit", 8),
            table("dependent samplers", "ds", "nds", 4),
            table("containers", "cont", "ncont", 8),
            table("uniform buffers", "ub", "nub", 8),
            table("parameters", "params", "nparam", 16),
        ];
        if self.n("minor") == 5 && self.n("sqi_raw") != 0 {
            out.push(("texture queries", at("sqi")..at("sqi") + 2 * container::UNITS));
        }
        out.retain(|s| !s.1.is_empty());
        out
    }
}

/// Files that were patched by hand to record what the console does.
const PATCHED: [&str; 3] = ["vtstmsk_sub_mask2_reg.gxp0", "vtstmsk_gt_mask2_reg.gxp", "vtstmsk_log_mask2_reg.gxp0"];

#[test]
fn the_rules_are_silent_about_published_containers() {
    let Some(all) = published() else { return };
    assert!(all.len() > 90);
    for p in &all {
        let g = p.container();
        let file = p.file();
        let mut found = lint::check(&g, &p.sections(), &file, false);
        // Their table of literals begins with half of the program's last word.
        if PATCHED.iter().any(|name| p.name.ends_with(name)) {
            assert!(found.len() == 1 && found[0].message.starts_with("literal: literal 0x"), "{}: {found:?}", p.name);
            found.clear();
        }
        assert_eq!(found, vec![], "{}", p.name);
        // Its interface can be read: everything that it declares has a name and a place.
        isa().container_interface(&file).unwrap_or_else(|e| panic!("{}: {}", p.name, e.message));
        // What the writer makes of the same parts lies in the same order.
        if p.n("minor") == 5 {
            let order = |sections: Vec<container::Section>| {
                let mut s = sections;
                s.sort_by_key(|s| s.1.start);
                s.into_iter().map(|s| s.0).filter(|n| !matches!(*n, "varyings" | "input descriptors")).collect::<Vec<_>>()
            };
            assert_eq!(order(container::sections(&file).unwrap()), order(p.sections()), "{}", p.name);
        }
    }
}

/// Our file of the same program, and which published containers it is compared with.
const TWINS: &[(&str, &str)] = &[
    ("texel.frag", "vitaQuake/build/shaders/replace_f.gxp"),
    ("texel_times_uniform.frag", "vitaQuake/build/shaders/modulate_f.gxp"),
    ("texel_times_varying.frag", "vitaQuake/build/shaders/modulate_rgba_f.gxp"),
    ("solid_uniform.frag", "vitaQuake/build/shaders/vertex_f.gxp"),
    ("solid_varying.frag", "vitaQuake/build/shaders/rgba_f.gxp"),
    ("cutout_rgba.frag", "vitaQuake/build/shaders/rgba_alpha_f.gxp"),
    ("cutout_uniform.frag", "vitaQuake/build/shaders/modulate_alpha_f.gxp"),
    ("depth_uniform.frag", "vitaGL/source/shaders/disable_color_buffer_f.h"),
    ("xyz_uv_dot.vert", "vitaQuake/build/shaders/texture2d_v.gxp"),
    ("xyz_uv_sum.vert", "libcross2d/source/platforms/psp2/vita-shader-collection/lib/libvitashaders.a@43494"),
    ("xyz_rgba_sum.vert", "libcross2d/source/platforms/psp2/vita-shader-collection/lib/libvitashaders.a@61274"),
    ("flat_xy.vert", "libcross2d/source/platforms/psp2/vita-shader-collection/lib/libvitashaders.a@10422"),
    ("fogged_texel.frag", "vitaQuake/build/shaders/replace_fog_f.gxp"),
    ("cutout_fogged_texel.frag", "vitaQuake/build/shaders/replace_alpha_fog_f.gxp"),
    ("quad_corner.vert", "vitaGL/source/shaders/clear_v.h"),
    ("quad_corner_depth.vert", "vitaGL/source/shaders/precompiled_clear_v.h"),
    ("solid_uniform.frag", "vitaGL/source/shaders/precompiled_clear_f.h"),
    ("solid_uniform.frag", "SDL/src/render/vitagxm/SDL_render_vita_gxm_shaders.h@text1198"),
    ("flat_xy.vert", "vita3D/shaders/clear_v.gxp"),
    ("solid_uniform.frag", "vita2dlib/libvita2d/shader/compiled/clear_f_gxp.o"),
    ("solid_varying.frag", "vita2dlib/libvita2d/shader/compiled/color_f_gxp.o"),
    ("texel.frag", "vita2dlib/libvita2d/shader/compiled/texture_f_gxp.o"),
    ("xyz_rgba_sum.vert", "vita2dlib/libvita2d/shader/compiled/color_v_gxp.o"),
    ("xyz_uv_sum.vert", "vita2dlib/libvita2d/shader/compiled/texture_v_gxp.o"),
];

const TEMPORARIES: &str = "halves are multiplied in a temporary here, in place there";
const LITERALS: &str = "another choice of literals; the size of DATA follows it";
const HALF_TEXEL: &str = "the texel is taken as f16 with relaxed precision, where the vendor's compiler kept f32";
const OWN_REGISTERS: &str =
    "what the secondary program makes has registers of its own here, those of uniforms that nobody reads any more there";
const CORNER: &str = "the corner is computed by another sequence, with a literal less";

/// What every file of minor version 4 differs in: it comes from the compiler before SDK 3.00.
const OLDER: &[(&str, &str)] = &[
    ("minor:", "version 5 is written"),
    ("flags bit 19:", "clear before SDK 3.00 (19.2)"),
    ("flags bit 20:", "likewise"),
    ("queries:", "the table of texture queries came with version 5"),
    ("container 19:", "two registers of DATA there that nothing uses"),
    ("data_count:", "likewise"),
    ("secondary_regs:", "likewise"),
    ("input 0", "the colour is taken as f32, in the same program of version 5 (vitaQuake) as halves"),
    ("primary_regs:", "likewise"),
];

/// Differences that may be: of which twins (`*`: of any, else how their names begin), how the line begins, why.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("*", "flags bit 2:", "set on about half of the published programs; nothing says what it means"),
    ("*", "parameter 0 semantic:", "ours name the location (ATTRn), Cg sources without semantics name nothing"),
    ("*", "parameter 1 semantic", "likewise"),
    ("*", "sdk:", "the youngest SDK instead of the one that made the file"),
    ("*", "compiler:", "likewise"),
    ("texel_times_uniform.frag", "container 19:", OWN_REGISTERS),
    ("texel_times_uniform.frag", "data_count:", OWN_REGISTERS),
    ("texel_times_uniform.frag", "secondary_regs:", OWN_REGISTERS),
    ("cutout_fogged_texel.frag", "temps:", TEMPORARIES),
    ("cutout_rgba.frag", "literals:", LITERALS),
    ("cutout_rgba.frag", "container 19:", LITERALS),
    ("cutout_rgba.frag", "data_count:", LITERALS),
    ("cutout_rgba.frag", "secondary_regs:", LITERALS),
    ("cutout_uniform.frag", "container 19:", LITERALS),
    ("cutout_uniform.frag", "data_count:", LITERALS),
    ("cutout_uniform.frag", "secondary_regs:", LITERALS),
    ("cutout_fogged_texel.frag", "literals:", LITERALS),
    ("cutout_fogged_texel.frag", "container 19:", LITERALS),
    ("cutout_fogged_texel.frag", "data_count:", LITERALS),
    ("cutout_fogged_texel.frag", "secondary_regs:", LITERALS),
    ("cutout_uniform.frag", "input 0", HALF_TEXEL),
    ("cutout_uniform.frag", "parameter 1 taken as:", HALF_TEXEL),
    ("cutout_uniform.frag", "primary_regs:", HALF_TEXEL),
    ("cutout_fogged_texel.frag", "input 0", HALF_TEXEL),
    ("cutout_fogged_texel.frag", "parameter 0 taken as:", HALF_TEXEL),
    ("cutout_fogged_texel.frag", "primary_regs:", HALF_TEXEL),
    ("quad_corner", "literals:", CORNER),
    ("quad_corner", "container 19:", CORNER),
    ("quad_corner", "data_count:", CORNER),
    ("quad_corner", "secondary_regs:", CORNER),
    ("quad_corner", "temps:", CORNER),
];

/// The container that we make of a twin.
fn ours(name: &str) -> Gxp {
    let path = format!("{}/../targets/usse/tests/twins/{name}", env!("CARGO_MANIFEST_DIR"));
    let stage = if name.ends_with(".vert") { Stage::Vertex } else { Stage::Fragment };
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    let module = retroshade::frontend::glsl(name, &std::fs::read_to_string(path).unwrap(), &options).unwrap_or_else(|e| panic!("{e:?}"));
    let relaxed = Options { relaxed_precision: true, ..Options::default() };
    container::read(&isa().compile(&module, &relaxed).unwrap().container).unwrap()
}

/// Every field of a container but names and code: what it is called, and its value as text.
fn fields(g: &Gxp) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = [
        ("minor", g.minor as u64),
        ("sdk", g.sdk as u64),
        ("compiler", g.compiler as u64),
        ("buffer_flags", g.buffer_flags as u64),
        ("texunit_flags", g.texunit_flags),
        ("primary_regs", g.primary_regs as u64),
        ("secondary_regs", g.secondary_regs as u64),
        ("temps", g.temps as u64),
        ("phases", g.phases.len() as u64),
        ("data_count", g.data_count as u64),
        ("default_words", g.default_words as u64),
        ("parameters", g.parameters.len() as u64),
        ("literals", g.literals.len() as u64),
        ("queries", g.queries.len() as u64),
    ]
    .map(|(k, v)| (k.to_string(), format!("{v:#x}")))
    .to_vec();
    out.extend((0..21).map(|bit| (format!("flags bit {bit}"), (g.flags >> bit & 1).to_string())));
    for (n, p) in g.parameters.iter().enumerate() {
        for (what, v) in [
            ("category", p.category as u32),
            ("type", p.ty as u32),
            ("components", p.components as u32),
            ("container", p.container as u32),
            (if p.category == 0 { "semantic" } else { "taken as" }, p.semantic as u32),
            ("semantic index", p.semantic_index as u32),
            ("array", p.array),
            ("resource", p.resource),
        ] {
            out.push((format!("parameter {n} {what}"), v.to_string()));
        }
    }
    for c in &g.containers {
        out.push((format!("container {}", c.0), format!("sa{} size {}", c.1, c.2)));
    }
    for (offset, value) in g.literals.iter().filter(|l| l.1 == 0xe000) {
        out.push(("literal of KILL".to_string(), format!("{value:#x} at +{offset}")));
    }
    for d in &g.dependent_samplers {
        out.push((format!("texture state {}", d.0), d.1.to_string()));
    }
    match &g.varyings {
        Varyings::Vertex { attributes, untyped, outputs1, outputs2, half, vertex_index, instance_index } => {
            let all =
                [*attributes, *untyped, *outputs1 as u64, *outputs2 as u64, *half as u64, *vertex_index as u64, *instance_index as u64];
            let names = ["attributes", "untyped", "outputs 1", "outputs 2", "half", "vertex index", "instance index"];
            out.extend(names.into_iter().zip(all).map(|(k, v)| (k.to_string(), format!("{v:#x}"))));
        }
        Varyings::Fragment { output_start, output_type, components, textures, descriptors } => {
            let all = [*output_start as u64, *output_type as u64, *components as u64, *textures as u64, descriptors.len() as u64];
            let names = ["result register", "result type", "result components", "texels", "inputs"];
            out.extend(names.into_iter().zip(all).map(|(k, v)| (k.to_string(), format!("{v:#x}"))));
            for (n, d) in descriptors.iter().enumerate() {
                for (what, v) in [("info", d.info), ("unit", d.unit), ("size", d.size), ("result", d.result)] {
                    out.push((format!("input {n} {what}"), format!("{v:#x}")));
                }
            }
        }
    }
    out
}

/// Where two containers differ, field by field.
fn differences(a: &Gxp, b: &Gxp) -> Vec<String> {
    let (a, b) = (fields(a), fields(b));
    let value = |of: &[(String, String)], key: &str| of.iter().find(|f| f.0 == key).map_or("-".to_string(), |f| f.1.clone());
    let mut keys: Vec<&String> = a.iter().chain(&b).map(|f| &f.0).collect();
    keys.sort();
    keys.dedup();
    let rows = keys.into_iter().map(|k| (k, value(&a, k), value(&b, k)));
    rows.filter(|(_, x, y)| x != y).map(|(k, x, y)| format!("{k}: {x}, published {y}")).collect()
}

#[test]
fn containers_are_those_of_published_programs() {
    let Some(all) = published() else { return };
    let (mut used, mut before, mut wrong) = (vec![0; DIFFERENCES.len()], vec![0; OLDER.len()], Vec::new());
    for &(twin, name) in TWINS {
        let candidates: Vec<&Published> = all.iter().filter(|p| p.name.starts_with(name)).collect();
        assert!(!candidates.is_empty(), "no container {name}");
        let g = ours(twin);
        // Of several versions of one program the nearest one.
        let of = |p: &Published| (differences(&g, &p.container()), p.n("minor") == 4);
        let (nearest, older) = candidates.into_iter().map(of).min_by_key(|x| x.0.len()).unwrap();
        for d in nearest {
            if older && let Some(n) = OLDER.iter().position(|(what, _)| d.starts_with(what)) {
                before[n] += 1;
                continue;
            }
            match DIFFERENCES.iter().position(|(at, what, _)| (*at == "*" || twin.starts_with(at)) && d.starts_with(what)) {
                Some(n) => used[n] += 1,
                None => wrong.push(format!("{twin}, {name}: {d}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let older = OLDER.iter().map(|(what, _)| ("version 4", what)).zip(before);
    let younger = DIFFERENCES.iter().map(|(at, what, _)| (*at, what)).zip(used);
    for ((at, what), n) in older.chain(younger) {
        assert!(n > 0, "{at}: `{what}` does not differ any more");
    }
}
