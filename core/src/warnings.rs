//! What a caller should hear about a program that compiles: values that were never set, bindings that nobody reads, options and qualifiers
//! that have no effect.

use retroshade_ir::module::{Binding, UniformDecl};
use retroshade_ir::surface::{Block, BlockKind};
use retroshade_ir::{Builtin, Diagnostic, Function, Imm, MemRef, Module, Numerics, Opcode, Scalar, Span, Stage, Value};
use retroshade_lower::reflect::{Used, io_name};
use retroshade_lower::{ColorFormat, MatrixLayout, Options, TargetIsa};
use std::collections::HashMap;

/// Names that `-W` takes, and the codes that they stand for.
pub const NAMES: &[(&str, &str)] = &[
    ("uninitialised", "W0001"),
    ("unused", "W0002"),
    ("precision", "W0003"),
    ("layout", "W0004"),
    ("initial", "W0005"),
    ("shared", "W0006"),
    ("semantics", "P0109"),
    ("flat", "U0108"),
    ("position", "U0109"),
    ("sample-mask", "T0035"),
    ("linking", "C0014"),
];

/// What there is to say about a source, whatever machine it is for.
pub fn of_source(module: &Module) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for f in module.functions.values() {
        uninitialised(module, f, &mut out);
    }
    unused(module, &mut out);
    shared_memory(module, &mut out);
    initial_values(module, &mut out);
    out
}

/// What there is to say about a source and options on a machine.
pub fn of_target(module: &Module, isa: &dyn TargetIsa, options: &Options) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let given = [
        ("W0003", "relaxed-precision", options.relaxed_precision),
        ("W0003", "color-format", options.color_format != ColorFormat::default()),
        ("W0004", "matrix-layout", options.matrix_layout.is_some()),
        ("W0004", "pack-uniforms", options.pack_uniforms),
    ];
    for (code, name, given) in given {
        if given && !isa.own_options().contains(&name) {
            out.push(Diagnostic::warning(code, Span::NONE, format!("`--{name}` has no effect on target {}", isa.name())));
        }
    }
    if options.matrix_layout == Some(MatrixLayout::Column) {
        for u in module.uniforms.values().filter(|u| u.matrix && u.rows) {
            let m = format!("`{}` is row_major in the source, so `--matrix-layout column` has no effect on it", u.name);
            out.push(Diagnostic::warning("W0004", u.span, m));
        }
    }
    // Elsewhere matrices lie as the source says.
    if options.matrix_layout != Some(MatrixLayout::Column) && isa.own_options().contains(&"matrix-layout") {
        let columns = module.uniforms.values().any(|u| u.matrix && !u.rows);
        if let Some(span) = if columns { word(module, "column_major") } else { None } {
            let m = "`column_major` has no effect: matrices lie row by row unless `--matrix-layout column` is given";
            out.push(Diagnostic::warning("W0004", span, m));
        }
    }
    let bits = mantissa_bits(isa.numerics());
    if bits < 23
        && let Some(span) = word(module, "highp")
    {
        let m = format!("`highp` cannot be kept: target {} computes with {bits} bits of mantissa", isa.name());
        out.push(Diagnostic::warning("W0003", span, m));
    }
    out
}

/// Bits of an f32's mantissa that a machine keeps of what it loads.
fn mantissa_bits(numerics: &dyn Numerics) -> u32 {
    let one = 1f32.to_bits();
    (0..23).find(|k| numerics.load(Scalar::F32, one | 1 << k) == one | 1 << k).map_or(0, |k| 23 - k)
}

/// The first place of a word in a GLSL source, outside comments.
fn word(module: &Module, word: &str) -> Option<Span> {
    let file = module.main().place().file;
    let name = module.sources.name(file)?;
    if !matches!(crate::Language::of_path(std::path::Path::new(name)), Some((crate::Language::Glsl, _))) {
        return None;
    }
    let text = module.sources.text(file)?;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|r| !r.is_empty()) {
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |n| n + 2);
        } else if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            if &rest[..end] == word {
                return Some(Span::new(file, at as u32, (at + end) as u32));
            }
            at += end;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// The block that a uniform is a member of; loose uniforms stand in one without a name.
