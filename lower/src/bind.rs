//! The bind file of `run`: JSON to [`ShaderEnv`] and back, and [`ShaderResult`] to JSON, by a module's declarations.
//!
//! Values are nested lists whose order is the order of the raw words (matrices by column), so reading flattens a list and
//! counts; what is missing, too short or of the wrong kind is an error that names it. What the program never reads may
//! be left out. Floats are written as the shortest decimal that gives the same f32; NaN and infinities as strings.

use crate::nearest::hint;
use crate::reflect::{Literal, Used, io_is_array, io_name, scalar_name, uniform_leaves};
use retroshade_ir::env::{Filter, Wrap};
use retroshade_ir::numerics::{from_f32, to_f32};
use retroshade_ir::texture::texel_count;
use retroshade_ir::{
    Binding, Builtin, InvocationInputs, IoDecl, MemRef, Module, Scalar, ShaderEnv, ShaderResult, Stage, StorageDecl, TexDim, TextureData,
    TextureDecl, Type,
};
use serde_json::{Map, Value, json};
use thiserror::Error;

/// A bind file that does not fit the program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct BindError(pub String);

type Result<T> = std::result::Result<T, BindError>;

fn bad<T>(message: impl Into<String>) -> Result<T> {
    Err(BindError(message.into()))
}

/// How a word is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float(Scalar),
    Signed,
    Unsigned,
    Bool,
}

impl Kind {
    fn of(ty: Type, source: Option<&str>) -> Kind {
        match (scalar_name(ty, source).as_str(), ty.scalar) {
            (_, s @ (Scalar::F32 | Scalar::F16)) => Kind::Float(s),
            ("bool", _) | (_, Scalar::I1) => Kind::Bool,
            ("u32", _) => Kind::Unsigned,
            _ => Kind::Signed,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Kind::Float(_) => "a number",
            Kind::Signed | Kind::Unsigned => "an integer",
            Kind::Bool => "true or false",
        }
    }
    /// A JSON scalar as a word; `loose` truncates fractions where an integer is due.
    fn read(self, v: &Value, loose: bool) -> Option<u32> {
        match (self, v) {
            (Kind::Float(s), Value::String(t)) => Some(from_f32(
                s,
                match t.as_str() {
                    "nan" => f32::NAN,
                    "inf" => f32::INFINITY,
                    "-inf" => f32::NEG_INFINITY,
                    _ => return None,
                },
            )),
            (Kind::Float(s), Value::Bool(b)) => Some(from_f32(s, if *b { 1.0 } else { 0.0 })),
            (Kind::Float(s), _) => Some(from_f32(s, v.as_f64()? as f32)),
            (Kind::Bool, Value::Number(n)) => Some(u32::from(n.as_f64()? != 0.0)),
            (_, Value::Bool(b)) => Some(u32::from(*b)),
            _ => {
                let x = v.as_f64()?;
                let fits = (-2147483648.0..=4294967295.0).contains(&x) && (loose || x == integral(x));
                fits.then_some(x as i64 as u32)
            }
        }
    }
    fn write(self, w: u32) -> Value {
        match self {
            Kind::Float(s) => float(to_f32(s, w)),
            Kind::Signed => json!(w as i32),
            Kind::Unsigned => json!(w),
            Kind::Bool => json!(w & 1 == 1),
        }
    }
}

fn integral(x: f64) -> f64 {
    x as i64 as f64
}

/// A float as JSON.
fn float(x: f32) -> Value {
    match Literal::float(x) {
        Literal::Float(d) => json!(d),
        Literal::Special(s) => json!(s),
        _ => Value::Null,
    }
}

fn flatten<'a>(v: &'a Value, out: &mut Vec<&'a Value>) {
    // Bind files nest as deeply as types do; serde_json bounds the depth of what it reads.
    match v {
        Value::Array(items) => items.iter().for_each(|i| flatten(i, out)),
        other => out.push(other),
    }
}

