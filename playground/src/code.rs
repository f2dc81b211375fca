//! A source to code on every machine.

use crate::{Request, source};
use retroshade::diagnostics::json_line;
use retroshade::ir::{self, Diagnostic, Module, SourceMap};
use retroshade::lower::OptLevel;
use retroshade::page::{meters, remarks, shares, shown};
use retroshade::stats::{bits_per_op, ir_ops};
use retroshade::{Options, TargetIsa, listing, warnings};
use serde_json::{Value, json};

/// An answer that is nothing but a message.
pub fn refusal(message: &str) -> Value {
    json!({ "messages": [{ "severity": "error", "code": "", "message": message, "notes": [] }], "machines": [] })
}

fn messages(all: &[Diagnostic], sources: &SourceMap, name: &str) -> Vec<Value> {
    all.iter().map(|d| json_line(d, sources, Some(name))).collect()
}

/// The whole answer.
pub fn answer(r: &Request, words: &[u8]) -> Value {
    // One form of the module for machines that keep functions, one for those that do not.
    let forms = [false, true].map(|functions| source::module(r, words, &r.entry, None, functions));
    let module = match &forms[0] {
        Ok(m) => m,
        Err(e) => return json!({ "messages": messages(&e.diagnostics, &e.sources, &r.name), "machines": [] }),
    };
    let machines: Vec<Value> = retroshade::targets()
        .into_iter()
        .filter_map(|isa| Some(machine(isa, forms[usize::from(isa.keeps_functions())].as_ref().ok()?, r)))
        .collect();
    json!({
        "messages": messages(&warnings::of_source(module), &module.sources, &r.name),
        "entry": module.name,
        "stage": module.stage.name(),
        "ir": ir::print(module),
        "ir_ops": ir_ops(module),
        "machines": machines,
    })
}

/// What a machine makes of a module.
fn machine(isa: &dyn TargetIsa, module: &Module, r: &Request) -> Value {
    let name = isa.name();
    if !isa.stages().contains(&module.stage) {
        return json!({ "name": name, "lacks": format!("{name} has no {} programs", module.stage.name()) });
    }
    let options = options(r);
    let shader = match isa.compile(module, &options) {
        Ok(s) => s,
        Err(e) => {
            let all = e.placed(module).diagnostics();
            return json!({ "name": name, "messages": messages(&all, &module.sources, &r.name) });
        }
    };
    let lines: Vec<Value> = listing::lines(isa, &shader)
        .iter()
        .map(|l| match l.source_lines(&module.sources) {
            Some((a, b)) => json!([shown(name, &l.text), a, b]),
            None => json!([shown(name, &l.text)]),
        })
        .collect();
    let s = &shader.stats;
    json!({
        "name": name,
        "bytes": s.bytes,
        "instructions": s.instructions,
        "registers": s.registers,
        "bits_per_op": bits_per_op(s, s.ir_ops.max(1)),
        "remarks": meters(name, s).iter().map(|m| format!("{}: {}", m.what, m.text)).chain(remarks(name, s)).collect::<Vec<_>>(),
        "shares": shares(name, s),
        "lines": lines,
        "reflection": shader.reflection,
        "messages": messages(&warnings::of_target(module, isa, &options), &module.sources, &r.name),
    })
}

/// The options that a request means.
pub fn options(r: &Request) -> Options {
    let opt = match r.level.as_str() {
        "O0" => OptLevel::O0,
        "O1" => OptLevel::O1,
        "Os" => OptLevel::Os,
        _ => OptLevel::O2,
    };
    Options { opt, verify: false, ..Options::default() }
}
