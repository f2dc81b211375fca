//! The gallery: the same shaders on the interpreter and on every machine's simulator, compared pixel by pixel.
//!
//! With `SHADERC_BLESS=1` the pictures and `docs/gallery.md` are written anew.

use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::env::{Filter, Wrap};
use retroshade::ir::{Module, Reference, ShaderEnv, ShaderResult, Stage, interp};
use retroshade::lower::bind::env_from_json;
use retroshade::render::{Camera, Image, Mesh, Varying, fragment_image, mesh_image};
use retroshade::{Options, TargetIsa};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// Width and height of the pictures.
const SIZE: (u32, u32) = (96, 96);
/// Steps of a colour channel that approximated functions and narrow floats may cost.
const TOLERANCE: u8 = 6;
/// Share of the pixels that may be further off: on edges of the set, of triangles and of texels.
const FAR: f64 = 0.03;

struct Scene {
    name: &'static str,
    about: &'static str,
    vertex: Option<&'static str>,
    fragment: &'static str,
    mesh: Option<&'static str>,
    uniforms: Value,
    texture: Option<&'static str>,
}

type Run = Box<dyn FnMut(&ShaderEnv) -> Result<ShaderResult, String>>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn scenes() -> Vec<Scene> {
    let camera = Camera { aspect: 1.0 };
    let lit = json!({ "mvp": camera.matrix("mvp"), "model": camera.matrix("model") });
    let one = |name, about, fragment, uniforms| Scene { name, about, vertex: None, fragment, mesh: None, uniforms, texture: None };
    let drawn = |name, about, mesh| Scene {
        name,
        about,
        vertex: Some("lit.vert"),
        fragment: "lit.frag",
        mesh: Some(mesh),
        uniforms: lit.clone(),
        texture: Some("surface"),
    };
    vec![
        one("mandelbrot", "a loop that pixels leave at different times", "mandelbrot.frag", json!({ "centre": [-0.6, 0], "radius": 1.3 })),
        one(
            "waves",
            "sines, square roots, an indexed uniform",
            "waves.wgsl",
            json!({ "scene.sources": [[0.2, 0.3, 40, 1], [0.8, 0.2, 50, 1], [0.5, 0.9, 45, 1]], "scene.time": 1.5 }),
        ),
        one("bricks", "derivatives and discard", "bricks.frag", json!({})),
        drawn("sphere", "vertex and fragment program, filtered texture, light", "sphere"),
        drawn("cube", "the same programs on another mesh", "cube"),
    ]
}

fn load(file: &str, stage: Stage) -> Module {
    let path = root().join("examples/gallery").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let options = FrontOptions { stage: Some(stage), ..FrontOptions::default() };
    let module = if file.ends_with(".wgsl") { frontend::wgsl(file, &text, &options) } else { frontend::glsl(file, &text, &options) };
    module.unwrap_or_else(|e| panic!("{file}: {e}"))
}

fn environment(scene: &Scene, module: &Module) -> ShaderEnv {
    let mut file = json!({ "invocations": [], "uniforms": scene.uniforms });
    if let Some(t) = scene.texture {
        file["textures"] = json!({ t: { "size": [1, 1], "texels": [[0, 0, 0, 1]] } });
    }
    let mut env = env_from_json(module, &file).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
    if let Some(t) = env.textures.first_mut() {
        let bytes = std::fs::read(root().join("examples/gallery/tiles.png")).expect("the texture");
        *t = Image::from_png(&bytes).expect("a PNG").to_texture(Filter::Linear, Wrap::Repeat);
    }
    env
}

/// Who runs a program: the interpreter (`None`, and for fragments of a machine that has none), or a simulator.
fn runner(module: &Module, isa: Option<&'static dyn TargetIsa>, with_vertex: bool) -> Result<Run, String> {
    match isa {
        Some(i) if i.stages().contains(&module.stage) => {
            let shader = i.compile(module, &Options::default()).map_err(|e| e.to_string())?;
            Ok(Box::new(move |env| i.simulate(&shader, env).map_err(|e| format!("simulator: {e}"))))
        }
        Some(_) if !with_vertex => Err(format!("no {} programs", module.stage.name())),
        _ => {
            let module = module.clone();
            Ok(Box::new(move |env| interp::run(&module, env, &Reference).map_err(|e| e.to_string())))
        }
    }
}

