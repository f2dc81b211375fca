//! `shaderc render`: the command around [`retroshade::render`].

use crate::args::{CodegenArgs, RenderArgs, SourceArgs};
use crate::execute::{bind_failure, interp_failure, sim_failure};
use crate::files;
use crate::input::{check_chip, linked, load, load_after, options, target};
use crate::report::Failure;
use retroshade::ir::env::{Filter, Wrap};
use retroshade::ir::{Module, Reference, Scalar, ShaderEnv, ShaderResult, Stage, TexDim, TextureData, interp};
use retroshade::lower::bind;
use retroshade::lower::reflect::Reflection;
use retroshade::render::{Camera, Image, Mesh, Varying, colour_output, fragment_image, mesh_image};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The largest image, in pixels.
const MAX_PIXELS: u64 = 1 << 24;

/// Something that runs one program.
type Runner<'a> = Box<dyn FnMut(&ShaderEnv) -> Result<ShaderResult, Failure> + 'a>;

/// A runner on the interpreter or, compiled once, on a target's simulator.
fn runner<'a>(name: String, module: &'a Module, machine: Option<&str>, codegen: &CodegenArgs) -> Result<Runner<'a>, Failure> {
    let Some(t) = machine else {
        return Ok(Box::new(move |env| interp::run(module, env, &Reference).map_err(|e| interp_failure(&name, &e))));
    };
    let isa = target(t)?;
    check_chip(isa, codegen.chip.as_deref())?;
    if !isa.stages().contains(&module.stage) {
        let message = format!("target {t} has no {} programs", module.stage.name());
        return Err(Failure { file: Some(name), ..Failure::plain(1, "C0011", message) });
    }
    let shader = isa.compile(module, &options(codegen)).map_err(|e| Failure::compile(&e, module, &name))?;
    Ok(Box::new(move |env| isa.simulate(&shader, env).map_err(|e| sim_failure(&name, &e))))
}

fn split<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    text.split_once('=').filter(|(n, _)| !n.is_empty()).ok_or_else(|| Failure::usage(format!("--{option} `{text}` is not NAME=VALUE")))
}

/// The bind file with what the command line adds.
fn bind_json(a: &RenderArgs, aspect: f32) -> Result<Value, Failure> {
    let mut file = match &a.bind {
        Some(p) => serde_json::from_str(&files::read_text(p)?)
            .map_err(|e| bind_failure(p, &bind::BindError(format!("the bind file is not JSON: {e}"))))?,
        None => json!({}),
    };
    let Some(top) = file.as_object_mut() else { return Err(Failure::plain(1, "R0003", "the bind file must be a JSON object")) };
    top.insert("invocations".to_string(), json!([]));
    let mut section = |name: &str, entries: Vec<(String, Value)>| {
        let map = top.entry(name).or_insert_with(|| Value::Object(Map::new()));
        if let Some(map) = map.as_object_mut() {
            map.extend(entries);
        }
    };
    let mut uniforms = Vec::new();
    for u in &a.uniform {
        let (name, value) = split("uniform", u)?;
        let value = match value.strip_prefix('@') {
            Some(m) => json!((Camera { aspect }).matrix(m).ok_or_else(|| {
                Failure::usage(format!("--uniform {name}: no matrix `@{m}`; there are @{}", Camera::NAMES.join(" @")))
            })?),
            None => serde_json::from_str(value).map_err(|e| Failure::usage(format!("--uniform {name}: `{value}` is not JSON: {e}")))?,
        };
        uniforms.push((name.to_string(), value));
    }
    section("uniforms", uniforms);
    // A texel each, so that the names count as bound; the images follow in `images`.
    let names = a.texture.iter().filter_map(|t| t.split(['=', ':']).next());
    section("textures", names.map(|n| (n.to_string(), json!({ "size": [1, 1], "texels": [[0, 0, 0, 1]] }))).collect());
    Ok(file)
}

