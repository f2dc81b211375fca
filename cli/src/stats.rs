//! What `compare` and `--emit stats` report, as JSON.

use crate::ir::{Module, Opcode};
use crate::lower::isa::Stats;
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
                    Ok(s) => Ok(s.stats.clone()),
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

fn target_json(r: &Result<Stats, (String, String)>) -> Value {
    match r {
        Ok(s) => {
            let mut v = json!({ "ok": true, "bytes": s.bytes, "instructions": s.instructions, "registers": s.registers });
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

/// The document of `compare --format json`.
pub fn to_json(shaders: &[Compared]) -> Value {
    let mut totals: Map<String, Value> = Map::new();
    let mut list = Vec::new();
    for s in shaders {
        let mut targets = Map::new();
        for (name, r) in &s.targets {
            targets.insert((*name).to_string(), target_json(r));
            let (bytes, instructions) = r.as_ref().map_or((0, 0), |s| (u64::from(s.bytes), u64::from(s.instructions)));
            let old = totals.get(*name).cloned().unwrap_or(json!({ "bytes": 0, "instructions": 0 }));
            let add = |k: &str, n: u64| old[k].as_u64().unwrap_or(0) + n;
            totals.insert((*name).to_string(), json!({ "bytes": add("bytes", bytes), "instructions": add("instructions", instructions) }));
        }
        list.push(json!({ "file": s.file, "entry": s.entry, "stage": s.stage, "ir_ops": s.ir_ops, "targets": targets }));
    }
    json!({ "version": 1, "shaders": list, "totals": totals })
}

/// Bits of code for each operation of the IR.
pub fn bits_per_op(s: &Stats, ir_ops: u32) -> f64 {
    f64::from(s.bytes) * 8.0 / f64::from(ir_ops.max(1))
}

/// A table for people.
pub fn to_table(shaders: &[Compared]) -> String {
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

/// Lines that shader-db's report script reads: `file - target stage shader: N inst, …`.
pub fn to_shader_db(shaders: &[Compared]) -> String {
    let mut out = String::new();
    for s in shaders {
        for (name, r) in &s.targets {
            match r {
                Ok(t) => {
                    let detail: String = t.detail.iter().map(|(k, v)| format!(", {v} {k}")).collect();
                    out.push_str(&format!(
                        "{}:{} - {name} {} shader: {} inst, {} bytes, {} regs{detail}\n",
                        s.file, s.entry, s.stage, t.instructions, t.bytes, t.registers
                    ));
                }
                Err((code, m)) => out.push_str(&format!("{}:{} - {name} {} shader: failed, {code}: {m}\n", s.file, s.entry, s.stage)),
            }
        }
    }
    out
}
