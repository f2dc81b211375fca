//! `shaderc render`: the command around [`retroshade::render`].

mod given;

use crate::args::{CodegenArgs, MessageFormat, RenderArgs, SourceArgs};
use crate::execute::{interp_failure, sim_failure};
use crate::files;
use crate::input::{check_chip, linked, load, load_after, options, target};
use crate::report::{self, Failure};
use given::varyings;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use retroshade::Language;
use retroshade::ir::{Module, Reference, ShaderEnv, ShaderResult, Stage, interp};
use retroshade::render::{Camera, Given, Image, Mesh, Picture, animation, colour_output, fragment_image, mesh_image, sheet};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most pixels of all pictures that are drawn together.
const MAX_PIXELS: u64 = 1 << 26;

/// Something that runs one program.
type Runner<'a> = Box<dyn Fn(&ShaderEnv) -> Result<ShaderResult, Failure> + Sync + 'a>;

/// A runner on the interpreter or, compiled once, on a target's simulator.
fn runner<'a>(name: String, module: &'a Module, machine: Option<&str>, codegen: &CodegenArgs) -> Result<Runner<'a>, Failure> {
    let Some(t) = machine else {
        return Ok(Box::new(move |env| interp::run(module, env, &Reference).map_err(|e| interp_failure(&name, &e))));
    };
    let isa = target(t)?;
    check_chip(&[isa], codegen.chip.as_deref())?;
    if !isa.stages().contains(&module.stage) {
        let message = format!("target {t} has no {} programs", module.stage.name());
        return Err(Failure { file: Some(name), ..Failure::plain(1, "C0011", message) });
    }
    let shader = isa.compile(module, &options(codegen)).map_err(|e| Failure::compile(&e, module, &name))?;
    Ok(Box::new(move |env| isa.simulate(&shader, env).map_err(|e| sim_failure(&name, &e))))
}

/// Runs the invocations of an environment on all cores; those of a quad stay together. Programs that write memory run in one piece.
fn on_all_cores(module: &Module, env: &ShaderEnv, run: &Runner, bar: &ProgressBar) -> Result<ShaderResult, Failure> {
    let share = env.invocations.len().div_ceil(rayon::current_num_threads()).max(256).next_multiple_of(4);
    if !module.storage.is_empty() || env.invocations.len() <= share {
        return run(env).inspect(|r| bar.inc(r.invocations.len() as u64));
    }
    let without = ShaderEnv { invocations: Vec::new(), ..env.clone() };
    let parts: Vec<ShaderResult> = env
        .invocations
        .par_chunks(share)
        .map(|part| {
            let result = run(&ShaderEnv { invocations: part.to_vec(), ..without.clone() })?;
            bar.inc(part.len() as u64);
            Ok(result)
        })
        .collect::<Result<_, Failure>>()?;
    Ok(ShaderResult { invocations: parts.into_iter().flat_map(|p| p.invocations).collect(), storage: Vec::new() })
}

/// The programs of a picture and what they read.
struct Scene<'a> {
    args: &'a RenderArgs,
    vertex: Option<Module>,
    fragment: Module,
    mesh: Option<Mesh>,
    given: Given,
}

