//! Programs of one pipeline: what one hands on, the next one takes.
//!
//! Machines know locations only. OpenGL's GLSL matches by name, so an input without a location takes the one that the program before gave
//! to its output of that name, or of that block's name and member; then what the second program reads must be there, of the same type.

use retroshade_ir::inst::{Imm, MemRef};
use retroshade_ir::module::Binding;
use retroshade_ir::{Diagnostic, Module, Stage};
use retroshade_lower::reflect::io_name;

/// Whether the second stage comes after the first in a pipeline.
pub fn follows(before: Stage, after: Stage) -> bool {
    matches!((before, after), (Stage::Vertex, Stage::Geometry | Stage::Fragment) | (Stage::Geometry, Stage::Fragment))
}

/// The outputs that have a location, by name: what `FrontOptions::varyings` takes.
pub fn varyings(module: &Module) -> Vec<(String, u32)> {
    let at = |d: &retroshade_ir::IoDecl| match d.binding {
        Binding::Location(l) => Some((d.linked.clone().unwrap_or_else(|| io_name(d)), l)),
        Binding::Builtin(_) => None,
    };
    module.outputs.values().filter_map(at).collect()
}

/// An input that took the location of an output is as sure of it as that is.
pub fn inherit(before: &Module, after: &mut Module) {
    for d in after.inputs.values_mut().filter(|d| d.unplaced) {
        d.unplaced = before.outputs.values().find(|o| o.binding == d.binding).is_none_or(|o| o.unplaced);
    }
}

/// What the second program reads and the first does not write, or writes as something else.
pub fn check(before: &Module, after: &Module) -> Vec<Diagnostic> {
    let f = after.main();
    let counts = f.use_counts();
    let read = |n: retroshade_ir::Input| {
        f.ordered().any(|(_, i)| {
            let d = &f.insts[i];
            matches!(d.imm, Imm::Mem { var: MemRef::Input(k), .. } if k == n) && d.results.iter().any(|r| counts[*r] > 0)
        })
    };
    let mut out = Vec::new();
    for (n, d) in after.inputs.iter() {
        let Binding::Location(at) = d.binding else { continue };
        if !read(n) {
            continue;
        }
        let name = io_name(d);
        let (reads, writes) = (after.stage.name(), before.stage.name());
        match before.outputs.values().find(|o| o.binding == d.binding) {
            None => {
                let all: Vec<String> = varyings(before).iter().map(|(n, l)| format!("`{n}` at {l}")).collect();
                let all = if all.is_empty() { "nothing".to_string() } else { all.join(", ") };
                let message = format!(
                    "the {reads} program reads `{name}` at location {at}, which the {writes} program does not write; it writes {all}"
                );
                out.push(Diagnostic::error("C0014", d.span, message));
            }
            Some(o) if o.ty.scalar != d.ty.scalar || o.ty.lanes < d.ty.lanes => {
                let message = format!(
                    "the {reads} program reads `{name}` at location {at} as {}, the {writes} program writes `{}` there as {}",
                    d.ty,
                    io_name(o),
                    o.ty
                );
                out.push(Diagnostic::error("C0014", d.span, message));
            }
            Some(_) => {}
        }
    }
    out
}
