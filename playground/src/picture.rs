//! Pictures of a source: a fragment program over a rectangle, or a vertex program over a mesh.

use crate::{Request, code, source};
use retroshade::diagnostics::messages;
use retroshade::frontend::{self, FrontOptions};
use retroshade::ir::{Binding, IoDecl, Module, Reference, Scalar, ShaderEnv, ShaderResult, Stage, interp};
use retroshade::lower::reflect::{Reflection, uniform_leaves};
use retroshade::render::{Camera, Given, Image, Mesh, Picture, Varying, colour_output, fragment_image, mesh_image};
use retroshade::{CompiledShader, Options, TargetIsa};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The longest side of a picture.
const MAX_SIDE: u32 = 1024;

/// How a picture is wanted.
#[derive(Debug, Deserialize)]
pub struct View {
    /// Width and height in pixels.
    size: (u32, u32),
    /// Seconds.
    time: f32,
    /// The mesh of a vertex program.
    mesh: String,
    /// Values of uniforms by their whole names.
    uniforms: Map<String, Value>,
}

/// The programs of a picture in the form that some machines want.
struct Programs {
    vertex: Option<Module>,
    fragment: Module,
}

/// A source that can be drawn.
pub struct Scene {
    /// For machines without functions, and for those with.
    forms: [Programs; 2],
    options: Options,
    /// What machines made of the programs so far.
    compiled: BTreeMap<&'static str, Compiled>,
}

/// The programs of a picture on a machine; the interpreter runs those that are absent.
struct Compiled {
    vertex: Option<CompiledShader>,
    fragment: Option<CompiledShader>,
}

impl Scene {
    /// Reads the programs of a source.
    pub fn open(r: &Request, words: &[u8]) -> Result<Scene, String> {
        let [plain, functions] = [false, true].map(|f| programs(r, words, f));
        Ok(Scene { forms: [plain?, functions?], options: code::options(r), compiled: BTreeMap::new() })
    }

    /// The uniforms that the programs read, and who can draw them.
    pub fn about(&self) -> Value {
        let Programs { vertex, fragment } = &self.forms[0];
        let camera = vertex.is_some().then_some(Camera { aspect: 1.0 });
        let picture = Picture { size: (1, 1), time: 0.0, frame: 0, camera };
        let mut uniforms: Vec<Value> = Vec::new();
        for m in vertex.iter().chain([fragment]) {
            let used = Reflection::from_module(m).uniforms;
            for decl in m.uniforms.values() {
                for leaf in uniform_leaves(decl) {
                    let Some(u) = used.iter().find(|u| u.used && u.name == leaf.name) else { continue };
                    if !uniforms.iter().any(|known| known["name"] == *leaf.name) {
                        uniforms.push(json!({ "name": leaf.name, "type": u.ty, "value": picture.uniform(decl, &leaf.name, leaf.count) }));
                    }
                }
            }
        }
        let first = if vertex.is_some() { Stage::Vertex } else { Stage::Fragment };
        let machines: Vec<&str> = retroshade::targets().iter().filter(|t| t.stages().contains(&first)).map(|t| t.name()).collect();
        json!({ "uniforms": uniforms, "mesh": vertex.is_some(), "machines": machines })
    }

    /// Draws on a machine, or on the interpreter where its name is empty.
    pub fn draw(&mut self, machine: &str, view: &View) -> Result<Image, String> {
        let (width, height) = view.size;
        if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE {
            return Err(format!("a picture of {width}x{height} pixels (available {MAX_SIDE}x{MAX_SIDE})"));
        }
        let isa = retroshade::targets().into_iter().find(|t| t.name() == machine);
        let programs = &self.forms[usize::from(isa.is_some_and(|i| i.keeps_functions()))];
        if let Some(isa) = isa
            && !self.compiled.contains_key(isa.name())
        {
            self.compiled.insert(isa.name(), compile(isa, programs, &self.options)?);
        }
        let made = isa.and_then(|i| Some((i, self.compiled.get(i.name())?)));
        let camera = Camera { aspect: width as f32 / height as f32 };
        let picture = Picture { size: view.size, time: view.time, frame: 0, camera: programs.vertex.as_ref().map(|_| camera) };
        let mut given = Given::default();
        view.uniforms.iter().for_each(|(name, value)| given.uniform(name.clone(), value.clone()));
        let environment = |m: &Module| given.environment(m, &picture, &mut BTreeMap::new()).map_err(|e| e.to_string());
        let fragment = &programs.fragment;
        let fragment_env = environment(fragment)?;
        let mut shade = runner(fragment, made.and_then(|(i, c)| Some((i, c.fragment.as_ref()?))));
        let Some(vertex) = &programs.vertex else {
            return fragment_image(fragment, &fragment_env, &vec![Varying::Uv; fragment.inputs.len()], view.size, &mut shade);
        };
        let mesh = Mesh::named(&view.mesh).ok_or_else(|| format!("no mesh `{}`", view.mesh))?;
        let mut transform = runner(vertex, made.and_then(|(i, c)| Some((i, c.vertex.as_ref()?))));
        mesh_image((vertex, &environment(vertex)?), (fragment, &fragment_env), &mesh, view.size, &mut transform, &mut shade)
    }
}