impl Scene<'_> {
    fn load(a: &RenderArgs, camera: Camera) -> Result<Scene<'_>, Failure> {
        let mesh = a.mesh.as_deref().map(mesh).transpose()?;
        let last = &a.files[a.files.len() - 1];
        let staged = |stage, entry: &Option<String>| SourceArgs { stage: Some(stage), entry: entry.clone(), ..a.source.clone() };
        // With a mesh the name of an entry means one of the two programs; the other one is the only one of its stage.
        let mut named = a.source.entry.clone();
        let vertex = match mesh {
            Some(_) => Some(match (load(&a.files[0], &staged(Stage::Vertex, &named)), &named) {
                (Err(f), Some(_)) if f.has("F0006") => load(&a.files[0], &staged(Stage::Vertex, &None))?,
                (Ok(v), Some(_)) => {
                    // In two files both may have the name.
                    named = if a.files.len() == 1 { None } else { named };
                    v
                }
                (vertex, _) => vertex?,
            }),
            None => None,
        };
        let fragment = load_after(last, &staged(Stage::Fragment, &named), vertex.as_ref())?;
        if let Some(v) = &vertex {
            linked(v, &fragment, last)?;
        }
        if colour_output(&fragment).is_none() {
            return Err(Failure { file: Some(files::display(last)), ..Failure::plain(1, "R0005", "the shader writes no colour") });
        }
        let programs: Vec<&Module> = vertex.iter().chain([&fragment]).collect();
        let given = given::read(a, &programs, camera)?;
        Ok(Scene { args: a, vertex, fragment, mesh, given })
    }

    /// The picture that a machine (`None`: the interpreter) draws, one for each of `pictures`.
    fn draw(
        &self,
        machine: Option<&str>,
        pictures: &[Picture],
        bar: &ProgressBar,
        notes: &mut BTreeMap<String, String>,
    ) -> Result<Vec<Image>, Failure> {
        let a = self.args;
        let [first, .., last] = [&a.files[0], &a.files[a.files.len() - 1]].map(|f| files::display(f));
        // A machine with fixed fragment functions still has vertex programs: then the interpreter does the fragments.
        let only_vertices = match machine {
            Some(t) => self.vertex.is_some() && !target(t)?.stages().contains(&Stage::Fragment),
            None => false,
        };
        let fragments = runner(last, &self.fragment, machine.filter(|_| !only_vertices), &a.codegen)?;
        let vertices = self.vertex.as_ref().map(|v| runner(first, v, machine, &a.codegen)).transpose()?;
        let varyings = varyings(a, &self.fragment)?;
        let mut environment = |m: &Module, p: &Picture| self.given.environment(m, p, notes).map_err(|e| given::failure(a, &e));
        let mut shade = |env: &ShaderEnv| on_all_cores(&self.fragment, env, &fragments, bar);
        pictures
            .iter()
            .map(|p| {
                let fragment_env = environment(&self.fragment, p)?;
                let (Some(v), Some(run), Some(mesh)) = (&self.vertex, &vertices, &self.mesh) else {
                    return fragment_image(&self.fragment, &fragment_env, &varyings, p.size, &mut shade);
                };
                let vertex_env = environment(v, p)?;
                let mut transform = |env: &ShaderEnv| on_all_cores(v, env, run, bar);
                mesh_image((v, &vertex_env), (&self.fragment, &fragment_env), mesh, p.size, &mut transform, &mut shade)
            })
            .collect()
    }

    /// A sheet of every machine that can draw the scene for each picture. `wrong` learns why others cannot.
    fn sheets(
        &self,
        pictures: &[Picture],
        bar: &ProgressBar,
        notes: &mut BTreeMap<String, String>,
        wrong: &mut Vec<Failure>,
    ) -> Result<Vec<Image>, Failure> {
        let mut columns = vec![("interpreter".to_string(), self.draw(None, pictures, bar, notes)?)];
        let needs = if self.vertex.is_some() { Stage::Vertex } else { Stage::Fragment };
        for isa in retroshade::targets().into_iter().filter(|t| t.stages().contains(&needs)) {
            match self.draw(Some(isa.name()), pictures, bar, notes) {
                Ok(images) => columns.push((isa.name().to_string(), images)),
                Err(f) if f.status == 70 => return Err(f),
                Err(f) => wrong.push(f.into_warning()),
            }
        }
        let row = |n: usize| columns.iter().map(|(name, images)| (name.clone(), images[n].clone())).collect::<Vec<_>>();
        Ok((0..pictures.len()).map(|n| sheet(&row(n))).collect())
    }
}

/// A built-in mesh, or the one of a file.
fn mesh(name: &str) -> Result<Mesh, Failure> {
    if let Some(m) = Mesh::named(name) {
        return Ok(m);
    }
    let path = Path::new(name);
    let read = |p: &Path| files::read(p);
    let neighbour =
        |uri: &str| read(&path.with_file_name(uri)).map_err(|f| f.diagnostics.first().map_or(String::new(), |d| d.message.clone()));
    let model = match path.extension().and_then(|e| e.to_str()) {
        Some("obj") => Mesh::from_obj(&read(path)?),
        Some("gltf" | "glb") => Mesh::from_gltf(&read(path)?, &neighbour),
        _ => {
            let m = format!("no mesh `{name}`; there are {}, and files that end in .obj, .gltf and .glb", Mesh::NAMES.join(", "));
            return Err(Failure::usage(m));
        }
    };
    model.map_err(|e| Failure { file: Some(name.to_string()), ..Failure::plain(1, "R0007", e.to_string()) })
}