/// The words of a value: exactly `want` scalars.
fn words(what: &str, ty: &str, kind: Kind, v: &Value, want: usize) -> Result<Vec<u32>> {
    let mut flat = Vec::new();
    flatten(v, &mut flat);
    if flat.len() != want {
        return bad(format!("{what} has type {ty} and needs {want} value{}, got {}", if want == 1 { "" } else { "s" }, flat.len()));
    }
    flat.into_iter()
        .map(|x| kind.read(x, false).ok_or_else(|| BindError(format!("{what} has type {ty}: expected {}, got {x}", kind.name()))))
        .collect()
}

/// Words as a JSON value of the given list levels around vectors of `lanes`.
fn nested(kind: Kind, lanes: usize, shape: &[u32], words: &[u32]) -> Value {
    match shape.split_first() {
        Some((n, inner)) => {
            let step = inner.iter().map(|d| *d as usize).product::<usize>() * lanes;
            Value::Array((0..*n as usize).map(|k| nested(kind, lanes, inner, words.get(k * step..(k + 1) * step).unwrap_or(&[]))).collect())
        }
        None if lanes == 1 => words.first().map_or(Value::Null, |w| kind.write(*w)),
        None => Value::Array(words.iter().take(lanes).map(|w| kind.write(*w)).collect()),
    }
}

fn io_value(io: &IoDecl, input: bool, stage: Stage, words: &[u32]) -> Value {
    let shape: &[u32] = if io_is_array(io, input, stage) { &[io.count] } else { &[] };
    nested(Kind::of(io.ty, io.source_type.as_deref()), io.ty.lanes as usize, shape, words)
}

fn section<'a>(file: &'a Value, name: &str) -> Result<Option<&'a Map<String, Value>>> {
    match file.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(m)) => Ok(Some(m)),
        Some(other) => bad(format!("`{name}` in the bind file must be an object, not {other}")),
    }
}

/// Refuses keys that mean nothing: a mistyped one would be taken for one that is left out.
fn known_keys(what: &str, object: &Map<String, Value>, known: &[&str]) -> Result<()> {
    match object.keys().find(|k| !known.contains(&k.as_str())) {
        Some(k) => bad(format!("{what} has an unknown key `{k}`: {}", hint(k, known.iter().copied()))),
        None => Ok(()),
    }
}

/// Reads a bind file.
pub fn parse_env(module: &Module, json: &str) -> Result<ShaderEnv> {
    let file: Value = serde_json::from_str(json).map_err(|e| BindError(format!("the bind file is not JSON: {e}")))?;
    known_names(module, &file)?;
    env_from_json(module, &file)
}

/// Refuses values for what the program does not declare: a mistyped name would be taken for one that is left out.
fn known_names(module: &Module, file: &Value) -> Result<()> {
    let names = |kind: &str, given: Option<&Value>, known: Vec<String>| {
        let Some(wrong) = given.and_then(Value::as_object).and_then(|m| m.keys().find(|k| !known.contains(k))) else { return Ok(()) };
        if known.is_empty() {
            return bad(format!("the program has no {kind}, so none is called `{wrong}`"));
        }
        bad(format!("the program has no {kind} `{wrong}`: {}", hint(wrong, known.iter().map(String::as_str))))
    };
    let leaves = module.uniforms.values().flat_map(uniform_leaves).map(|l| l.name).collect();
    names("uniform", file.get("uniforms"), leaves)?;
    names("texture", file.get("textures"), module.textures.values().map(|d| d.name.clone()).collect())?;
    names("storage buffer", file.get("storage"), module.storage.values().map(|d| d.name.clone()).collect())?;
    let mut inputs: Vec<String> = module.inputs.values().map(io_name).collect();
    let wholes: Vec<String> = inputs.iter().filter_map(|n| Some(element(n)?.0.to_string())).collect();
    inputs.extend(wholes);
    let list = file.get("invocations").and_then(Value::as_array);
    list.into_iter().flatten().try_for_each(|entry| names("input", entry.get("inputs"), inputs.clone()))
}

/// Reads a bind file that must give everything that is declared: for declarations without code.
pub fn parse_env_of_all(module: &Module, json: &str) -> Result<ShaderEnv> {
    let file: Value = serde_json::from_str(json).map_err(|e| BindError(format!("the bind file is not JSON: {e}")))?;
    env_with(module, &file, Used::all(module))
}