type Run<'a> = Box<dyn FnMut(&ShaderEnv) -> Result<ShaderResult, String> + 'a>;

/// Who runs a program: a machine's simulator, or the interpreter.
fn runner<'a>(module: &'a Module, made: Option<(&'static dyn TargetIsa, &'a CompiledShader)>) -> Run<'a> {
    match made {
        Some((isa, shader)) => Box::new(move |env| isa.simulate(shader, env).map_err(|e| e.to_string())),
        None => Box::new(move |env| interp::run(module, env, &Reference).map_err(|e| e.to_string())),
    }
}

/// Compiles what the machine has stages for; that must be the first of the programs at least.
fn compile(isa: &'static dyn TargetIsa, programs: &Programs, options: &Options) -> Result<Compiled, String> {
    let make = |m: &Module| {
        let all = |e: retroshade::CompileError| messages(&e.placed(m).diagnostics(), &m.sources, "");
        isa.stages().contains(&m.stage).then(|| isa.compile(m, options).map_err(all)).transpose()
    };
    let made = Compiled { vertex: programs.vertex.as_ref().map(make).transpose()?.flatten(), fragment: make(&programs.fragment)? };
    let first = if programs.vertex.is_some() { (&made.vertex, "vertex") } else { (&made.fragment, "fragment") };
    if first.0.is_none() {
        return Err(format!("{} has no {} programs", isa.name(), first.1));
    }
    Ok(made)
}

/// The programs of a source: both of a file that has both, else the one, with something simple behind a vertex program.
fn programs(r: &Request, words: &[u8], functions: bool) -> Result<Programs, String> {
    let load = |entry: &str, stage| source::module(r, words, entry, stage, functions).map_err(|e| e.to_string());
    let (vertex, fragment) = if !r.vertex.is_empty() && !r.fragment.is_empty() {
        (Some(load(&r.vertex, Some(Stage::Vertex))?), load(&r.fragment, Some(Stage::Fragment))?)
    } else {
        let module = load(&r.entry, None)?;
        match module.stage {
            Stage::Fragment => (None, module),
            Stage::Vertex => {
                let shown = shown(&module)?;
                (Some(module), shown)
            }
            stage => return Err(format!("a {} program makes no picture", stage.name())),
        }
    };
    if colour_output(&fragment).is_none() {
        return Err("the shader writes no colour".to_string());
    }
    Ok(Programs { vertex, fragment })
}

/// A fragment program that shows what a vertex program hands on: its colour, its normal, or the first of its other values.
fn shown(vertex: &Module) -> Result<Module, String> {
    let float = |d: &&IoDecl| d.ty.scalar == Scalar::F32 && matches!(d.binding, Binding::Location(_)) && d.count <= 1;
    let all: Vec<&IoDecl> = vertex.outputs.values().filter(float).collect();
    let named = |part: &str| all.iter().find(|d| d.name.to_lowercase().contains(part)).copied();
    let chosen = named("col").or_else(|| named("norm")).or_else(|| all.first().copied());
    let text = match chosen.map(|d| (d, d.binding)) {
        Some((d, Binding::Location(at))) => {
            let (ty, colour) = match d.ty.lanes {
                1 => ("f32", "vec4f(v, v, v, 1.0)"),
                2 => ("vec2f", "vec4f(v, 0.5, 1.0)"),
                3 if named("col").is_none() => ("vec3f", "vec4f(v * 0.5 + 0.5, 1.0)"),
                3 => ("vec3f", "vec4f(v, 1.0)"),
                _ => ("vec4f", "vec4f(v.rgb, 1.0)"),
            };
            format!("@fragment fn shown(@location({at}) v: {ty}) -> @location(0) vec4f {{ return {colour}; }}")
        }
        _ => "@fragment fn shown() -> @location(0) vec4f { return vec4f(0.6, 0.65, 0.7, 1.0); }".to_string(),
    };
    frontend::wgsl("shown.wgsl", &text, &FrontOptions::default()).map_err(|e| e.to_string())
}
