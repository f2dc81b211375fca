//! Programs of one pipeline: what one hands on, the next one takes.
//!
//! Machines know locations only. OpenGL's GLSL matches by name, so an input without a location takes the one that the program before gave
//! to its output of that name, or of that block's name and member; then what the second program reads must be there, of the same type.
//! Uniforms, blocks and textures of one name are one thing to the application, so both programs must declare them alike.

use retroshade_ir::inst::{Imm, MemRef};
use retroshade_ir::module::Binding;
use retroshade_ir::surface::{Block, BlockKind, BlockMember};
use retroshade_ir::{Diagnostic, Module, Span, Stage};
use retroshade_lower::reflect::{ReflectTexture, Reflection, io_name};

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

/// What both programs declare under one name, and not alike: uniforms outside blocks, blocks of one place, textures. Push constants
/// are what each stage says they are.
pub fn shared(before: &Module, after: &Module) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut warn = |span: Span, what: &str, name: &str, here: String, there: String| {
        let (this, other) = (after.stage.name(), before.stage.name());
        let message = format!("the {this} program declares the {what} `{name}` {here}, the {other} program {there}");
        out.push(Diagnostic::warning("W0006", span, message));
    };
    let [here, there] = [after, before].map(Reflection::from_module);
    for u in here.uniforms.iter().filter(|u| u.block.is_none()) {
        let span = after.uniforms.values().find(|d| d.name == u.name).map_or(Span::NONE, |d| d.span);
        match there.uniforms.iter().find(|o| o.block.is_none() && o.name == u.name) {
            Some(other) if other.ty != u.ty => warn(span, "uniform", &u.name, format!("as {}", u.ty), format!("as {}", other.ty)),
            _ => {}
        }
    }
    for t in &here.textures {
        let span = after.textures.values().find(|d| d.name == t.name).map_or(Span::NONE, |d| d.span);
        let kind = |t: &ReflectTexture| {
            let (layers, depth) = (if t.arrayed { "array of " } else { "" }, if t.depth { " of depths" } else { "" });
            format!("as {layers}{}{depth}", t.dim)
        };
        match there.textures.iter().find(|o| o.name == t.name).map(kind) {
            Some(other) if other != kind(t) => warn(span, "texture", &t.name, kind(t), other),
            _ => {}
        }
    }
    for b in &after.surface.blocks {
        let same = |o: &&Block| !b.name.is_empty() && o.kind == b.kind && o.name == b.name && (o.group, o.binding) == (b.group, b.binding);
        let Some(other) = before.surface.blocks.iter().find(same) else { continue };
        if b.kind != BlockKind::Push
            && let Some([here, there]) = difference(&b.members, &other.members)
        {
            let span = after.uniforms.values().find(|u| (u.group, u.binding) == (b.group, b.binding)).map_or(Span::NONE, |u| u.span);
            warn(span, "block", &b.name, here, there);
        }
    }
    out
}

/// The first member that is not the same in both.
fn difference(here: &[BlockMember], there: &[BlockMember]) -> Option<[String; 2]> {
    let tell = |m: Option<&BlockMember>| {
        m.map_or("without it".to_string(), |m| {
            let lengths: String = m.array.iter().map(|(n, _)| if *n == 0 { "[]".to_string() } else { format!("[{n}]") }).collect();
            let rows = if m.row_major { " by rows" } else { "" };
            format!("with `{}` at byte {} as {}{lengths}{rows}", m.name, m.offset, m.ty)
        })
    };
    (0..here.len().max(there.len())).map(|n| [here.get(n), there.get(n)]).find_map(|both| match both {
        [Some(a), Some(b)] if BlockMember { members: Vec::new(), ..a.clone() } == BlockMember { members: Vec::new(), ..b.clone() } => {
            difference(&a.members, &b.members)
        }
        _ => Some(both.map(tell)),
    })
}
