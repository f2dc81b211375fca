//! What each test command does.

use crate::directives::{Directives, ExpectedError, TargetLine, Test};
use crate::{Registry, execute};
use retroshade_frontend::FrontOptions;
use retroshade_ir::passes::{self, PassOptions};
use retroshade_ir::{Diagnostic, Module, Opcode, SourceMap, Stage};
use retroshade_lower::{ColorFormat, CompiledShader, OptLevel, Options, TargetIsa, TextOptions};

/// Text that a command gives.
pub(crate) struct Output {
    /// The target, for commands that have one.
    pub(crate) target: Option<String>,
    /// The text.
    pub(crate) text: String,
}

/// What a source is, and the messages if it is none.
type Loaded = Result<Module, (SourceMap, Vec<Diagnostic>)>;

fn load(name: &str, bytes: &[u8]) -> Loaded {
    let extension = name.rsplit('.').next().unwrap_or("");
    if extension == "ir" {
        return retroshade_ir::parse_bytes(name, bytes).map_err(|e| (e.sources, e.diagnostics));
    }
    let text = String::from_utf8_lossy(bytes);
    // `x.vert.cg`.
    let hlsl = matches!(extension, "hlsl" | "cg");
    let stage = match if hlsl { name.rsplit('.').nth(1).unwrap_or("") } else { extension } {
        "vert" => Some(Stage::Vertex),
        "frag" => Some(Stage::Fragment),
        "geom" => Some(Stage::Geometry),
        "comp" => Some(Stage::Compute),
        _ => None,
    };
    let options = FrontOptions { stage, ..FrontOptions::default() };
    let module = match extension {
        "wgsl" => retroshade_frontend::wgsl(name, &text, &options),
        _ if hlsl => retroshade_frontend::hlsl(name, &text, &options),
        _ => retroshade_frontend::glsl(name, &text, &options),
    };
    module.map_err(|e| (e.sources, e.diagnostics))
}

fn list(sources: &SourceMap, errors: &[Diagnostic]) -> String {
    let at = |d: &Diagnostic| sources.line_column(d.span.file, d.span.start).unwrap_or((0, 0));
    errors.iter().map(|d| format!("  {}:{} {d}\n", at(d).0, at(d).1)).collect()
}

/// A module that must be right.
fn good(name: &str, bytes: &[u8]) -> Result<Module, String> {
    let m = load(name, bytes).map_err(|(s, e)| format!("unexpected errors\n{}", list(&s, &e)))?;
    retroshade_ir::verify(&m).map_err(|e| format!("unexpected errors\n{}", list(&m.sources, &e)))?;
    Ok(m)
}

