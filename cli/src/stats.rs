//! What `compare` and `--emit stats` report, as JSON.

use crate::ir::{Module, Opcode};
use crate::lower::isa::Stats;
use crate::lower::validate::paths;
use crate::lower::{CompileError, CompiledShader};
use serde_json::{Map, Value, json};

/// One shader and what each target made of it.
#[derive(Debug)]
pub struct Compared {
    /// File as given.
    pub file: String,
    /// Entry's name.
    pub entry: String,
    /// Stage's name.
    pub stage: &'static str,
    /// Instructions after inlining, before any other pass.
    pub ir_ops: u32,
    /// Results by target name.
    pub targets: Vec<(&'static str, Result<Stats, (String, String)>)>,
}

impl Compared {
    /// Collects the results for one module.
    pub fn new(file: &str, module: &Module, results: Vec<(&'static str, &Result<CompiledShader, CompileError>)>) -> Compared {
        let compiled = results.iter().find_map(|(_, r)| r.as_ref().ok()).map(|s| s.stats.ir_ops);
        let targets = results
            .into_iter()
            .map(|(name, r)| {
                let stats = match r {
                    Ok(s) => Ok(figures(name, s)),
                    Err(e) => {
                        let d = e.diagnostics();
                        let code = d.first().map_or("X0001", |d| d.code).to_string();
                        let message = d.first().map_or_else(|| e.to_string(), |d| d.message.clone());
                        Err((code, message))
                    }
                };
                (name, stats)
            })
            .collect();
        Compared {
            file: file.to_string(),
            entry: module.name.clone(),
            stage: module.stage.name(),
            ir_ops: compiled.filter(|n| *n > 0).unwrap_or_else(|| ir_ops(module)),
            targets,
        }
    }
}

/// A source that could not be read.
#[derive(Debug)]
pub struct Failed {
    /// File as given.
    pub file: String,
    /// The entry point that it is about, where that is not the whole file.
    pub entry: Option<String>,
    /// What is wrong first, in one line with its place.
    pub message: String,
    /// All messages, as `--message-format json` has them.
    pub diagnostics: Vec<Value>,
}

/// The shaders that every machine takes which takes any of them: only there are sums and means of the machines about the same.
pub fn common<'a>(shaders: &[&'a Compared]) -> Vec<&'a Compared> {
    let takes = |c: &Compared, target: &str| c.targets.iter().any(|(t, r)| *t == target && r.is_ok());
    let machines: Vec<_> = crate::targets().iter().map(|t| t.name()).filter(|t| shaders.iter().any(|c| takes(c, t))).collect();
    shaders.iter().copied().filter(|c| !machines.is_empty() && machines.iter().all(|t| takes(c, t))).collect()
}

/// What the compiler counted, and what is executed at most and at least: in groups and clauses where the machine counts those itself.
fn figures(target: &str, s: &CompiledShader) -> Stats {
    let mut stats = s.stats.clone();
    if let Some(p) = crate::target(target).and_then(|isa| paths(isa, s)) {
        if !stats.detail.contains_key("longest_groups") {
            stats.detail.insert("shortest_instructions", p.shortest.into());
            stats.detail.insert("longest_instructions", p.longest.into());
        }
        stats.detail.insert("loops", p.loops.into());
    }
    stats
}

/// Instructions after inlining: each call counts as the callee's instructions (its return apart).
pub fn ir_ops(module: &Module) -> u32 {
    // Callees first: sizes by repeated passes, as many as the deepest chain of calls (no recursion in valid modules).
    let mut sizes: Vec<u64> = module.functions.values().map(|f| f.inst_count() as u64).collect();
    let ids: Vec<_> = module.functions.keys().collect();
    for _ in 0..ids.len() {
        let mut changed = false;
        for (n, id) in ids.iter().enumerate() {
            let mut size = 0u64;
            let f = &module.functions[*id];
            for (_, i) in f.ordered() {
                let d = &f.insts[i];
                size += match (d.op, &d.imm) {
                    (Opcode::Call, crate::ir::Imm::Func(c)) => {
                        ids.iter().position(|x| x == c).map_or(1, |k| sizes[k].saturating_sub(1).min(1 << 32))
                    }
                    _ => 1,
                };
            }
            changed |= sizes[n] != size;
            sizes[n] = size;
        }
        if !changed {
            break;
        }
    }
    ids.iter().position(|x| *x == module.entry).map_or(0, |k| u32::try_from(sizes[k]).unwrap_or(u32::MAX))
}

/// Warps that a multiprocessor holds, of machines that say so.
fn warps(s: &Stats) -> Option<u64> {
    s.detail.get("warps").copied()
}

/// A number with one digit behind the point.
fn tenths(x: f64) -> Value {
    json!((x * 10.0).round() / 10.0)
}