fn block_of<'a>(module: &'a Module, u: &UniformDecl) -> Option<&'a Block> {
    module.surface.blocks.iter().find(|b| !b.name.is_empty() && (b.group, b.binding) == (u.group, u.binding))
}

/// What is used or not as a whole: the blocks of one name, which may be an array's, or outside blocks a variable, whose leaves begin with its name.
fn binding_of<'a>(module: &'a Module, u: &'a UniformDecl) -> (u32, u32, &'a str) {
    match block_of(module, u) {
        Some(b) => (u.group, 0, &b.name),
        None => (u.group, u.binding, u.name.split(['.', '[']).next().unwrap_or("")),
    }
}

/// Uniforms, textures and buffers that no instruction reads. Members of a block belong together: it is used if one of them is.
fn unused(module: &Module, out: &mut Vec<Diagnostic>) {
    let used = Used::of(module);
    let mut warn = |what: &str, name: &str, span: Span| {
        out.push(Diagnostic::warning("W0002", span, format!("the {what} `{name}` is declared and not used")));
    };
    let mut seen = Vec::new();
    for d in module.uniforms.values() {
        let key = binding_of(module, d);
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let members: Vec<_> = module.uniforms.iter().filter(|(_, o)| binding_of(module, o) == key).collect();
        if members.iter().any(|(u, _)| used.vars.contains(&MemRef::Uniform(*u))) {
            continue;
        }
        match (block_of(module, d), key.2) {
            (Some(b), _) if members.len() > 1 && !b.name.is_empty() => warn("uniform block", &b.name, d.span),
            (_, root) if members.len() > 1 => warn("uniform", root, d.span),
            _ => warn("uniform", &d.name, d.span),
        }
    }
    for (_, d) in module.textures.iter().filter(|(t, _)| !used.textures.contains(t)) {
        warn("texture", &d.name, d.span);
    }
    for (_, d) in module.storage.iter().filter(|(s, _)| !used.vars.contains(&MemRef::Storage(*s))) {
        warn("storage buffer", &d.name, d.span);
    }
}

/// Uniform blocks with one binding. Sources mean other memory by that about as often as they mean the same.
fn shared_memory(module: &Module, out: &mut Vec<Diagnostic>) {
    let uniform: Vec<&Block> = module.surface.blocks.iter().filter(|b| b.kind == BlockKind::Uniform && !b.name.is_empty()).collect();
    for (n, b) in uniform.iter().enumerate() {
        let place = (b.group, b.binding);
        let Some(first) = uniform[..n].iter().find(|o| (o.group, o.binding) == place) else { continue };
        let last = module.uniforms.values().rfind(|u| (u.group, u.binding) == place);
        let span = last.map_or(Span::NONE, |u| u.span);
        let m = format!(
            "the uniform blocks `{}` and `{}` have one binding, {}: as buffers they are the same memory",
            first.name, b.name, b.binding
        );
        out.push(Diagnostic::warning("W0004", span, m));
    }
}

/// Uniforms that are read and have an initial value, which stays with the source.
fn initial_values(module: &Module, out: &mut Vec<Diagnostic>) {
    let used = Used::of(module);
    for (_, d) in module.uniforms.iter().filter(|(u, _)| used.vars.contains(&MemRef::Uniform(*u))) {
        if module.surface.initial_of(&d.name).is_some() {
            let m = format!(
                "the container does not hold the initial value of `{}`: the host has to set it (`--emit reflect` lists it)",
                d.name
            );
            out.push(Diagnostic::warning("W0005", d.span, m));
        }
    }
}