/// Holds errors against `error:` lines, both ways.
fn match_errors(sources: &SourceMap, errors: &[Diagnostic], directives: &Directives, target: Option<&str>) -> Result<(), String> {
    let mut open: Vec<&ExpectedError> = directives.errors.iter().filter(|e| e.only.is_none() || e.only.as_deref() == target).collect();
    let mut surplus = Vec::new();
    for d in errors {
        let place = sources.line_column(d.span.file, d.span.start);
        let found = open.iter().position(|e| {
            let here = match (place, e.column) {
                (_, Some(0)) => true,
                (None, _) => false,
                (Some((l, c)), want) => l == e.line && want.is_none_or(|w| w == c),
            };
            here && e.code.as_ref().is_none_or(|c| c == d.code) && d.message.contains(&e.message)
        });
        match found {
            Some(n) => {
                open.remove(n);
            }
            None => surplus.push(d.clone()),
        }
    }
    let mut problems = String::new();
    if !surplus.is_empty() {
        problems.push_str(&format!("errors that no `error:` line expects\n{}", list(sources, &surplus)));
    }
    for e in open {
        problems.push_str(&format!("line {}: no such error: {} {}\n", e.line, e.code.as_deref().unwrap_or(""), e.message));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The targets that the file names, with their options.
fn targets(directives: &Directives, registry: &Registry) -> Result<Vec<(&'static dyn TargetIsa, Options)>, String> {
    if directives.targets.is_empty() {
        return Err("this command needs a `target` line".to_string());
    }
    directives
        .targets
        .iter()
        .map(|t| Ok((registry.target(&t.name).ok_or_else(|| format!("there is no target `{}`", t.name))?, options(t)?)))
        .collect()
}

fn options(t: &TargetLine) -> Result<Options, String> {
    let mut o = Options { check_allocation: true, ..Options::default() };
    for (k, v) in &t.settings {
        match (k.as_str(), v.as_str()) {
            ("opt", "0") => o.opt = OptLevel::O0,
            ("opt", "1") => o.opt = OptLevel::O1,
            ("opt", "2") => o.opt = OptLevel::O2,
            ("opt", "s") => o.opt = OptLevel::Os,
            ("chip", c) => o.chip = Some(c.to_string()),
            ("contract", v) => o.fp_contract = v == "on",
            ("relaxed", v) => o.relaxed_precision = v == "on",
            ("color", "f16") => o.color_format = ColorFormat::F16,
            ("color", "u8") => o.color_format = ColorFormat::U8,
            ("color", "f32") => o.color_format = ColorFormat::F32,
            ("robust", v) => o.robust = v == "on",
            ("registers", n) => o.max_registers = Some(n.parse().map_err(|_| format!("`registers={n}` is no number"))?),
            ("buffers", v) => o.uniform_buffers = v == "own",
            _ => return Err(format!("a target has no setting `{k}={v}`")),
        }
    }
    Ok(o)
}

/// Runs a command; the outputs are still to be checked.
pub(crate) fn run(name: &str, bytes: &[u8], test: &Test, directives: &Directives, registry: &Registry) -> Result<Vec<Output>, String> {
    let plain = |text: String| Ok(vec![Output { target: None, text }]);
    let expect_fail = test.command == "compile" && test.arguments.iter().any(|a| a == "expect-fail");
    match test.command.as_str() {
        "cat" | "naga" => plain(retroshade_ir::print(&good(name, bytes)?)),
        "verify" => {
            let (sources, errors) = match load(name, bytes) {
                Ok(m) => {
                    let errors = retroshade_ir::verify(&m).err().unwrap_or_default();
                    (m.sources, errors)
                }
                Err(e) => e,
            };
            match_errors(&sources, &errors, directives, None)?;
            Ok(Vec::new())
        }
        "opt" => {
            let mut m = good(name, bytes)?;
            for a in &test.arguments {
                let pass = passes::by_name(a).ok_or_else(|| format!("there is no pass `{a}`"))?;
                (pass.run)(&mut m, &PassOptions::default());
                retroshade_ir::verify(&m)
                    .map_err(|e| format!("after {a} the module is wrong\n{}{}", list(&m.sources, &e), retroshade_ir::print(&m)))?;
            }
            plain(retroshade_ir::print(&m))
        }
        "interpret" => {
            let m = good(name, bytes)?;
            if directives.runs.is_empty() {
                return Err("no `run:` line".to_string());
            }
            execute::interpret(&m, directives)?;
            Ok(Vec::new())
        }
        "compile" if expect_fail => {
            let m = good(name, bytes)?;
            for (isa, options) in targets(directives, registry)? {
                match isa.compile(&m, &options) {
                    Ok(_) => return Err(format!("{} compiles this", isa.name())),
                    Err(e) => match_errors(&m.sources, &e.diagnostics(), directives, Some(isa.name()))
                        .map_err(|p| format!("{}: {p}", isa.name()))?,
                }
            }
            Ok(Vec::new())
        }
        "legalise" | "lower" | "regalloc" | "emit" | "disasm" | "run" | "compile" => {
            let m = good(name, bytes)?;
            let mut out = Vec::new();
            for (isa, options) in targets(directives, registry)? {
                let text = on_target(test, &m, isa, &options, directives).map_err(|e| format!("{}: {e}", isa.name()))?;
                out.extend(text.map(|text| Output { target: Some(isa.name().to_string()), text }));
            }
            Ok(out)
        }
        other => Err(format!("there is no test command `{other}`")),
    }
}

/// Whether all patterns that the file's header names have fired.
fn fired(mir: &str, patterns: &[String]) -> Result<(), String> {
    let names: Vec<&str> = mir.lines().filter_map(|l| l.strip_prefix("; patterns:")).flat_map(str::split_whitespace).collect();
    match patterns.iter().find(|p| !names.contains(&p.as_str())) {
        Some(p) => Err(format!("pattern `{p}` did not fire; those that did: {}", names.join(" "))),
        None => Ok(()),
    }
}

/// Whether legalisation has replaced the operations that the file's header names.
fn replaced(source: &Module, legal: &Module, rules: &[String]) -> Result<(), String> {
    let has = |m: &Module, op: Opcode| m.functions.values().any(|f| f.ordered().any(|(_, i)| f.insts[i].op == op));
    for name in rules {
        let op = Opcode::from_name(name).ok_or_else(|| format!("rule: there is no operation `{name}`"))?;
        if !has(source, op) {
            return Err(format!("rule: the source has no `{name}`"));
        }
        if has(legal, op) {
            return Err(format!("rule: `{name}` is still there after legalisation"));
        }
    }
    Ok(())
}

fn on_target(
    test: &Test,
    m: &Module,
    isa: &'static dyn TargetIsa,
    options: &Options,
    directives: &Directives,
) -> Result<Option<String>, String> {
    let failed = |e: retroshade_lower::CompileError| format!("does not compile\n{}", list(&m.sources, &e.diagnostics()));
    if test.command == "legalise" {
        let legal = isa.legalise(m, options).map_err(failed)?;
        retroshade_ir::verify_legal(&legal).map_err(|e| format!("the legalised module is wrong\n{}", list(&legal.sources, &e)))?;
        replaced(m, &legal, &directives.rules)?;
        return Ok(Some(retroshade_ir::print(&legal)));
    }
    let shader: CompiledShader = isa.compile(m, options).map_err(failed)?;
    let extra = |kind: &str| {
        let bytes = shader.extra.get(kind).ok_or_else(|| format!("the target has no `{kind}` output"))?;
        Ok::<_, String>(Some(String::from_utf8_lossy(bytes).into_owned()))
    };
    match test.command.as_str() {
        "lower" => {
            let mir = extra("mir")?;
            fired(mir.as_deref().unwrap_or(""), &directives.patterns)?;
            replaced(m, &shader.legal, &directives.rules)?;
            Ok(mir)
        }
        "regalloc" => extra("regalloc"),
        "emit" | "compile" => Ok(Some(shader.asm.clone())),
        "disasm" => {
            let text = TextOptions { stage: Some(m.stage), chip: options.chip.clone(), ..TextOptions::default() };
            let code = isa.disassemble(&shader.code, &text).map_err(|e| format!("its code does not disassemble: {e}"))?;
            isa.disassemble(&shader.container, &text).map_err(|e| format!("its container does not disassemble: {e}"))?;
            Ok(Some(code))
        }
        _ => {
            if directives.runs.is_empty() {
                return Err("no `run:` line".to_string());
            }
            execute::on_machine(m, isa, &shader, directives)?;
            Ok(None)
        }
    }
}
