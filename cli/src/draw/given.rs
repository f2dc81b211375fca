//! What a picture's programs read: the bind file, what the command line adds, and stand-ins for the rest.

use crate::args::RenderArgs;
use crate::execute::bind_failure;
use crate::files;
use crate::report::Failure;
use retroshade::ir::env::{Filter, Wrap};
use retroshade::ir::{Module, Scalar, ShaderEnv, TexDim, TextureData};
use retroshade::lower::bind;
use retroshade::lower::nearest::hint;
use retroshade::lower::reflect::{Reflection, io_name, uniform_leaves};
use retroshade::render::{Camera, Image, Picture, Varying, test_pattern};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Everything that somebody gave a value.
pub struct Given {
    /// The bind file, with what the command line adds.
    file: Value,
    /// The textures of the command line, by their whole names.
    images: Vec<(String, TextureData)>,
}

fn split<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    text.split_once('=').filter(|(n, _)| !n.is_empty()).ok_or_else(|| Failure::usage(format!("--{option} `{text}` is not NAME=VALUE")))
}

/// The one name that a short one means: itself, or the only one that ends with it behind a point.
fn whole_name(what: &str, short: &str, known: &[String]) -> Result<String, Failure> {
    let tail = format!(".{short}");
    let found: Vec<&String> = known.iter().filter(|n| *n == short || n.ends_with(&tail)).collect();
    match found.as_slice() {
        _ if known.iter().any(|n| n == short) => Ok(short.to_string()),
        [one] => Ok((*one).clone()),
        [] => {
            let near = if known.is_empty() { "it has none".to_string() } else { hint(short, known.iter().map(String::as_str)) };
            Err(Failure::plain(1, "R0003", format!("--{what} {short}: the program has no {what} of that name; {near}")))
        }
        several => {
            let all: Vec<&str> = several.iter().map(|s| s.as_str()).collect();
            Err(Failure::plain(1, "R0003", format!("--{what} {short} may be {}; give the whole name", all.join(" or "))))
        }
    }
}

/// Names without repetition, in order.
fn names<'a>(all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for n in all {
        if !out.iter().any(|o| o == n) {
            out.push(n.to_string());
        }
    }
    out
}

impl Given {
    /// Reads the command line's values for these programs.
    pub fn read(a: &RenderArgs, programs: &[&Module], camera: Camera) -> Result<Given, Failure> {
        let mut file = match &a.bind {
            Some(p) => serde_json::from_str(&files::read_text(p)?)
                .map_err(|e| bind_failure(p, &bind::BindError(format!("the bind file is not JSON: {e}"))))?,
            None => json!({}),
        };
        let Some(top) = file.as_object_mut() else { return Err(Failure::plain(1, "R0003", "the bind file must be a JSON object")) };
        top.insert("invocations".to_string(), json!([]));
        let all: Vec<Reflection> = programs.iter().map(|m| Reflection::from_module(m)).collect();
        let known = names(all.iter().flat_map(|r| r.uniforms.iter().map(|u| &*u.name)));
        for u in &a.uniform {
            let (name, value) = split("uniform", u)?;
            let value = match value.strip_prefix('@') {
                Some(m) => json!(camera.matrix(m).ok_or_else(|| {
                    Failure::usage(format!("--uniform {name}: no matrix `@{m}`; there are @{}", Camera::NAMES.join(" @")))
                })?),
                None => serde_json::from_str(value).map_err(|e| Failure::usage(format!("--uniform {name}: `{value}` is not JSON: {e}")))?,
            };
            insert(top, "uniforms", whole_name("uniform", name, &known)?, value);
        }
        let known = names(all.iter().flat_map(|r| r.textures.iter().map(|t| &*t.name)));
        let mut images = Vec::new();
        for t in &a.texture {
            let (name, image) = image(t, &known)?;
            // The command line has the last word.
            if let Some(section) = top.get_mut("textures").and_then(Value::as_object_mut) {
                section.remove(&name);
            }
            images.push((name, image));
        }
        Ok(Given { file, images })
    }