/// The textures of `--texture`, by name.
fn images(a: &RenderArgs) -> Result<Vec<(String, TextureData)>, Failure> {
    a.texture
        .iter()
        .map(|t| {
            let (name, path) = split("texture", t)?;
            let mut parts = name.split(':');
            let name = parts.next().unwrap_or("");
            let (mut filter, mut wrap) = (Filter::Nearest, Wrap::Repeat);
            for p in parts {
                match p {
                    "linear" => filter = Filter::Linear,
                    "nearest" => filter = Filter::Nearest,
                    "clamp" => wrap = Wrap::Clamp,
                    "mirror" => wrap = Wrap::Mirror,
                    "repeat" => wrap = Wrap::Repeat,
                    _ => return Err(Failure::usage(format!("--texture {name}: `{p}` is none of linear nearest clamp mirror repeat"))),
                }
            }
            let bytes = files::read(Path::new(path))?;
            let image = Image::from_png(&bytes)
                .map_err(|e| Failure { file: Some(path.to_string()), ..Failure::plain(1, "R0006", e.to_string()) })?;
            Ok((name.to_string(), image.to_texture(filter, wrap)))
        })
        .collect()
}

/// A uniform or texture of the program that nobody gave a value.
fn missing(a: &RenderArgs, module: &Module, file: &Value) -> Option<Failure> {
    let r = Reflection::from_module(module);
    let lacks = |section: &str, name: &str| file.get(section).and_then(|s| s.get(name)).is_none();
    let uniform = r.uniforms.iter().find(|u| u.used && lacks("uniforms", &u.name));
    let texture = r.textures.iter().find(|t| t.used && lacks("textures", &t.name));
    let message = match (uniform, texture) {
        (Some(u), _) => {
            format!("the uniform `{}` ({}) has no value: give it one with --uniform '{}=…' or in the file of --bind", u.name, u.ty, u.name)
        }
        (None, Some(t)) => {
            format!("the texture `{}` has no image: give it one with --texture {}=FILE.png or in the file of --bind", t.name, t.name)
        }
        (None, None) => return None,
    };
    Some(Failure { file: Some(files::display(&a.files[0])), ..Failure::plain(1, "R0003", message) })
}

/// Names on the command line that no program has.
fn check_names(a: &RenderArgs, programs: &[&Module]) -> Result<(), Failure> {
    let all: Vec<Reflection> = programs.iter().map(|m| Reflection::from_module(m)).collect();
    let uniforms: Vec<&str> = all.iter().flat_map(|r| r.uniforms.iter().map(|u| &*u.name)).collect();
    let textures: Vec<&str> = all.iter().flat_map(|r| r.textures.iter().map(|t| &*t.name)).collect();
    let given = a.uniform.iter().map(|u| ("uniform", u.split('=').next().unwrap_or(""), &uniforms));
    let given = given.chain(a.texture.iter().map(|t| ("texture", t.split(['=', ':']).next().unwrap_or(""), &textures)));
    for (what, name, known) in given {
        if !known.contains(&name) {
            let has = if known.is_empty() { "none".to_string() } else { known.join(", ") };
            return Err(Failure::plain(1, "R0003", format!("--{what} {name}: the program has no {what} of that name; it has {has}")));
        }
    }
    Ok(())
}

/// The environment of one program.
fn environment(a: &RenderArgs, module: &Module, file: &Value, images: &[(String, TextureData)]) -> Result<ShaderEnv, Failure> {
    let path = a.bind.as_ref().unwrap_or(&a.files[0]);
    if let Some(failure) = missing(a, module, file) {
        return Err(failure);
    }
    let mut env = bind::env_from_json(module, file).map_err(|e| bind_failure(path, &e))?;
    for (n, d) in module.textures.values().enumerate() {
        if let Some((_, t)) = images.iter().find(|(name, _)| *name == d.name) {
            if d.dim != TexDim::D2 || d.kind != Scalar::F32 {
                let m = format!("texture `{}` is {}; an image can only be a 2d texture of floats", d.name, d.dim.name());
                return Err(Failure { file: Some(files::display(&a.files[0])), ..Failure::plain(1, "R0006", m) });
            }
            env.textures[n] = t.clone();
        }
    }
    Ok(env)
}