/// Reads of values of which no lane was ever set, and outputs with lanes that never were.
fn uninitialised(module: &Module, f: &Function, out: &mut Vec<Diagnostic>) {
    if f.ordered().all(|(_, i)| f.insts[i].op != Opcode::Undef) {
        return;
    }
    let unset = unset_lanes(f);
    let lanes = |v: Value| unset.get(&v).copied().unwrap_or(0);
    let whole = |v: Value| lanes(v) == full(f, v);
    let counts = f.use_counts();
    for (_, i) in f.ordered() {
        let d = &f.insts[i];
        let dead = !d.results.is_empty() && d.op.is_removable() && d.results.iter().all(|r| counts[*r] == 0);
        // What branches pass on is read where the block computes with it.
        if dead || moves(d.op).is_some() || matches!(d.op, Opcode::Jump | Opcode::Call) {
            continue;
        }
        if let (Opcode::Output, Imm::Mem { var: MemRef::Output(o), .. }) = (d.op, &d.imm) {
            let decl = &module.outputs[*o];
            let mask = lanes(d.args[0]);
            let point = module.stage == Stage::Vertex && decl.binding == Binding::Builtin(Builtin::PointSize);
            if mask != 0 && !point {
                let names: Vec<&str> =
                    ["x", "y", "z", "w"].into_iter().enumerate().filter(|(n, _)| mask >> n & 1 == 1).map(|n| n.1).collect();
                let part = if whole(d.args[0]) { String::new() } else { format!("component {} of ", names.join(", ")) };
                let m = format!("{part}the output `{}` has a value that was never set", io_name(decl));
                out.push(Diagnostic::warning("W0001", f.spans[i], m));
            }
        } else if d.args.iter().any(|v| whole(*v)) {
            out.push(Diagnostic::warning("W0001", f.spans[i], "a value is read here that was never set"));
        }
    }
    // One place is told once, however many instructions come from it.
    let mut told = Vec::new();
    out.retain(|d| {
        d.code != "W0001"
            || !told.contains(&d.span) && {
                told.push(d.span);
                true
            }
    });
}

/// All lanes of a value.
fn full(f: &Function, v: Value) -> u8 {
    ((1u16 << f.ty(v).lanes) - 1) as u8
}

/// Operations that only move lanes: reading begins where one is computed with.
fn moves(op: Opcode) -> Option<Opcode> {
    use Opcode::*;
    matches!(op, Undef | Insert | Extract | Build | Shuffle | Splat).then_some(op)
}

/// The lanes of each value that were never set, on whatever way control came.
fn unset_lanes(f: &Function) -> HashMap<Value, u8> {
    let mut unset: HashMap<Value, u8> = HashMap::new();
    // Parameters are unset until a branch brings something that is set.
    for b in f.layout.iter().skip(1) {
        unset.extend(f.blocks[*b].params.iter().map(|p| (*p, full(f, *p))));
    }
    loop {
        let mut changed = false;
        for (_, i) in f.ordered() {
            let d = &f.insts[i];
            let of = |v: &Value| unset.get(v).copied().unwrap_or(0);
            if let ([r], Some(op)) = (&d.results[..], moves(d.op)) {
                let mask = moved(f, op, &d.args, &d.imm, *r, &of);
                changed |= unset.insert(*r, mask) != Some(mask);
            }
            for t in &d.targets {
                for (p, a) in f.blocks[t.block].params.iter().zip(&t.args) {
                    let (old, new) = (unset.get(p).copied().unwrap_or(0), unset.get(a).copied().unwrap_or(0));
                    if old & new != old {
                        unset.insert(*p, old & new);
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            return unset;
        }
    }
}

/// The unset lanes of what is moved.
fn moved(f: &Function, op: Opcode, args: &[Value], imm: &Imm, result: Value, of: &dyn Fn(&Value) -> u8) -> u8 {
    let pick = |n: usize, lane: u8| args.get(n).map_or(0, |v| of(v) >> lane & 1);
    match (op, imm) {
        (Opcode::Undef, _) => full(f, result),
        (Opcode::Extract, Imm::Lane(l)) => pick(0, *l),
        (Opcode::Insert, Imm::Lane(l)) => args.first().map_or(0, of) & !(1 << l) | pick(1, 0) << l,
        (Opcode::Splat, _) => full(f, result) * pick(0, 0),
        (Opcode::Build, _) => (0..args.len()).fold(0, |m, n| m | pick(n, 0) << n),
        (Opcode::Shuffle, Imm::Lanes(mask)) => {
            let first = args.first().map_or(0, |v| f.ty(*v).lanes);
            let lane = |l: u8| if l < first { pick(0, l) } else { pick(1, l - first) };
            mask.iter().enumerate().fold(0, |m, (n, l)| m | lane(*l) << n)
        }
        _ => 0,
    }
}