fn target_json(r: &Result<Stats, (String, String)>, ir_ops: u32) -> Value {
    match r {
        Ok(s) => {
            let mut v = json!({ "ok": true, "bytes": s.bytes, "instructions": s.instructions, "registers": s.registers });
            v["bits_per_op"] = tenths(bits_per_op(s, ir_ops));
            if let Some(step) = &s.alloc_step {
                v["alloc_step"] = json!(step);
            }
            if let Some(warps) = warps(s) {
                v["warps"] = json!(warps);
            }
            let detail: Map<String, Value> = s.detail.iter().map(|(k, n)| ((*k).to_string(), json!(n))).collect();
            v["detail"] = Value::Object(detail);
            v
        }
        Err((code, message)) => json!({ "ok": false, "code": code, "error": message }),
    }
}

/// The document of `--emit stats`, and what `compare --format json` has of the shaders.
pub fn to_json(shaders: &[Compared]) -> Value {
    let shader = |s: &Compared| {
        let targets: Map<String, Value> = s.targets.iter().map(|(name, r)| ((*name).to_string(), target_json(r, s.ir_ops))).collect();
        json!({ "file": s.file, "entry": s.entry, "stage": s.stage, "ir_ops": s.ir_ops, "targets": targets })
    };
    let list: Vec<Value> = shaders.iter().map(shader).collect();
    json!({ "version": 1, "shaders": list, "totals": totals(shaders) })
}

/// The document of `compare --format json`: also the totals of the shaders that all machines take, and what could not be read.
pub fn report_json(shaders: &[Compared], failed: &[Failed]) -> Value {
    let mut document = to_json(shaders);
    let all = common(&shaders.iter().collect::<Vec<_>>());
    document["common"] = json!({ "shaders": all.len(), "totals": totals(all) });
    let source = |f: &Failed| {
        let mut v = json!({ "file": f.file, "error": f.message, "diagnostics": f.diagnostics });
        if let Some(entry) = &f.entry {
            v["entry"] = json!(entry);
        }
        v
    };
    document["failed"] = failed.iter().map(source).collect();
    document
}

/// Whether a document is one of `compare --format json`; what is wrong with it.
pub fn check_report(report: &Value) -> Result<(), String> {
    let shaders = report["shaders"].as_array().ok_or("it has no list `shaders`")?;
    if report["version"] != 1 {
        return Err(format!("its version is {}, not 1", report["version"]));
    }
    for (n, s) in shaders.iter().enumerate() {
        let wrong = |what: &str| Err(format!("shader {n} {what}"));
        if !s["file"].is_string() || !s["entry"].is_string() {
            return wrong("has no `file` and `entry`");
        }
        let Some(targets) = s["targets"].as_object() else { return wrong("has no `targets`") };
        if let Some((t, _)) = targets.iter().find(|(_, r)| r["ok"] != false && !r["bytes"].is_u64()) {
            return wrong(&format!("has no size on {t}: `bytes` is {}", targets[t]["bytes"]));
        }
    }
    Ok(())
}

/// What an earlier report says of a shader: its targets.
pub fn earlier<'a>(report: &'a Value, c: &Compared) -> Option<&'a Value> {
    let named = |s: &Value| s["file"].as_str() == Some(&c.file) && s["entry"].as_str() == Some(&c.entry);
    let same = |s: &&Value| named(s) && s["stage"].as_str().is_none_or(|stage| stage == c.stage);
    report["shaders"].as_array()?.iter().find(same).map(|s| &s["targets"])
}

/// Sums and means of each target over those shaders that it takes.
fn totals<'a>(shaders: impl IntoIterator<Item = &'a Compared>) -> Value {
    let mut totals: Vec<(&'static str, u32, u64, u64, Mean)> = Vec::new();
    for s in shaders {
        for (name, r) in &s.targets {
            if !totals.iter().any(|t| t.0 == *name) {
                totals.push((name, 0, 0, 0, Mean::default()));
            }
            if let (Ok(made), Some((_, count, bytes, instructions, mean))) = (r, totals.iter_mut().find(|t| t.0 == *name)) {
                *count += 1;
                *bytes += u64::from(made.bytes);
                *instructions += u64::from(made.instructions);
                mean.add(bits_per_op(made, s.ir_ops));
            }
        }
    }
    let total = |(name, count, bytes, instructions, mean): (&str, u32, u64, u64, Mean)| {
        let all = json!({ "shaders": count, "bytes": bytes, "instructions": instructions, "mean_bits_per_op": tenths(mean.value()) });
        (name.to_string(), all)
    };
    totals.into_iter().map(total).collect::<Map<String, Value>>().into()
}

/// A geometric mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    logarithms: f64,
    count: u32,
}

impl Mean {
    /// Takes one more number in, which counts as something more than nothing.
    pub fn add(&mut self, x: f64) {
        self.logarithms += libm::log(x.max(1e-9));
        self.count += 1;
    }
    /// The mean of all; 0 of none.
    pub fn value(&self) -> f64 {
        if self.count == 0 { 0.0 } else { libm::exp(self.logarithms / f64::from(self.count)) }
    }
}