/// An environment from a bind file's JSON.
pub fn env_from_json(module: &Module, file: &Value) -> Result<ShaderEnv> {
    env_with(module, file, Used::of(module))
}

fn env_with(module: &Module, file: &Value, used: Used) -> Result<ShaderEnv> {
    let Some(sections) = file.as_object() else { return bad("the bind file must be a JSON object") };
    known_keys("the bind file", sections, &["invocations", "uniforms", "textures", "storage", "workgroups"])?;
    let env = ShaderEnv {
        invocations: invocations(module, file, &used)?,
        uniforms: uniforms(module, file, &used)?,
        textures: textures(module, file, &used)?,
        storage: storage(module, file, &used)?,
        workgroups: workgroups(file)?,
        threads: Vec::new(),
    };
    Ok(env.with_sizes(module))
}

/// The array or matrix that an input is an element of, and which: `m[1]`.
fn element(name: &str) -> Option<(&str, usize)> {
    let (of, n) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some((of, n.parse().ok()?))
}

/// The value of an input by its name, or as an element of what it belongs to.
fn value_of<'a>(given: &'a Value, name: &str) -> Option<&'a Value> {
    given.get(name).or_else(|| {
        let (of, n) = element(name)?;
        value_of(given, of)?.get(n)
    })
}

fn invocations(module: &Module, file: &Value, used: &Used) -> Result<Vec<InvocationInputs>> {
    if module.stage == Stage::Compute {
        return Ok(Vec::new());
    }
    let list = match file.get("invocations") {
        Some(Value::Array(list)) => list,
        Some(_) => return bad("`invocations` in the bind file must be a list"),
        None => return bad("the bind file has no `invocations`"),
    };
    list.iter()
        .enumerate()
        .map(|(n, entry)| {
            match entry {
                Value::Object(keys) => known_keys(&format!("invocation {n}"), keys, &["inputs"])?,
                _ => return bad(format!("invocation {n} in the bind file must be an object")),
            }
            let given = entry.get("inputs");
            let inputs = module
                .inputs
                .iter()
                .map(|(id, decl)| {
                    let name = io_name(decl);
                    let want = decl.count.max(1) as usize * decl.ty.lanes as usize;
                    match given.and_then(|g| value_of(g, &name)) {
                        Some(v) => {
                            let ty = crate::reflect::io_type(decl, true, module.stage);
                            words(
                                &format!("input `{name}` of invocation {n}"),
                                &ty,
                                Kind::of(decl.ty, decl.source_type.as_deref()),
                                v,
                                want,
                            )
                        }
                        None if !used.vars.contains(&MemRef::Input(id)) => Ok(vec![0; want]),
                        // It counts by itself.
                        None if decl.binding == Binding::Builtin(Builtin::InvocationId) => Ok(vec![0; want]),
                        None => bad(format!("the bind file has no input `{name}` for invocation {n}")),
                    }
                })
                .collect::<Result<_>>()?;
            Ok(InvocationInputs { inputs })
        })
        .collect()
}

fn uniforms(module: &Module, file: &Value, used: &Used) -> Result<Vec<Vec<u32>>> {
    let given = section(file, "uniforms")?;
    module
        .uniforms
        .iter()
        .map(|(id, decl)| {
            let kind = Kind::of(decl.ty, decl.source_type.as_deref());
            let lanes = decl.ty.lanes as usize;
            let initial = module.surface.initial_of(&decl.name).unwrap_or_default();
            let mut all = Vec::new();
            for leaf in uniform_leaves(decl) {
                let want = leaf.count as usize * lanes;
                let first = leaf.first as usize * lanes;
                match given.and_then(|g| g.get(&leaf.name)) {
                    Some(v) => all.extend(words(&format!("uniform `{}`", leaf.name), &leaf.ty, kind, v, want)?),
                    // Its texture tells it.
                    None if decl.size_of.is_some() => {}
                    None if initial.len() >= first + want => all.extend(&initial[first..first + want]),
                    None if !used.vars.contains(&MemRef::Uniform(id)) => all.extend(std::iter::repeat_n(0, want)),
                    None => return bad(format!("the bind file has no uniform `{}`", leaf.name)),
                }
            }
            Ok(all)
        })
        .collect()
}