/// The picture of a scene on a machine (`None`: the interpreter), or why the machine cannot draw it.
fn draw(scene: &Scene, isa: Option<&'static dyn TargetIsa>) -> Result<Image, String> {
    let fragment = load(scene.fragment, Stage::Fragment);
    let fragment_env = environment(scene, &fragment);
    let mut run = runner(&fragment, isa, scene.vertex.is_some())?;
    match (scene.vertex, scene.mesh.and_then(Mesh::named)) {
        (Some(v), Some(mesh)) => {
            let vertex = load(v, Stage::Vertex);
            let mut vertex_env = environment(scene, &vertex);
            vertex_env.textures.truncate(vertex.textures.len());
            let mut run_vertex = runner(&vertex, isa, true)?;
            mesh_image((&vertex, &vertex_env), (&fragment, &fragment_env), &mesh, SIZE, &mut run_vertex, &mut run)
        }
        _ => fragment_image(&fragment, &fragment_env, &vec![Varying::Uv; fragment.inputs.len()], SIZE, &mut run),
    }
}

#[test]
fn machines_agree_with_the_interpreter() {
    let bless = std::env::var_os("SHADERC_BLESS").is_some();
    let folder = root().join("docs/gallery");
    let targets = retroshade::targets();
    let mut page = String::from(
        "# Gallery\n\nThe same shaders (`examples/gallery`) on the interpreter and on each machine's simulator. Generated by\n\
         `SHADERC_BLESS=1 cargo test -p retroshade --test gallery`; the test compares every picture with the interpreter's.\n\
         PICA200 has no fragment programs: where a vertex program is involved its simulator runs that, the interpreter the rest.\n\n| scene | interpreter |",
    );
    for t in &targets {
        let _ = write!(page, " {} |", t.name());
    }
    page.push_str("\n|---|---|");
    page.push_str(&"---|".repeat(targets.len()));
    page.push('\n');
    let save = |name: &str, image: &Image| {
        if bless {
            std::fs::create_dir_all(&folder).expect("folder");
            std::fs::write(folder.join(name), image.to_png().expect("PNG")).expect("written");
        }
    };
    let mut wrong = Vec::new();
    for scene in scenes() {
        let want = draw(&scene, None).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
        assert!(want.rgba.chunks(4).filter(|p| p[3] > 0).count() > 500, "{} is empty", scene.name);
        let file = format!("{}.png", scene.name);
        save(&file, &want);
        if let Ok(bytes) = std::fs::read(folder.join(&file)) {
            let golden = Image::from_png(&bytes).expect("a PNG");
            assert!(golden.difference(&want, 1) <= 0.001, "{} differs from docs/gallery/{file}", scene.name);
        }
        let _ = write!(page, "| {}: {} | ![](gallery/{file}) |", scene.name, scene.about);
        for t in &targets {
            match draw(&scene, Some(*t)) {
                Ok(got) => {
                    let far = want.difference(&got, TOLERANCE);
                    println!("{} on {}: {:.2} % of the pixels differ by more than {TOLERANCE}", scene.name, t.name(), far * 100.0);
                    let file = format!("{}.{}.png", scene.name, t.name());
                    save(&file, &got);
                    let _ = write!(page, " ![](gallery/{file}) |");
                    if far > FAR {
                        wrong.push(format!("{} on {}: {far}", scene.name, t.name()));
                    }
                }
                Err(e) => {
                    println!("{} on {}: {e}", scene.name, t.name());
                    if e.starts_with("simulator") {
                        wrong.push(format!("{} on {}: {e}", scene.name, t.name()));
                    }
                    let _ = write!(page, " {} |", e.replace('|', "/"));
                }
            }
        }
        page.push('\n');
    }
    if bless {
        std::fs::write(root().join("docs/gallery.md"), page).expect("written");
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