    /// The environment of one program but for its invocations. `notes` learns what stands in for what nobody gave.
    pub fn environment(
        &self,
        a: &RenderArgs,
        module: &Module,
        picture: &Picture,
        notes: &mut BTreeMap<String, String>,
    ) -> Result<ShaderEnv, Failure> {
        let path = a.bind.as_ref().unwrap_or(&a.files[0]);
        let reflection = Reflection::from_module(module);
        let lacks = |section: &str, name: &str| self.file.get(section).and_then(|s| s.get(name)).is_none();
        let mut file = self.file.clone();
        let Some(top) = file.as_object_mut() else { return Ok(ShaderEnv::default()) };
        for decl in module.uniforms.values() {
            for leaf in uniform_leaves(decl).into_iter().filter(|l| lacks("uniforms", &l.name)) {
                let value = picture.uniform(decl, &leaf.name, leaf.count);
                if reflection.uniforms.iter().any(|u| u.used && u.name == leaf.name) {
                    notes.entry(leaf.name.clone()).or_insert_with(|| shown(&value));
                }
                insert(top, "uniforms", leaf.name, value);
            }
        }
        // A texel each, so that the names count as bound; the images follow below.
        let unbound: Vec<_> = module.textures.iter().filter(|(_, d)| lacks("textures", &d.name)).collect();
        for (_, d) in &unbound {
            let texels = vec![json!([0, 0, 0, 1]); if d.dim == TexDim::Cube { 6 } else { 1 }];
            insert(top, "textures", d.name.clone(), json!({ "dim": d.dim.name(), "size": [1, 1, 1], "texels": texels }));
        }
        let mut env = bind::env_from_json(module, &file).map_err(|e| bind_failure(path, &e))?;
        for (id, d) in unbound {
            let image = self.images.iter().find(|(name, _)| *name == d.name);
            if image.is_some() && (d.dim != TexDim::D2 || d.kind != Scalar::F32) {
                let m = format!("texture `{}` is {}; an image can only be a 2d texture of floats", d.name, d.dim.name());
                return Err(Failure { file: Some(files::display(&a.files[0])), ..Failure::plain(1, "R0006", m) });
            }
            if image.is_none() && reflection.textures.iter().any(|t| t.used && t.name == d.name) {
                notes.entry(d.name.clone()).or_insert_with(|| "a test pattern".to_string());
            }
            env.textures[id.as_u32() as usize] = image.map_or_else(|| test_pattern(d), |(_, t)| t.clone());
        }
        Ok(env)
    }
}

/// A value in a note: whole where it is short.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 40 { text } else { "identities or ones".to_string() }
}

fn insert(top: &mut Map<String, Value>, section: &str, name: String, value: Value) {
    if let Some(map) = top.entry(section).or_insert_with(|| Value::Object(Map::new())).as_object_mut() {
        map.insert(name, value);
    }
}

/// One `--texture`: its whole name and its image.
fn image(option: &str, known: &[String]) -> Result<(String, TextureData), Failure> {
    let (name, path) = split("texture", option)?;
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
    let name = whole_name("texture", name, known)?;
    let bytes = files::read(Path::new(path))?;
    let image =
        Image::from_png(&bytes).map_err(|e| Failure { file: Some(path.to_string()), ..Failure::plain(1, "R0006", e.to_string()) })?;
    Ok((name, image.to_texture(filter, wrap)))
}

/// What each input of a fragment program holds.
pub fn varyings(a: &RenderArgs, module: &Module) -> Result<Vec<Varying>, Failure> {
    let known: Vec<String> = module.inputs.values().map(io_name).collect();
    let mut given = Vec::new();
    for v in &a.varying {
        let (name, value) = split("varying", v)?;
        if !known.iter().any(|k| k == name) {
            let near = hint(name, known.iter().map(String::as_str));
            return Err(Failure::plain(1, "R0003", format!("the fragment program has no input `{name}`; {near}")));
        }
        given.push((name, value));
    }
    module
        .inputs
        .values()
        .map(|d| {
            let name = io_name(d);
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