fn textures(module: &Module, file: &Value, used: &Used) -> Result<Vec<TextureData>> {
    let given = section(file, "textures")?;
    module
        .textures
        .iter()
        .map(|(id, decl)| match given.and_then(|g| g.get(&decl.name)) {
            Some(v) => texture(decl, v),
            None if !used.textures.contains(&id) => Ok(blank_texture(decl)),
            None => bad(format!("the bind file has no texture `{}`", decl.name)),
        })
        .collect()
}

/// One black texel.
pub fn blank_texture(decl: &TextureDecl) -> TextureData {
    let images = if decl.dim == TexDim::Cube { 6 } else { 1 };
    TextureData {
        dim: decl.dim,
        size: [1; 3],
        layers: 1,
        levels: 1,
        depth: decl.shadow,
        filter: Filter::Nearest,
        wrap: Wrap::Repeat,
        texels: vec![[0; 4]; images],
    }
}

fn texture(decl: &TextureDecl, v: &Value) -> Result<TextureData> {
    let name = &decl.name;
    let Some(keys) = v.as_object() else { return bad(format!("texture `{name}` in the bind file must be an object")) };
    known_keys(&format!("texture `{name}`"), keys, &["dim", "size", "layers", "levels", "depth", "filter", "wrap", "texels"])?;
    let number = |key: &str, default: u32| match v.get(key) {
        None => Ok(default),
        Some(n) => n
            .as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(|| BindError(format!("`{key}` of texture `{name}` must be a positive integer"))),
    };
    let word = |key: &str, default: &'static str| v.get(key).map_or(Some(default), Value::as_str).unwrap_or("").to_string();
    let dim = word("dim", "2d");
    let Some(dim) = TexDim::from_name(&dim) else { return bad(format!("`dim` of texture `{name}` must be 1d, 2d, 3d or cube")) };
    if dim != decl.dim {
        return bad(format!("texture `{name}` is {} in the bind file, the program declares {}", dim.name(), decl.dim.name()));
    }
    let sizes = match v.get("size") {
        Some(Value::Array(s)) => {
            s.iter().map(|n| n.as_u64().filter(|n| (1..=16384).contains(n)).map(|n| n as u32)).collect::<Option<Vec<_>>>()
        }
        _ => None,
    };
    let wanted = match dim {
        TexDim::D1 => 1,
        TexDim::D2 | TexDim::Cube => 2,
        TexDim::D3 => 3,
    };
    let Some(sizes) = sizes.filter(|s| s.len() >= wanted.min(3) && s.len() <= 3) else {
        return bad(format!("`size` of texture `{name}` must be a list of {wanted} integers from 1 to 16384"));
    };
    let mut size = [1; 3];
    size[..wanted].copy_from_slice(&sizes[..wanted]);
    let filter = match word("filter", "nearest").as_str() {
        "nearest" => Filter::Nearest,
        "linear" => Filter::Linear,
        other => return bad(format!("`filter` of texture `{name}` must be nearest or linear, not `{other}`")),
    };
    let wrap = match word("wrap", "repeat").as_str() {
        "repeat" => Wrap::Repeat,
        "mirror" => Wrap::Mirror,
        "clamp" => Wrap::Clamp,
        other => return bad(format!("`wrap` of texture `{name}` must be repeat, mirror or clamp, not `{other}`")),
    };
    let depth = v.get("depth").and_then(Value::as_bool).unwrap_or(decl.shadow);
    let (layers, levels) = (number("layers", 1)?.max(1), number("levels", 1)?.clamp(1, 15));
    let mut data = TextureData { dim, size, layers, levels, depth, filter, wrap, texels: Vec::new() };
    let Some(Value::Array(texels)) = v.get("texels") else { return bad(format!("texture `{name}` has no list of `texels`")) };
    if texels.len() as u64 != texel_count(&data) {
        return bad(format!("texture `{name}` needs {} texels, got {}", texel_count(&data), texels.len()));
    }
    let kind = match decl.kind {
        Scalar::I32 if decl.signed => Kind::Signed,
        Scalar::I32 => Kind::Unsigned,
        s => Kind::Float(if s == Scalar::F16 { Scalar::F32 } else { s }),
    };
    let one = if decl.kind == Scalar::I32 { 1 } else { 1f32.to_bits() };
    for (n, t) in texels.iter().enumerate() {
        let mut flat = Vec::new();
        flatten(t, &mut flat);
        let mut texel = [0, 0, 0, one];
        if flat.is_empty() || flat.len() > 4 {
            return bad(format!("texel {n} of texture `{name}` must have 1 to 4 components"));
        }
        for (w, x) in texel.iter_mut().zip(flat) {
            // Integer textures take any number, towards zero.
            *w =
                kind.read(x, true).ok_or_else(|| BindError(format!("texel {n} of texture `{name}`: expected {}, got {x}", kind.name())))?;
        }
        data.texels.push(texel);
    }
    Ok(data)
}

