//! `run`, `render` and `test`.

use crate::args::{CodegenArgs, RenderArgs, RunArgs, SourceArgs, TestArgs};
use crate::files;
use crate::input::{check_chip, load, options, target};
use crate::report::Failure;
use retroshade::ir::interp::{self, InterpError};
use retroshade::ir::{Binding, Builtin, InvocationInputs, Module, Reference, Scalar, ShaderEnv, ShaderResult, Stage};
use retroshade::lower::{SimError, bind};
use std::path::Path;

/// What executes a shader.
enum Machine<'a> {
    /// The interpreter on the source.
    Source,
    /// The interpreter on a target's legalised IR.
    Legal(&'a str),
    /// A target's simulator.
    Simulator(&'a str),
}

fn interp_failure(name: &str, e: &InterpError) -> Failure {
    let (status, code) = match e {
        InterpError::OutOfFuel(_) | InterpError::CallDepth(_) | InterpError::TooLarge { .. } => (3, "R0002"),
        InterpError::Malformed(_) => (70, "X0002"),
        _ => (1, "R0001"),
    };
    Failure { file: Some(name.to_string()), ..Failure::plain(status, code, e.to_string()) }
}

fn sim_failure(name: &str, e: &SimError) -> Failure {
    let (status, code) = match e {
        SimError::BadEnv(_) => (1, "R0001"),
        SimError::OutOfFuel(_) => (3, "R0002"),
        _ => (70, "X0003"),
    };
    Failure { file: Some(name.to_string()), ..Failure::plain(status, code, e.to_string()) }
}

/// Runs a source module. Environment and result are by the source's declarations, whoever executes.
fn execute(name: &str, module: &Module, env: &ShaderEnv, machine: &Machine, codegen: &CodegenArgs) -> Result<ShaderResult, Failure> {
    let compile_failure = |e| Failure::compile(&e, &module.sources, name);
    match machine {
        Machine::Source => interp::run(module, env, &Reference).map_err(|e| interp_failure(name, &e)),
        Machine::Legal(t) | Machine::Simulator(t) => {
            let isa = target(t)?;
            check_chip(isa, codegen.chip.as_deref())?;
            if !isa.stages().contains(&module.stage) {
                let message = format!("target {t} has no {} programs", module.stage.name());
                return Err(Failure { file: Some(name.to_string()), ..Failure::plain(1, "C0011", message) });
            }
            let options = options(codegen);
            if let Machine::Legal(_) = machine {
                let legal = isa.legalise(module, &options).map_err(compile_failure)?;
                return interp::run(&legal, env, isa.numerics()).map_err(|e| interp_failure(name, &e));
            }
            let shader = isa.compile(module, &options).map_err(compile_failure)?;
            isa.simulate(&shader, env).map_err(|e| sim_failure(name, &e))
        }
    }
}

fn bind_failure(path: &Path, e: &bind::BindError) -> Failure {
    Failure { file: Some(files::display(path)), ..Failure::plain(1, "R0003", e.to_string()) }
}

/// `shaderc run`
pub fn run(a: &RunArgs) -> Result<(), Failure> {
    let machine = match (&a.legal, &a.target) {
        (Some(t), _) => Machine::Legal(t),
        (None, Some(t)) => Machine::Simulator(t),
        (None, None) => Machine::Source,
    };
    if let Machine::Legal(t) | Machine::Simulator(t) = machine {
        target(t)?;
    }
    let module = load(&a.file, &a.source)?;
    let json = files::read_text(&a.bind)?;
    let env = bind::parse_env(&module, &json).map_err(|e| bind_failure(&a.bind, &e))?;
    let result = execute(&files::display(&a.file), &module, &env, &machine, &a.codegen)?;
    let mut text = serde_json::to_string_pretty(&bind::result_to_json(&module, &result)).unwrap_or_default();
    text.push('\n');
    files::write_or_stdout(a.output.as_deref(), text.as_bytes())
}

/// The largest image, in pixels.
const MAX_PIXELS: u64 = 1 << 24;

/// `shaderc render`: every pixel is an invocation; inputs at locations get the pixel's place in 0…1 as (u, v, 0, 1).
pub fn render(a: &RenderArgs) -> Result<(), Failure> {
    let size = a.size.split_once('x').and_then(|(w, h)| Some((w.parse::<u32>().ok()?, h.parse::<u32>().ok()?)));
    let Some((width, height)) = size.filter(|(w, h)| *w > 0 && *h > 0) else {
        return Err(Failure::usage(format!("`{}` is not a size; write WIDTHxHEIGHT", a.size)));
    };
    let pixels = u64::from(width) * u64::from(height);
    if pixels > MAX_PIXELS {
        return Err(Failure::plain(3, "R0004", format!("the image is too large (needed {pixels} pixels, available {MAX_PIXELS})")));
    }
    let source = SourceArgs { stage: a.source.stage.or(Some(Stage::Fragment)), ..a.source.clone() };
    let module = load(&a.file, &source)?;
    let name = files::display(&a.file);
    let Some(colour) = module.outputs.keys().find(|o| {
        let d = &module.outputs[*o];
        d.ty.scalar == Scalar::F32 && matches!(d.binding, Binding::Location(_))
    }) else {
        return Err(Failure { file: Some(name), ..Failure::plain(1, "R0005", "the shader writes no colour") });
    };
    let mut json = match &a.bind {
        Some(p) => serde_json::from_str(&files::read_text(p)?)
            .map_err(|e| bind_failure(p, &bind::BindError(format!("the bind file is not JSON: {e}"))))?,
        None => serde_json::json!({}),
    };
    if let Some(o) = json.as_object_mut() {
        o.insert("invocations".to_string(), serde_json::json!([]));
    }
    let path = a.bind.clone().unwrap_or_else(|| a.file.clone());
    let mut env = bind::env_from_json(&module, &json).map_err(|e| bind_failure(&path, &e))?;
    let machine = a.target.as_ref().map_or(Machine::Source, |t| Machine::Simulator(t));
    let mut image = vec![0u8; (pixels * 4) as usize];
    // One row of quads at a time bounds the memory.
    for top in (0..height).step_by(2) {
        let corners: Vec<(u32, u32)> =
            (0..width).step_by(2).flat_map(|x| [(x, top), (x + 1, top), (x, top + 1), (x + 1, top + 1)]).collect();
        env.invocations = corners.iter().map(|(x, y)| pixel_inputs(&module, *x, *y, width, height)).collect();
        let result = execute(&name, &module, &env, &machine, &a.codegen)?;
        for ((x, y), r) in corners.iter().zip(&result.invocations) {
            if *x >= width || *y >= height || r.discarded {
                continue;
            }
            let words = r.outputs.get(colour.as_u32() as usize).map_or(&[][..], |w| w);
            let at = ((u64::from(*y) * u64::from(width) + u64::from(*x)) * 4) as usize;
            let lane = |n: usize| words.get(n).map_or(if n == 3 { 1.0 } else { 0.0 }, |w| f32::from_bits(*w));
            for n in 0..4 {
                image[at + n] = (lane(n).clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
            }
        }
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let done = encoder.write_header().and_then(|mut w| w.write_image_data(&image));
    done.map_err(|e| Failure::plain(1, "C0005", format!("cannot encode the image: {e}")))?;
    files::write(&a.output, &bytes)
}

/// The inputs of the pixel at (x, y).
fn pixel_inputs(module: &Module, x: u32, y: u32, width: u32, height: u32) -> InvocationInputs {
    let centre = [x as f32 + 0.5, y as f32 + 0.5];
    let place = [centre[0] / width as f32, centre[1] / height as f32, 0.0, 1.0];
    let inputs = module
        .inputs
        .values()
        .map(|d| {
            let one: [u32; 4] = match d.binding {
                Binding::Builtin(Builtin::Position) => [centre[0], centre[1], 0.5, 1.0].map(f32::to_bits),
                Binding::Builtin(Builtin::FrontFacing) => [1; 4],
                Binding::Builtin(Builtin::PointCoord) => place.map(f32::to_bits),
                Binding::Location(_) if d.ty.scalar == Scalar::F32 => place.map(f32::to_bits),
                _ => [0; 4],
            };
            (0..d.count.max(1)).flat_map(|_| one.into_iter().take(d.ty.lanes as usize)).collect()
        })
        .collect();
    InvocationInputs { inputs }
}

/// `shaderc test`
pub fn test(a: &TestArgs) -> Result<(), Failure> {
    let bless = a.bless || std::env::var_os("SHADERC_BLESS").is_some_and(|v| v == "1");
    let registry = retroshade_filetests::Registry { targets: retroshade::targets(), bless };
    let found = retroshade_filetests::discover(&a.paths).map_err(|e| Failure::plain(1, "C0003", e.to_string()))?;
    let mut failed = 0;
    for path in &found {
        match retroshade_filetests::run_file(path, &registry) {
            Ok(()) => files::stdout(format!("ok      {}\n", path.display()).as_bytes())?,
            Err(e) => {
                failed += 1;
                files::stdout(format!("FAILED  {}\n{e}\n", path.display()).as_bytes())?;
            }
        }
    }
    files::stdout(format!("{} passed, {failed} failed\n", found.len() - failed).as_bytes())?;
    if failed == 0 { Ok(()) } else { Err(Failure::silent(1)) }
}