/// Bits of code for each operation of the IR.
pub fn bits_per_op(s: &Stats, ir_ops: u32) -> f64 {
    f64::from(s.bytes) * 8.0 / f64::from(ir_ops.max(1))
}

/// A table for people; behind the shaders what could not be read.
pub fn to_table(shaders: &[Compared], failed: &[Failed]) -> String {
    let header = ["shader", "stage", "ir ops", "target", "bytes", "instr", "regs", "warps", "bits/op", "detail"];
    let dash = || "-".to_string();
    let mut rows: Vec<[String; 10]> = vec![header.map(str::to_string)];
    for s in shaders {
        let mut first = true;
        for (name, r) in &s.targets {
            let (file, stage, ops) =
                if first { (format!("{} {}", s.file, s.entry), s.stage.to_string(), s.ir_ops.to_string()) } else { Default::default() };
            first = false;
            rows.push(match r {
                Ok(t) => [
                    file,
                    stage,
                    ops,
                    (*name).to_string(),
                    t.bytes.to_string(),
                    t.instructions.to_string(),
                    t.registers.to_string(),
                    warps(t).map_or_else(dash, |w| w.to_string()),
                    format!("{:.1}", bits_per_op(t, s.ir_ops)),
                    t.detail.iter().filter(|(k, _)| **k != "warps").map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" "),
                ],
                Err((code, message)) => {
                    [file, stage, ops, (*name).to_string(), dash(), dash(), dash(), dash(), dash(), format!("error[{code}]: {message}")]
                }
            });
        }
    }
    for f in failed {
        let mut row: [String; 10] = std::array::from_fn(|_| dash());
        row[0] = [Some(f.file.as_str()), f.entry.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
        row[9].clone_from(&f.message);
        rows.push(row);
    }
    let mut widths = [0; 10];
    for r in &rows {
        for (w, c) in widths.iter_mut().zip(r) {
            *w = (*w).max(c.chars().count());
        }
    }
    let mut out = String::new();
    for r in &rows {
        let mut line = String::new();
        for (n, (c, w)) in r.iter().zip(widths).enumerate() {
            let pad = " ".repeat(w - c.chars().count());
            let number = matches!(n, 2 | 4..=8);
            let cell = if number { format!("{pad}{c}") } else { format!("{c}{pad}") };
            line.push_str(&cell);
            line.push_str("  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The names of all figures that a target has of any of the shaders: the scripts want the same ones in every line.
fn known(shaders: &[Compared], target: &str) -> Vec<&'static str> {
    let mut all = Vec::new();
    for (_, r) in shaders.iter().flat_map(|s| &s.targets).filter(|(t, _)| *t == target) {
        for key in r.iter().flat_map(|s| s.detail.keys()) {
            if !all.contains(key) {
                all.push(key);
            }
        }
    }
    all
}

/// Lines as Mesa's drivers write them for shader-db, whose scripts compare two such files: Tesla's as nouveau has them (`nv-report.py`), R700's
/// as r600 does, the others in the same form as r600's (`report.py`). What was refused has no line.
pub fn to_shader_db(shaders: &[Compared]) -> String {
    let mut out = String::new();
    for s in shaders {
        for (target, r) in &s.targets {
            let Ok(t) = r else { continue };
            // A name ends at the first blank, and is the only thing that tells targets apart.
            let twin = shaders.iter().any(|o| o.file == s.file && o.entry == s.entry && o.stage != s.stage);
            let stage = if twin { format!(":{}", s.stage) } else { String::new() };
            let name: String = format!("{}:{}{stage}:{target}", s.file, s.entry).split_whitespace().collect::<Vec<_>>().join("_");
            let (number, stage) = match s.stage {
                "vertex" => (0, "VS"),
                "fragment" => (1, "FS"),
                "geometry" => (2, "GS"),
                _ => (5, "CS"),
            };
            let of = |key: &str| t.detail.get(key).copied().unwrap_or(0);
            let rest = |but: &[&str]| {
                let others = known(shaders, target).into_iter().filter(|k| !but.contains(k));
                others.map(|k| format!(", {} {k}", of(k))).collect::<String>()
            };
            let line = match *target {
                "tesla" => format!(
                    "type: {number}, local: {}, shared: {}, gpr: {}, inst: {}, bytes: {}, loops: {}",
                    of("local_bytes"),
                    of("shared_bytes"),
                    t.registers,
                    t.instructions,
                    t.bytes,
                    of("loops")
                ),
                "r700" => format!(
                    "{stage} shader: {} dw, {} gprs, {} alu_groups, {} loops, {} cf, {} stack{}",
                    t.bytes / 4,
                    t.registers,
                    of("alu_groups"),
                    of("loops"),
                    of("cf"),
                    of("stack"),
                    rest(&["alu_groups", "loops", "cf", "stack"])
                ),
                _ => format!("{stage} shader: {} inst, {} bytes, {} regs{}", t.instructions, t.bytes, t.registers, rest(&[])),
            };
            out.push_str(&format!("{name} - {line}\n"));
        }
    }
    out
}
