//! What the programs of one pipeline must know of each other before they share a file.
//!
//! Vertex and geometry programs meet in fixed slots of the ring (`abi::ring_slot`), varyings in semantic numbers. What is left are built-in
//! values that a pixel program reads and the rasteriser does not have: the program before it exports them once more, as parameters, and a
//! version of it that does so is compiled beside the usual one.

use crate::abi::semantic;
use retroshade_ir::{Binding, Builtin, Imm, InstData, MemRef, Module, Opcode, Output, Span, Stage};
use retroshade_lower::CompileError;
use retroshade_lower::reflect::Used;
use std::collections::BTreeMap;

/// Built-in values that the fixed functions take from a vertex or geometry program and do not hand on.
const PASSED: [Builtin; 4] = [Builtin::Layer, Builtin::ViewportIndex, Builtin::ClipDistance, Builtin::CullDistance];

/// The module with a parameter for each such value that it writes; nothing if there is none.
pub fn handing_on(m: &Module) -> Option<Module> {
    let mut out = m.clone();
    let mut copies: BTreeMap<Output, Output> = BTreeMap::new();
    for (o, d) in m.outputs.iter() {
        let passed = matches!(d.binding, Binding::Builtin(b) if PASSED.contains(&b));
        if let Some(number) = semantic(d.binding).filter(|_| passed) {
            let name = format!("{}(handed on)", d.name);
            copies.insert(o, out.outputs.push(retroshade_ir::IoDecl { name, binding: Binding::Location(number), ..d.clone() }));
        }
    }
    if copies.is_empty() {
        return None;
    }
    for f in out.functions.values_mut() {
        for b in f.layout.clone() {
            for i in std::mem::take(&mut f.blocks[b].insts) {
                f.blocks[b].insts.push(i);
                let d = &f.insts[i];
                let Imm::Mem { var: MemRef::Output(o), offset } = d.imm else { continue };
                let Some(copy) = copies.get(&o).filter(|_| d.op == Opcode::Output) else { continue };
                let again = InstData::new(Opcode::Output, &d.args.clone(), Imm::Mem { var: MemRef::Output(*copy), offset });
                let span = f.spans[i];
                let again = f.make_inst(again, &[], span);
                f.blocks[b].insts.push(again);
            }
        }
    }
    Some(out)
}

/// The built-in values among a pixel program's inputs that the program before it must hand on: whether there are any that it does so for in
/// a version of its own. What it does not write at all is refused.
pub fn handed_on(pixel: &Module, before: &Module) -> Result<bool, CompileError> {
    let used = Used::of(pixel);
    let mut found = false;
    for (_, d) in pixel.inputs.iter().filter(|(i, _)| used.vars.contains(&MemRef::Input(*i))) {
        let Binding::Builtin(b) = d.binding else { continue };
        if semantic(d.binding).is_none() {
            continue;
        }
        if !before.outputs.values().any(|o| o.binding == d.binding) {
            let who = before.stage.name();
            let help = match (b, before.stage) {
                (Builtin::PrimitiveIndex, Stage::Vertex) => "; only a geometry program can write it",
                _ => "",
            };
            let message = format!(
                "the pixel program reads `{}`, which the rasteriser does not have and the {who} program does not write{help}",
                b.name()
            );
            return Err(CompileError::unsupported("R0114", Span::NONE, message));
        }
        found |= PASSED.contains(&b);
    }
    Ok(found)
}
