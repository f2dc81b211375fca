//! `run` and `test`.

use crate::args::{CodegenArgs, MessageFormat, RunArgs, TestArgs};
use crate::containers::{self, Container};
use crate::files;
use crate::input::{check_chip, load, options, target};
use crate::report::{Failure, show};
use retroshade::ir::interp::{self, InterpError};
use retroshade::ir::{Binding, Builtin, Module, Reference, ShaderEnv, ShaderResult, Stage};
use retroshade::lower::{BranchOrder, ColorFormat, Course, Options, SimError, bind};
use serde_json::json;
use std::path::Path;

/// Code of a run that took longer than allowed.
const OUT_OF_FUEL: &str = "R0002";

/// What executes a shader.
enum Machine<'a> {
    /// The interpreter on the source.
    Source,
    /// The interpreter on a target's legalised IR.
    Legal(&'a str),
    /// A target's simulator.
    Simulator(&'a str),
}

/// An interpreter's error with its exit status.
pub fn interp_failure(name: &str, e: &InterpError) -> Failure {
    let (status, code) = match e {
        InterpError::OutOfFuel(_) => (3, OUT_OF_FUEL),
        InterpError::CallDepth(_) | InterpError::TooLarge { .. } => (3, "R0004"),
        InterpError::Malformed(_) => (70, "X0002"),
        _ => (1, "R0001"),
    };
    Failure { file: Some(name.to_string()), ..Failure::plain(status, code, e.to_string()) }
}

/// A simulator's error with its exit status.
pub fn sim_failure(name: &str, e: &SimError) -> Failure {
    let (status, code) = match e {
        SimError::BadEnv(_) => (1, "R0001"),
        SimError::OutOfFuel(_) => (3, OUT_OF_FUEL),
        _ => (70, "X0003"),
    };
    Failure { file: Some(name.to_string()), ..Failure::plain(status, code, e.to_string()) }
}

/// The options of a run, which shows what a program computes: its colour is rounded to a frame buffer's format only where that
/// is asked for, or where the program reads the frame buffer and gets the same rounding back.
fn run_options(codegen: &CodegenArgs, module: &Module) -> Options {
    let reads = module.inputs.values().any(|d| d.binding == Binding::Builtin(Builtin::LastColor));
    let options = options(codegen);
    match options.color_format {
        ColorFormat::Auto if !reads => Options { color_format: ColorFormat::F32, ..options },
        _ => options,
    }
}

/// Runs a source module. Environment and result are by the source's declarations, whoever executes.
fn execute(
    name: &str,
    module: &Module,
    env: &ShaderEnv,
    machine: &Machine,
    codegen: &CodegenArgs,
    order: BranchOrder,
) -> Result<ShaderResult, Failure> {
    let compile_failure = |e| Failure::compile(&e, module, name);
    match machine {
        Machine::Source => interp::run(module, env, &Reference).map_err(|e| interp_failure(name, &e)),
        Machine::Legal(t) | Machine::Simulator(t) => {
            let isa = target(t)?;
            check_chip(&[isa], codegen.chip.as_deref())?;
            let options = run_options(codegen, module);
            if let Machine::Legal(_) = machine {
                let legal = isa.legalise(module, &options).map_err(compile_failure)?;
                return interp::run(&legal, env, isa.numerics()).map_err(|e| interp_failure(name, &e));
            }
            let shader = isa.compile(module, &options).map_err(compile_failure)?;
            isa.simulate_in(&shader, env, Course::in_order(order)).map_err(|e| sim_failure(name, &e))
        }
    }
}

/// A bind file's error with its exit status.
pub fn bind_failure(path: &Path, e: &bind::BindError) -> Failure {
    Failure { file: Some(files::display(path)), ..Failure::plain(1, "R0003", e.to_string()) }
}

/// The most invocations of one run.
const MAX_INVOCATIONS: u64 = 1 << 20;

/// Whether a run is of a size that ends in reasonable time and memory.
fn small_enough(module: &Module, env: &ShaderEnv) -> Result<(), Failure> {
    let threads = module.workgroup_size.iter().chain(&env.workgroups).fold(1u64, |n, k| n.saturating_mul(u64::from(*k)));
    let needed = if module.stage == Stage::Compute { threads } else { env.invocations.len() as u64 };
    if needed <= MAX_INVOCATIONS {
        return Ok(());
    }
    let m = format!("too many invocations for one run (needed {needed}, available {MAX_INVOCATIONS})");
    Err(Failure::plain(3, "R0004", m))
}

/// Runs a program of a container by its own names.
fn run_container(a: &RunArgs, container: &Container) -> Result<(), Failure> {
    let name = files::display(&a.file);
    let module = container.program(&a.source)?;
    let env = bind::parse_env_of_all(&module, &files::read_text(&a.bind)?).map_err(|e| bind_failure(&a.bind, &e))?;
    small_enough(&module, &env)?;
    // What a foreign program does wrong is no bug of this one.
    let result = container.isa.run_container(&container.bytes, &module, &env).map_err(|e| {
        let f = sim_failure(&name, &e);
        if f.status == 70 { Failure { file: Some(name.clone()), ..Failure::plain(1, "R0005", e.to_string()) } } else { f }
    })?;
    let mut text = serde_json::to_string_pretty(&bind::result_to_json(&module, &result)).unwrap_or_default();
    text.push('\n');
    files::write_or_stdout(a.output.as_deref(), text.as_bytes())
}

/// `shaderc run`
pub fn run(a: &RunArgs, format: MessageFormat) -> Result<(), Failure> {
    let machine = match (&a.legal, &a.target) {
        (Some(t), _) => Machine::Legal(t),
        (None, Some(t)) => Machine::Simulator(t),
        (None, None) => Machine::Source,
    };
    if let Machine::Legal(t) | Machine::Simulator(t) = machine {
        target(t)?;
    }
    if a.legal.is_none()
        && let Some(container) = containers::open(&a.file, &a.source, a.target.as_deref())?
    {
        return run_container(a, &container);
    }
    let functions = match machine {
        Machine::Legal(t) | Machine::Simulator(t) => target(t)?.keeps_functions(),
        Machine::Source => false,
    };
    let module = load(&a.file, &crate::args::SourceArgs { functions, ..a.source.clone() })?;
    let json = files::read_text(&a.bind)?;
    let env = bind::parse_env(&module, &json).map_err(|e| bind_failure(&a.bind, &e))?;
    small_enough(&module, &env)?;
    let order = if a.branch_order == "taken" { BranchOrder::Taken } else { BranchOrder::Next };
    let file = match execute(&files::display(&a.file), &module, &env, &machine, &a.codegen, order) {
        Ok(result) => bind::result_to_json(&module, &result),
        // A legal program may loop for ever on some inputs: that it was stopped is what there is to say of this run.
        Err(f) if f.diagnostics.iter().any(|d| d.code == OUT_OF_FUEL) => {
            show(&f.into_warning(), format);
            bind::stopped_to_json(&module, env.invocations.len())
        }
        Err(f) => return Err(f),
    };
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    files::write_or_stdout(a.output.as_deref(), text.as_bytes())
}

/// `shaderc test`
pub fn test(a: &TestArgs, format: MessageFormat) -> Result<(), Failure> {
    let bless = a.bless || std::env::var_os("SHADERC_BLESS").is_some_and(|v| v == "1");
    let registry = retroshade::filetests::Registry { targets: retroshade::targets(), bless };
    let found = retroshade::filetests::discover(&a.paths).map_err(|e| Failure::plain(1, "C0003", e.to_string()))?;
    let mut failed = 0;
    for path in &found {
        let result = retroshade::filetests::run_file(path, &registry);
        failed += usize::from(result.is_err());
        let file = path.display().to_string();
        let line = match (format, result) {
            (MessageFormat::Json, r) => json!({ "version": 1, "file": file, "ok": r.is_ok(), "message": r.err() }).to_string(),
            (MessageFormat::Human, Ok(())) => format!("ok      {file}"),
            (MessageFormat::Human, Err(e)) => format!("FAILED  {file}\n{e}"),
        };
        files::stdout(format!("{line}\n").as_bytes())?;
    }
    let passed = found.len() - failed;
    let sum = match format {
        MessageFormat::Json => json!({ "version": 1, "passed": passed, "failed": failed }).to_string(),
        MessageFormat::Human => format!("{passed} passed, {failed} failed"),
    };
    files::stdout(format!("{sum}\n").as_bytes())?;
    if failed == 0 { Ok(()) } else { Err(Failure::silent(1)) }
}