/// Width and height of `--size`, and that all pictures together are not too large.
fn size(a: &RenderArgs) -> Result<(u32, u32), Failure> {
    let size = a.size.split_once('x').and_then(|(w, h)| Some((w.parse::<u32>().ok()?, h.parse::<u32>().ok()?)));
    let Some((width, height)) = size.filter(|(w, h)| *w > 0 && *h > 0) else {
        return Err(Failure::usage(format!("`{}` is not a size; write WIDTHxHEIGHT", a.size)));
    };
    let machines = if a.sheet { 1 + retroshade::targets().len() as u64 } else { 1 };
    let pixels = u64::from(width).saturating_mul(u64::from(height)).saturating_mul(u64::from(a.frames)).saturating_mul(machines);
    if pixels > MAX_PIXELS {
        return Err(Failure::plain(3, "R0004", format!("the image is too large (needed {pixels} pixels, available {MAX_PIXELS})")));
    }
    Ok((width, height))
}

/// `shaderc render`
pub fn render(a: &RenderArgs, format: MessageFormat) -> Result<(), Failure> {
    let size = size(a)?;
    if a.files.len() > 1 && a.mesh.is_none() {
        return Err(Failure::usage("two programs need --mesh (triangle, quad, cube, sphere, or a model's file)"));
    }
    let last = a.files.last().and_then(|f| Some((f, Language::of_path(f)?.1?))).filter(|l| l.1 != Stage::Fragment);
    if let Some((file, stage)) = last {
        let message =
            format!("{} is a {} program by its name: a picture is drawn by a fragment program", files::display(file), stage.name());
        return Err(Failure::usage(message));
    }
    if a.mesh.is_some() && !a.varying.is_empty() {
        return Err(Failure::usage("--varying is for a fragment program alone; with --mesh the vertex program says what its inputs hold"));
    }
    let camera = Camera { aspect: size.0 as f32 / size.1 as f32 };
    let scene = Scene::load(a, camera)?;
    let output = a.output.clone().unwrap_or_else(|| own_name(&a.files[a.files.len() - 1]));
    // Whoever asks for another kind would find a PNG under a name that says otherwise.
    const OTHERS: [&str; 8] = ["gif", "jpg", "jpeg", "bmp", "tga", "webp", "ppm", "svg"];
    if let Some(e) = output.extension().and_then(|e| e.to_str()).filter(|e| OTHERS.contains(&e.to_ascii_lowercase().as_str())) {
        return Err(Failure::usage(format!("pictures are PNG files, several frames an animated PNG: name the output .png, not .{e}")));
    }
    files::check_outputs(&[&output])?;
    let pictures: Vec<Picture> = (0..a.frames)
        .map(|frame| {
            let time = a.time + frame as f32 / f32::from(a.fps);
            Picture { size, time, frame, camera: a.mesh.as_ref().map(|_| camera) }
        })
        .collect();
    let bar = progress(a, size);
    let (mut notes, mut wrong) = (BTreeMap::new(), Vec::new());
    let images = if a.sheet {
        scene.sheets(&pictures, &bar, &mut notes, &mut wrong)?
    } else {
        scene.draw(a.target.as_deref(), &pictures, &bar, &mut notes)?
    };
    bar.finish_and_clear();
    wrong.iter().for_each(|w| report::show(w, format));
    if !notes.is_empty() {
        let all: Vec<String> = notes.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        report::show(&Failure::note("R0008", format!("nobody gave these a value: {}", all.join(", "))), format);
    }
    let bytes = animation(&images, a.fps).map_err(|e| Failure::plain(1, "C0005", e.to_string()))?;
    files::write(&output, &bytes)?;
    if a.output.is_none() {
        report::show(&Failure::note("R0009", format!("the picture is {}", output.display())), format);
    }
    Ok(())
}

/// The picture's name where nobody gave one: the program's, in the current folder.
fn own_name(file: &Path) -> PathBuf {
    let stem = file.file_stem().filter(|s| *s != "-").unwrap_or("picture".as_ref());
    Path::new(stem).with_extension("png")
}

/// How far the drawing is, shown on a terminal if it takes a while.
fn progress(a: &RenderArgs, (width, height): (u32, u32)) -> ProgressBar {
    // Of a mesh nobody knows beforehand how many pixels it covers.
    let style = if a.mesh.is_some() || a.sheet { "{spinner} {human_pos} invocations" } else { "{wide_bar} {percent} %  {eta}" };
    let bar = ProgressBar::new(u64::from(width.next_multiple_of(2)) * u64::from(height.next_multiple_of(2)) * u64::from(a.frames));
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar
}