/// How word `n` of a buffer is written.
fn storage_kind(decl: &StorageDecl, n: usize) -> Kind {
    match decl.word(n) {
        s @ (Scalar::F32 | Scalar::F16) => Kind::Float(s),
        _ if decl.source_type.contains("u32") && !decl.source_type.contains("i32") => Kind::Unsigned,
        _ => Kind::Signed,
    }
}

fn storage(module: &Module, file: &Value, used: &Used) -> Result<Vec<Vec<u32>>> {
    let given = section(file, "storage")?;
    module
        .storage
        .iter()
        .map(|(id, decl)| {
            let Some(v) = given.and_then(|g| g.get(&decl.name)) else {
                if !used.vars.contains(&MemRef::Storage(id)) {
                    return Ok(Vec::new());
                }
                return bad(format!("the bind file has no storage buffer `{}`", decl.name));
            };
            let mut flat = Vec::new();
            flatten(v, &mut flat);
            flat.into_iter()
                .enumerate()
                .map(|(n, x)| {
                    let kind = storage_kind(decl, n);
                    // A list of numbers serves buffers of mixed types: an integer word takes the integral part.
                    kind.read(x, true)
                        .ok_or_else(|| BindError(format!("word {n} of storage buffer `{}`: expected {}, got {x}", decl.name, kind.name())))
                })
                .collect()
        })
        .collect()
}

fn workgroups(file: &Value) -> Result<[u32; 3]> {
    let Some(v) = file.get("workgroups") else { return Ok([1; 3]) };
    let list: Option<Vec<u32>> =
        v.as_array().and_then(|l| l.iter().map(|n| n.as_u64().and_then(|n| u32::try_from(n).ok())).collect::<Option<_>>());
    match list.as_deref() {
        Some([x, y, z]) => Ok([*x, *y, *z]),
        Some([x, y]) => Ok([*x, *y, 1]),
        Some([x]) => Ok([*x, 1, 1]),
        _ => bad("`workgroups` in the bind file must be a list of three integers"),
    }
}

/// An environment as a bind file.
pub fn env_to_json(module: &Module, env: &ShaderEnv) -> Value {
    let mut file = Map::new();
    if module.stage == Stage::Compute {
        file.insert("workgroups".to_string(), json!(env.workgroups));
    } else {
        let list = env.invocations.iter().map(|inv| {
            let inputs = module.inputs.values().zip(&inv.inputs).map(|(d, w)| (io_name(d), io_value(d, true, module.stage, w)));
            json!({ "inputs": Value::Object(inputs.collect()) })
        });
        file.insert("invocations".to_string(), Value::Array(list.collect()));
    }
    let mut uniforms = Map::new();
    for (decl, w) in module.uniforms.values().zip(&env.uniforms) {
        let (kind, lanes) = (Kind::of(decl.ty, decl.source_type.as_deref()), decl.ty.lanes as usize);
        for leaf in uniform_leaves(decl) {
            let at = leaf.first as usize * lanes;
            let part = w.get(at..at + leaf.count as usize * lanes).unwrap_or(&[]);
            uniforms.insert(leaf.name, nested(kind, lanes, &leaf.shape, part));
        }
    }
    file.insert("uniforms".to_string(), Value::Object(uniforms));
    let textures = module.textures.values().zip(&env.textures).map(|(d, t)| (d.name.clone(), texture_to_json(d, t)));
    file.insert("textures".to_string(), Value::Object(textures.collect()));
    file.insert("storage".to_string(), storage_to_json(module, &env.storage));
    Value::Object(file)
}

