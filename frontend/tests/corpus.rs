//! Every shader of the corpus and of the density sets converts and verifies. Skips, visibly, where they are absent.

use retroshade_frontend::{FrontOptions, glsl, spirv, wgsl};
use retroshade_ir::{InvocationInputs, Module, Reference, Scalar, ShaderEnv, Stage, TexDim, TextureData, interp};
use retroshade_lower::testing::beside;
use std::path::{Path, PathBuf};

fn stage(s: &str) -> Stage {
    match s {
        "vert" => Stage::Vertex,
        "comp" => Stage::Compute,
        "geom" => Stage::Geometry,
        _ => Stage::Fragment,
    }
}

/// Converts, verifies and prints; gives the message where one of them fails.
fn convert(path: &Path, stage: Stage, entry: Option<&str>) -> Result<Module, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let options = FrontOptions { stage: Some(stage), entry: entry.map(str::to_string), ..FrontOptions::default() };
    let name = path.display().to_string();
    let result = if path.extension().is_some_and(|e| e == "wgsl") { wgsl(&name, &text, &options) } else { glsl(&name, &text, &options) };
    let module = result.map_err(|e| e.to_string())?;
    retroshade_ir::verify(&module).map_err(|e| e.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("; "))?;
    let text = retroshade_ir::print(&module);
    let again = retroshade_ir::parse(&name, &text).map_err(|e| {
        format!("printed text does not parse: {}\n{text}", e.diagnostics.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("; "))
    })?;
    if retroshade_ir::print(&again) != text {
        return Err("printed text changes when parsed and printed again".into());
    }
    if std::env::var_os("RETROSHADE_SHOW").is_some_and(|s| name.contains(&*s.to_string_lossy())) {
        println!("{text}");
    }
    Ok(module)
}

fn report(failures: &[String], total: usize) {
    for f in failures {
        println!("{f}");
    }
    println!("{} of {total} convert", total - failures.len());
    assert!(total > 0 && failures.is_empty(), "{} of {total} fail", failures.len());
}

#[test]
fn corpus() {
    let Some(corpus) = beside("corpus") else { return };
    let manifest = std::fs::read_to_string(corpus.join("MANIFEST.tsv")).expect("manifest");
    let (mut failures, mut total) = (Vec::new(), 0);
    for line in manifest.lines().skip(1) {
        let f: Vec<&str> = line.split('\t').collect();
        let mut jobs = vec![(f[2], Some(f[3]))];
        if f[4] != "-" {
            jobs.push((f[4], None));
        }
        for (file, entry) in jobs {
            total += 1;
            if let Err(e) = convert(&corpus.join(file), stage(f[1]), entry) {
                failures.push(format!("{file}: {e}"));
            }
        }
    }
    report(&failures, total);
}

#[test]
fn density() {
    let Some(density) = beside("density") else { return };
    let (mut failures, mut total) = (Vec::new(), 0);
    for folder in ["pica", "r700", "usse/glsl"] {
        let Ok(dir) = std::fs::read_dir(density.join(folder)) else { continue };
        let mut files: Vec<PathBuf> = dir.filter_map(|e| e.ok().map(|e| e.path())).collect();
        files.sort();
        for path in files {
            let Some(ext @ ("vert" | "frag" | "comp")) = path.extension().and_then(|e| e.to_str()) else { continue };
            total += 1;
            if let Err(e) = convert(&path, stage(ext), None) {
                failures.push(format!("{}: {e}", path.display()));
            }
        }
    }
    report(&failures, total);
}

/// The same program as naga writes it in SPIR-V.
fn as_spirv(text: &str) -> Result<Vec<u8>, String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.to_string())?;
    let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all());
    let info = validator.validate(&module).map_err(|e| e.to_string())?;
    let (module, info) =
        naga::back::pipeline_constants::process_overrides(&module, &info, None, &Default::default()).map_err(|e| e.to_string())?;
    // Names, but no change of coordinates, no clamped indices and no limits of loops.
    let options = naga::back::spv::Options {
        flags: naga::back::spv::WriterFlags::DEBUG,
        force_loop_bounding: false,
        ..naga::back::spv::Options::default()
    };
    let words = naga::back::spv::write_vec(&module, &info, &options, None).map_err(|e| e.to_string())?;
    Ok(words.iter().flat_map(|w| w.to_le_bytes()).collect())
}

