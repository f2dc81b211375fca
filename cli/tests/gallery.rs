//! The gallery: the scenes of `examples/gallery` on the interpreter and on every machine's simulator, compared pixel by pixel, and the
//! sizes of their programs in `docs/gallery.md`.
//!
//! With `SHADERC_BLESS=1` the pictures and the page are written anew.
#![allow(clippy::unwrap_used)]

use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::env::{Filter, Wrap};
use retroshade::ir::{Module, Reference, ShaderEnv, ShaderResult, Stage, interp};
use retroshade::lower::bind::env_from_json;
use retroshade::render::{Camera, Given, Image, Mesh, Picture, Varying, fragment_image, mesh_image, sheet};
use retroshade::{CompiledShader, Options, TargetIsa};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Width and height of the pictures that are compared.
const SIDE: u32 = 80;
/// Width and height of those on the page.
const LARGE: u32 = 320;
/// Width and height of those on the README's sheet.
const SHEET: u32 = 176;
/// Steps of a colour channel that approximated functions and narrow floats may cost.
const TOLERANCE: u8 = 6;
/// Share of the pixels that may be further off: on edges of the set, of triangles and of texels.
const FAR: f64 = 0.03;
/// All pictures of the page together, in bytes.
const MOST: u64 = 1_500_000;

type Isa = &'static dyn TargetIsa;

/// Who runs a program.
type Run = Box<dyn FnMut(&ShaderEnv) -> Result<ShaderResult, String>>;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/gallery")
}

fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A program of a scene; the stage of a file that has several.
fn load(file: &str, stage: Stage, functions: bool) -> Module {
    let source = text(&folder().join(file));
    let options = FrontOptions { stage: Some(stage), functions, ..FrontOptions::default() };
    let module = if file.ends_with(".wgsl") { frontend::wgsl(file, &source, &options) } else { frontend::glsl(file, &source, &options) };
    module.unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// `FILE.png:linear:clamp` as a texture.
fn texture(text: &str) -> retroshade::ir::TextureData {
    let mut parts = text.split(':');
    let bytes = std::fs::read(folder().join(parts.next().unwrap())).expect("the texture");
    let (mut filter, mut wrap) = (Filter::Nearest, Wrap::Repeat);
    for p in parts {
        match p {
            "linear" => filter = Filter::Linear,
            "clamp" => wrap = Wrap::Clamp,
            "nearest" | "repeat" => {}
            p => panic!("no filter or wrap `{p}`"),
        }
    }
    Image::from_png(&bytes).expect("a PNG").to_texture(filter, wrap)
}

/// A scene of `scenes.json`.
struct Scene {
    json: Value,
}

impl Scene {
    fn all() -> Vec<Scene> {
        let list: Value = serde_json::from_str(&text(&folder().join("scenes.json"))).unwrap();
        list.as_array().unwrap().iter().map(|json| Scene { json: json.clone() }).collect()
    }
    fn str(&self, key: &str) -> &str {
        self.json[key].as_str().unwrap_or_else(|| panic!("a scene has no {key}"))
    }
    fn files(&self) -> Vec<&str> {
        self.json["files"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect()
    }
    fn mesh(&self) -> Option<Mesh> {
        let name = self.json["mesh"].as_str()?;
        Some(Mesh::named(name).unwrap_or_else(|| Mesh::from_obj(&std::fs::read(folder().join(name)).unwrap()).unwrap()))
    }
    /// The programs in the order of the pipeline.
    fn programs(&self, functions: bool) -> Vec<Module> {
        let files = self.files();
        let stages: &[Stage] = match (self.json["mesh"].is_string(), self.json["pixels"].is_string()) {
            (true, _) => &[Stage::Vertex, Stage::Fragment],
            (_, true) => &[Stage::Compute],
            _ => &[Stage::Fragment],
        };
        stages.iter().enumerate().map(|(n, s)| load(files[n.min(files.len() - 1)], *s, functions)).collect()
    }
    fn given(&self) -> Given {
        let mut given = Given::default();
        for (name, value) in self.json["uniforms"].as_object().into_iter().flatten() {
            given.uniform(name.clone(), value.clone());
        }
        for (name, file) in self.json["textures"].as_object().into_iter().flatten() {
            given.image(name.clone(), texture(file.as_str().unwrap()));
        }
        given
    }

    /// The picture on a machine (`None`: the interpreter), or why the machine cannot draw it.
    fn draw(&self, isa: Option<Isa>, side: u32) -> Result<Image, String> {
        let programs = self.programs(isa.is_some_and(|i| i.keeps_functions()));
        let mut runs: Vec<Run> = Vec::new();
        for (n, m) in programs.iter().enumerate() {
            // A machine with fixed fragment functions still has vertex programs; the interpreter does the rest.
            let helped = n > 0 && isa.is_some_and(|i| !i.stages().contains(&m.stage));
            runs.push(runner(m, isa.filter(|_| !helped))?);
        }
        if let Some(buffer) = self.json["pixels"].as_str() {
            return compute_image(&programs[0], buffer, self.json["tile"].as_u64().unwrap() as u32, side, &mut runs[0]);
        }
        let mesh = self.mesh();
        let camera = mesh.is_some().then_some(Camera { aspect: 1.0 });
        let picture = Picture { size: (side, side), time: 0.0, frame: 0, camera };
        let given = self.given();
        let environment = |m: &Module| given.environment(m, &picture, &mut BTreeMap::new()).map_err(|e| e.to_string());
        match (programs.as_slice(), runs.as_mut_slice(), mesh) {
            ([v, f], [run_vertex, run], Some(mesh)) => {
                mesh_image((v, &environment(v)?), (f, &environment(f)?), &mesh, picture.size, run_vertex, run)
            }
            ([f], [run], _) => fragment_image(f, &environment(f)?, &vec![Varying::Uv; f.inputs.len()], picture.size, run),
            _ => panic!("{}: programs without a mesh", self.str("name")),
        }
    }
}

/// A program on a machine's simulator, or on the interpreter.
fn runner(module: &Module, isa: Option<Isa>) -> Result<Run, String> {
    let Some(i) = isa else {
        let module = module.clone();
        return Ok(Box::new(move |env| interp::run(&module, env, &Reference).map_err(|e| e.to_string())));
    };
    let shader = compiled(module, i)?;
    Ok(Box::new(move |env| i.simulate(&shader, env).map_err(|e| format!("simulator: {e}"))))
}

fn compiled(module: &Module, isa: Isa) -> Result<CompiledShader, String> {
    if !isa.stages().contains(&module.stage) {
        return Err(format!("no {} programs", module.stage.name()));
    }
    isa.compile(module, &Options::default()).map_err(|e| e.to_string())
}

/// The picture that a compute program leaves in a buffer, a packed pixel in each word.
fn compute_image(module: &Module, buffer: &str, tile: u32, side: u32, run: &mut Run) -> Result<Image, String> {
    let groups = side / tile;
    let file = json!({ "workgroups": [groups, groups, 1], "storage": { buffer: vec![0; (side * side) as usize] } });
    let env = env_from_json(module, &file).map_err(|e| e.to_string())?;
    let result = run(&env)?;
    let mut image = Image::new(side, side);
    for (at, word) in (0..).zip(&result.storage[0]) {
        image.put((at % side, at / side), word.to_le_bytes());
    }
    Ok(image)
}

/// How every machine's picture differs from the interpreter's: lines of what is wrong.
fn differences(scene: &Scene, want: &Image) -> Vec<String> {
    let name = scene.str("name");
    let mut wrong = Vec::new();
    for isa in retroshade::targets() {
        let first = &scene.programs(false)[0];
        if !isa.stages().contains(&first.stage) {
            assert_ne!(isa.name(), scene.str("machine"), "{name} is shown as a machine draws it that cannot");
            continue;
        }
        match scene.draw(Some(isa), SIDE) {
            Ok(got) => {
                let far = want.difference(&got, TOLERANCE);
                println!("{name} on {}: {:.2} % of the pixels differ by more than {TOLERANCE}", isa.name(), far * 100.0);
                if far > FAR {
                    wrong.push(format!("{name} on {}: {far}", isa.name()));
                }
            }
            Err(e) => wrong.push(format!("{name} on {}: {e}", isa.name())),
        }
    }
    wrong
}

/// A scene's part of the page.
fn section(scene: &Scene) -> String {
    let (name, targets) = (scene.str("name"), retroshade::targets());
    let sources: Vec<String> = scene.files().iter().map(|f| format!("[`{f}`](../examples/gallery/{f})")).collect();
    let mut out = format!("\n## {}\n\n![{}](gallery/{name}.png)\n\n", scene.str("title"), scene.str("title"));
    let _ = writeln!(out, "{} Drawn by {}'s simulator from {}.\n", scene.str("about"), title(scene.str("machine")), sources.join(" and "));
    let _ = writeln!(out, "| | {} |", targets.iter().map(|t| title(t.name())).collect::<Vec<_>>().join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(targets.len()));
    let forms = [scene.programs(false), scene.programs(true)];
    for n in 0..forms[0].len() {
        let _ = write!(out, "| {} program |", forms[0][n].stage.name());
        for isa in &targets {
            let module = &forms[usize::from(isa.keeps_functions())][n];
            let _ = match compiled(module, *isa) {
                Ok(s) => write!(out, " {} bytes, {} instructions |", s.stats.bytes, s.stats.instructions),
                Err(e) if !isa.stages().contains(&module.stage) => write!(out, " {e} |"),
                Err(e) => panic!("{name} on {}: {e}", isa.name()),
            };
        }
        out.push('\n');
    }
    out
}

/// A machine's name in text.
fn title(target: &str) -> &'static str {
    match target {
        "tesla" => "Tesla",
        "usse" => "USSE",
        "r700" => "R700",
        "pica" => "PICA200",
        t => panic!("no machine {t}"),
    }
}

/// The large picture with each square of pixels averaged into one.
fn reduced(image: &Image) -> Image {
    let n = LARGE / SIDE;
    let mut out = Image::new(SIDE, SIDE);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let inside = (0..n * n).map(|k| (((y * n + k / n) * LARGE + x * n + k % n) * 4) as usize);
            let mean = [0, 1, 2, 3].map(|c| (inside.clone().map(|at| u32::from(image.rgba[at + c])).sum::<u32>() / (n * n)) as u8);
            out.put((x, y), mean);
        }
    }
    out
}