fn texture_to_json(decl: &TextureDecl, t: &TextureData) -> Value {
    let kind = match decl.kind {
        Scalar::I32 if decl.signed => Kind::Signed,
        Scalar::I32 => Kind::Unsigned,
        _ => Kind::Float(Scalar::F32),
    };
    let dims = match t.dim {
        TexDim::D1 => 1,
        TexDim::D2 | TexDim::Cube => 2,
        TexDim::D3 => 3,
    };
    json!({
        "dim": t.dim.name(),
        "size": &t.size[..dims],
        "layers": t.layers,
        "levels": t.levels,
        "depth": t.depth,
        "filter": if t.filter == Filter::Linear { "linear" } else { "nearest" },
        "wrap": match t.wrap { Wrap::Repeat => "repeat", Wrap::Mirror => "mirror", Wrap::Clamp => "clamp" },
        "texels": t.texels.iter().map(|x| x.iter().map(|w| kind.write(*w)).collect::<Vec<_>>()).collect::<Vec<_>>(),
    })
}

fn storage_to_json(module: &Module, storage: &[Vec<u32>]) -> Value {
    let buffers = module.storage.values().zip(storage).map(|(d, words)| {
        let list = words.iter().enumerate().map(|(n, w)| storage_kind(d, n).write(*w)).collect();
        (d.name.clone(), Value::Array(list))
    });
    Value::Object(buffers.collect())
}

fn outputs_to_json(module: &Module, outputs: &[Vec<u32>]) -> Value {
    Value::Object(module.outputs.values().zip(outputs).map(|(d, w)| (io_name(d), io_value(d, false, module.stage, w))).collect())
}

/// A result as `run` prints it.
pub fn result_to_json(module: &Module, result: &ShaderResult) -> Value {
    let mut file = Map::new();
    if module.stage != Stage::Compute {
        let list = result.invocations.iter().map(|inv| {
            let mut entry = Map::new();
            if module.stage == Stage::Geometry {
                let strips = inv.primitives.iter().map(|strip| strip.iter().map(|v| outputs_to_json(module, v)).collect());
                entry.insert("primitives".to_string(), Value::Array(strips.map(Value::Array).collect()));
            } else {
                entry.insert("outputs".to_string(), outputs_to_json(module, &inv.outputs));
            }
            entry.insert("discarded".to_string(), json!(inv.discarded));
            Value::Object(entry)
        });
        file.insert("invocations".to_string(), Value::Array(list.collect()));
    }
    if !module.storage.is_empty() {
        file.insert("storage".to_string(), storage_to_json(module, &result.storage));
    }
    Value::Object(file)
}

/// `run`'s result file for a program that did not come to its end: no outputs and no storage, every invocation `stopped`.
///
/// A machine runs its invocations together, so that one that never ends takes the others with it; executors agree on such a
/// run when all of them stop it.
pub fn stopped_to_json(module: &Module, invocations: usize) -> Value {
    let mut file = Map::new();
    if module.stage != Stage::Compute {
        let results = if module.stage == Stage::Geometry { "primitives" } else { "outputs" };
        let none = if module.stage == Stage::Geometry { json!([]) } else { json!({}) };
        let entry = json!({ results: none, "discarded": false, "stopped": true });
        file.insert("invocations".to_string(), Value::Array(vec![entry; invocations]));
    }
    file.insert("stopped".to_string(), json!(true));
    Value::Object(file)
}

/// The words of one input by its declaration.
pub fn io_words(io: &IoDecl, v: &Value) -> Result<Vec<u32>> {
    let want = io.count.max(1) as usize * io.ty.lanes as usize;
    let ty = crate::reflect::io_type(io, true, Stage::Fragment);
    words(&format!("input `{}`", io_name(io)), &ty, Kind::of(io.ty, io.source_type.as_deref()), v, want)
}