/// Small numbers in every word that a program reads, by what it is called: the same for two forms of the program.
fn environment(m: &Module) -> ShaderEnv {
    let word = |s: Scalar, key: &str, n: u32| {
        let mut h = key.bytes().fold(0x811c_9dc5u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193)) ^ n.wrapping_mul(0x9e37_79b9);
        h = (h ^ h >> 15).wrapping_mul(0x85eb_ca6b);
        match s {
            Scalar::I32 => h >> 8 & 3,
            Scalar::I1 => h >> 8 & 1,
            _ => ((h >> 12 & 0xfff) as f32 / 1024.0 - 1.0).to_bits(),
        }
    };
    let fill = |s: Scalar, key: String, n: u32| (0..n).map(|k| word(s, &key, k)).collect::<Vec<u32>>();
    let mut env = ShaderEnv { workgroups: [2, 1, 1], ..ShaderEnv::default() };
    if m.stage != Stage::Compute {
        for lane in 0..8 {
            let inputs =
                m.inputs.values().map(|d| fill(d.ty.scalar, format!("{:?} {lane}", d.binding), d.count.max(1) * u32::from(d.ty.lanes)));
            env.invocations.push(InvocationInputs { inputs: inputs.collect() });
        }
    }
    let uniforms = m
        .uniforms
        .values()
        .map(|u| fill(u.ty.scalar, format!("{} {} {}", u.group, u.binding, u.offset), u.elements() * u32::from(u.ty.lanes)));
    env.uniforms = uniforms.collect();
    for d in m.textures.values() {
        let mut t = TextureData {
            dim: d.dim,
            size: [4, if d.dim == TexDim::D1 { 1 } else { 4 }, if d.dim == TexDim::D3 { 4 } else { 1 }],
            layers: if d.arrayed { 2 } else { 1 },
            levels: 1,
            depth: d.shadow,
            filter: Default::default(),
            wrap: Default::default(),
            texels: Vec::new(),
        };
        let key = format!("texel {} {}", d.group, d.binding);
        let count = retroshade_ir::texture::texel_count(&t) as u32;
        t.texels = (0..count).map(|n| std::array::from_fn(|c| word(d.kind, &key, 4 * n + c as u32))).collect();
        env.textures.push(t);
    }
    env.storage = m
        .storage
        .values()
        .map(|s| (0..s.head.len().max(64)).map(|n| word(s.word(n), &format!("{} {}", s.group, s.binding), n as u32)).collect())
        .collect();
    env
}

/// What a program leaves, by location and binding.
fn results(m: &Module) -> Result<Vec<(String, Vec<u32>)>, String> {
    let limits = interp::Limits { fuel: 1 << 18, ..interp::Limits::default() };
    let r = interp::run_with(m, &environment(m), &Reference, &limits).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    for (lane, i) in r.invocations.iter().enumerate() {
        if i.discarded {
            out.push((format!("{lane} discarded"), vec![]));
            continue;
        }
        for (d, w) in m.outputs.values().zip(&i.outputs) {
            out.push((format!("{lane} {:?}", d.binding), w.clone()));
        }
    }
    for (s, w) in m.storage.values().zip(r.storage) {
        out.push((format!("{} {}", s.group, s.binding), w));
    }
    out.sort();
    Ok(out)
}

#[test]
fn spirv_means_the_same() {
    let Some(corpus) = beside("corpus") else { return };
    let manifest = std::fs::read_to_string(corpus.join("MANIFEST.tsv")).expect("manifest");
    let (mut failures, mut total, mut endless) = (Vec::new(), 0, 0);
    for line in manifest.lines().skip(1) {
        let f: Vec<&str> = line.split('\t').collect();
        let path = corpus.join(f[2]);
        let text = std::fs::read_to_string(&path).expect("a shader");
        total += 1;
        let options = FrontOptions { stage: Some(stage(f[1])), entry: Some(f[3].to_string()), ..FrontOptions::default() };
        let both = convert(&path, stage(f[1]), Some(f[3])).and_then(|a| {
            let b = spirv(f[2], &as_spirv(&text)?, &options).map_err(|e| e.to_string())?;
            retroshade_ir::verify(&b).map_err(|e| e.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("; "))?;
            match (results(&a), results(&b)) {
                (Ok(x), Ok(y)) => Ok((x, y)),
                (Err(x), Err(y)) if x == y => {
                    endless += 1;
                    Ok((vec![], vec![]))
                }
                (x, y) => Err(format!("{:?} {:?}", x.err(), y.err())),
            }
        });
        match both {
            Ok((x, y)) => {
                let nan = |w: u32| f32::from_bits(w).is_nan();
                // An output that a path leaves unwritten may hold anything; SPIR-V writes all of them.
                let same = x.len() == y.len()
                    && x.iter().zip(&y).all(|((k, v), (l, w))| k == l && v.iter().zip(w).all(|(p, q)| p == q || nan(*p) && nan(*q)));
                if !same {
                    let first = x.iter().zip(&y).find(|(a, b)| a != b);
                    failures.push(format!("{}: {first:?}", f[2]));
                }
            }
            Err(e) => failures.push(format!("{}: {e}", f[2])),
        }
    }
    println!("{endless} do not end on these inputs");
    report(&failures, total);
}

/// GLSL texts below a folder.
fn texts(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(dir) = std::fs::read_dir(folder) else { return };
    for path in dir.filter_map(|e| e.ok().map(|e| e.path())) {
        match path.extension().and_then(|e| e.to_str()) {
            _ if path.is_dir() => texts(&path, out),
            Some("vert" | "frag") => out.push(path),
            _ => {}
        }
    }
}

/// A text that glslang reads as an older version, since it starts faster, means what it means in its own: a function that nobody calls
/// and that only the later version has changes nothing.
#[test]
fn older_versions() {
    let mut paths = Vec::new();
    texts(Path::new("../examples"), &mut paths);
    for folder in ["corpus", "density", "breadth"].into_iter().filter_map(beside) {
        texts(&folder, &mut paths);
    }
    paths.sort();
    let (mut same, mut failures) = (0, Vec::new());
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let options = FrontOptions { stage: path.extension().and_then(|e| e.to_str()).map(stage), ..FrontOptions::default() };
        let module = |text: &str| glsl("", text, &options).map(|m| retroshade_ir::print(&m)).map_err(|e| e.to_string());
        if let Ok(later) = module(&format!("{text}\nuint shaderc_later(uint n) {{ return n + 1u; }}\n")) {
            match module(&text) {
                Ok(own) if own == later => same += 1,
                Ok(_) => failures.push(format!("{}: another program", path.display())),
                Err(e) => failures.push(format!("{}: {e}", path.display())),
            }
        }
    }
    report(&failures, same + failures.len());
}