#[test]
fn machines_agree_with_the_interpreter() {
    let bless = std::env::var_os("SHADERC_BLESS").is_some();
    let mut wrong = Vec::new();
    let mut bytes = 0;
    for scene in Scene::all() {
        let want = scene.draw(None, SIDE).unwrap_or_else(|e| panic!("{}: {e}", scene.str("name")));
        assert!(want.rgba.chunks(4).filter(|p| p[3] > 0).count() > 500, "{} is empty", scene.str("name"));
        wrong.extend(differences(&scene, &want));
        let path = docs().join("gallery").join(format!("{}.png", scene.str("name")));
        if bless {
            let large = scene.draw(retroshade::target(scene.str("machine")), LARGE).unwrap();
            std::fs::write(&path, large.to_png().unwrap()).unwrap();
        }
        let file = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        bytes += file.len() as u64;
        let shown = Image::from_png(&file).expect("a PNG");
        assert_eq!((shown.width, shown.height), (LARGE, LARGE), "{}", path.display());
        let stale = reduced(&shown).difference(&want, 48);
        assert!(stale < 0.15, "{} is no picture of its scene: {:.0} % of it differs", path.display(), stale * 100.0);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(bytes < MOST, "the pictures have {bytes} bytes");
}

/// The README shows a sheet of every machine, as `render --sheet` makes it.
#[test]
fn the_sheet_is_one_of_its_scene() {
    let scene = Scene::all().into_iter().find(|s| s.str("name") == "sphere").unwrap();
    let machines = std::iter::once(None).chain(retroshade::targets().into_iter().map(Some));
    let row: Vec<(String, Image)> =
        machines.map(|m| (m.map_or("interpreter", |i| i.name()).to_string(), scene.draw(m, SHEET).unwrap())).collect();
    let made = sheet(&row);
    let path = docs().join("gallery/sheet.png");
    if std::env::var_os("SHADERC_BLESS").is_some() {
        std::fs::write(&path, made.to_png().unwrap()).unwrap();
    }
    let shown = Image::from_png(&std::fs::read(&path).unwrap()).expect("a PNG");
    let stale = shown.difference(&made, 48);
    assert!(stale < 0.05, "{} is no picture of its scene: {:.0} % of it differs", path.display(), stale * 100.0);
    assert!(text(&docs().join("../README.md")).contains("](docs/gallery/sheet.png)"));
}

#[test]
fn sizes_are_those_of_the_page() {
    let scenes = Scene::all();
    assert!(scenes.len() >= 12);
    let mut page = String::from(
        "# Gallery\n\nGenerated by `SHADERC_BLESS=1 cargo test -p retroshade --test gallery` from `examples/gallery/scenes.json`. The test draws \
         every scene on every\nmachine's simulator that has its programs and compares it with the interpreter's picture; where a machine has vertex \
         programs only, the interpreter\ndoes the fragments. Sizes are those of `-O2`.\n",
    );
    scenes.iter().for_each(|s| page.push_str(&section(s)));
    let path = docs().join("gallery.md");
    if std::env::var_os("SHADERC_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(text(&path) == page, "docs/gallery.md is not what the programs come to; SHADERC_BLESS=1 writes it anew");
}