/// What each input of a fragment program holds.
fn varyings(a: &RenderArgs, module: &Module) -> Result<Vec<Varying>, Failure> {
    let mut given = Vec::new();
    for v in &a.varying {
        let (name, value) = split("varying", v)?;
        if !module.inputs.values().any(|d| retroshade::lower::reflect::io_name(d) == name) {
            return Err(Failure::plain(1, "R0003", format!("the fragment program has no input `{name}`")));
        }
        given.push((name, value));
    }
    module
        .inputs
        .values()
        .map(|d| {
            let name = retroshade::lower::reflect::io_name(d);
            match given.iter().rev().find(|(n, _)| *n == name).map(|(_, v)| *v) {
                None | Some("uv") => Ok(Varying::Uv),
                Some("ndc") => Ok(Varying::Ndc),
                Some("pixel") => Ok(Varying::Pixel),
                Some(json) => {
                    let value: Value = serde_json::from_str(json)
                        .map_err(|e| Failure::usage(format!("--varying {name}: `{json}` is none of uv ndc pixel, and not JSON: {e}")))?;
                    bind::io_words(d, &value).map(Varying::Constant).map_err(|e| Failure::plain(1, "R0003", e.to_string()))
                }
            }
        })
        .collect()
}

/// `shaderc render`
pub fn render(a: &RenderArgs) -> Result<(), Failure> {
    let size = a.size.split_once('x').and_then(|(w, h)| Some((w.parse::<u32>().ok()?, h.parse::<u32>().ok()?)));
    let Some((width, height)) = size.filter(|(w, h)| *w > 0 && *h > 0) else {
        return Err(Failure::usage(format!("`{}` is not a size; write WIDTHxHEIGHT", a.size)));
    };
    let pixels = u64::from(width) * u64::from(height);
    if pixels > MAX_PIXELS {
        return Err(Failure::plain(3, "R0004", format!("the image is too large (needed {pixels} pixels, available {MAX_PIXELS})")));
    }
    if a.files.len() > 1 && a.mesh.is_none() {
        return Err(Failure::usage("two programs need --mesh (triangle, quad, cube, sphere)"));
    }
    if a.mesh.is_some() && !a.varying.is_empty() {
        return Err(Failure::usage("--varying is for a fragment program alone; with --mesh the vertex program says what its inputs hold"));
    }
    let mesh = match &a.mesh {
        None => None,
        Some(m) => Some(Mesh::named(m).ok_or_else(|| Failure::usage(format!("no mesh `{m}`; there are {}", Mesh::NAMES.join(", "))))?),
    };
    let file = bind_json(a, width as f32 / height as f32)?;
    let images = images(a)?;
    let last = &a.files[a.files.len() - 1];
    let staged = |stage| SourceArgs { stage: Some(stage), ..a.source.clone() };
    let vertex = match mesh {
        Some(_) => Some(load(&a.files[0], &staged(Stage::Vertex))?),
        None => None,
    };
    let fragment = load_after(last, &staged(Stage::Fragment), vertex.as_ref())?;
    if let Some(v) = &vertex {
        linked(v, &fragment, last)?;
    }
    let fragment_name = files::display(last);
    if colour_output(&fragment).is_none() {
        return Err(Failure { file: Some(fragment_name), ..Failure::plain(1, "R0005", "the shader writes no colour") });
    }
    let programs: Vec<&Module> = vertex.iter().chain([&fragment]).collect();
    check_names(a, &programs)?;
    let fragment_env = environment(a, &fragment, &file, &images)?;
    // A machine with fixed fragment functions still has vertex programs: then the interpreter does the fragments.
    let only_vertices = match a.target.as_deref() {
        Some(t) => mesh.is_some() && !target(t)?.stages().contains(&Stage::Fragment),
        None => false,
    };
    let machine = if only_vertices { None } else { a.target.as_deref() };
    let mut run = runner(fragment_name, &fragment, machine, &a.codegen)?;
    let image = match mesh {
        None => {
            let varyings = varyings(a, &fragment)?;
            fragment_image(&fragment, &fragment_env, &varyings, (width, height), &mut run)?
        }
        Some(mesh) => {
            let Some(vertex) = vertex else { return Err(Failure::usage("--mesh needs a vertex program")) };
            let vertex_env = environment(a, &vertex, &file, &images)?;
            let mut run_vertex = runner(files::display(&a.files[0]), &vertex, a.target.as_deref(), &a.codegen)?;
            mesh_image((&vertex, &vertex_env), (&fragment, &fragment_env), &mesh, (width, height), &mut run_vertex, &mut run)?
        }
    };
    let bytes = image.to_png().map_err(|e| Failure::plain(1, "C0005", e.to_string()))?;
    files::write(&a.output, &bytes)
}
