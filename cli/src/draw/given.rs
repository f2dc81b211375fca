//! What the command line gives to a picture's programs: the bind file, uniforms, textures, inputs.

use crate::args::RenderArgs;
use crate::execute::bind_failure;
use crate::files;
use crate::report::Failure;
use retroshade::ir::env::{Filter, Wrap};
use retroshade::ir::{Module, TextureData};
use retroshade::lower::bind;
use retroshade::lower::nearest::hint;
use retroshade::lower::reflect::{Reflection, io_name};
use retroshade::render::{Camera, Given, GivenError, Image, Varying};
use serde_json::{Value, json};
use std::path::Path;

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

/// Reads the command line's values for these programs.
pub fn read(a: &RenderArgs, programs: &[&Module], camera: Camera) -> Result<Given, Failure> {
    let file = match &a.bind {
        Some(p) => serde_json::from_str(&files::read_text(p)?)
            .map_err(|e| bind_failure(p, &bind::BindError(format!("the bind file is not JSON: {e}"))))?,
        None => json!({}),
    };
    let Value::Object(file) = file else { return Err(Failure::plain(1, "R0003", "the bind file must be a JSON object")) };
    let mut given = Given::new(file);
    let all: Vec<Reflection> = programs.iter().map(|m| Reflection::from_module(m)).collect();
    let known = names(all.iter().flat_map(|r| r.uniforms.iter().map(|u| &*u.name)));
    for u in &a.uniform {
        let (name, value) = split("uniform", u)?;
        let value = match value.strip_prefix('@') {
            Some(m) => json!(camera.matrix(m).ok_or_else(|| {
                Failure::usage(format!("--uniform {name}: no matrix `@{m}`; there are @{}", Camera::NAMES.join(" @")))
            })?),
            None => serde_json::from_str(value).map_err(|e| {
                let forms = "a value is a number, true or false, a list (`[1, 0.5, 0]`) or a matrix of the camera (`@mvp`)";
                Failure::usage(format!("--uniform {name}: `{value}` is not JSON ({e}); {forms}"))
            })?,
        };
        given.uniform(whole_name("uniform", name, &known)?, value);
    }
    let known = names(all.iter().flat_map(|r| r.textures.iter().map(|t| &*t.name)));
    for t in &a.texture {
        let (name, image) = image(t, &known)?;
        given.image(name, image);
    }
    Ok(given)
}

/// A program's values that do not fit it, as the command says it.
pub fn failure(a: &RenderArgs, e: &GivenError) -> Failure {
    match e {
        GivenError::Bind(e) => bind_failure(a.bind.as_ref().unwrap_or(&a.files[0]), e),
        e => Failure { file: Some(files::display(&a.files[0])), ..Failure::plain(1, "R0006", e.to_string()) },
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
