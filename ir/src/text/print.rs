//! The printer: a module as text that parses back to the same module.
//!
//! Values and blocks are renumbered in the order of the text, so that the text does not depend on what passes removed.

use super::decls::{array_type, default_unit};
use super::lexer::quote;
use super::numbers::format_float;
use crate::entities::*;
use crate::function::Function;
use crate::inst::{BlockCall, Imm, MemRef, TexLod};
use crate::module::*;
use crate::opcode::{Opcode, ResultRule};
use crate::types::{I32, Scalar, Type};
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use std::collections::HashSet;
use std::fmt::Write;

/// Prints a whole module.
pub fn print(m: &Module) -> String {
    let names = Names::new(m);
    let mut out = String::new();
    let _ = writeln!(out, "shader {} {}", m.stage.name(), quote(&m.name));
    if m.stage == Stage::Compute || m.workgroup_size != [1; 3] {
        let [x, y, z] = m.workgroup_size;
        let _ = writeln!(out, "workgroup_size({x}, {y}, {z})");
    }
    if let Some(g) = &m.geometry {
        let _ = write!(out, "geometry {} -> {} max_vertices({})", g.input.name(), g.output.name(), g.max_vertices);
        if g.invocations != 1 {
            let _ = write!(out, " invocations({})", g.invocations);
        }
        out.push('\n');
    }
    if m.early_depth {
        out.push_str("early_depth\n");
    }
    for (i, d) in &m.inputs {
        io(&mut out, "input", &names.inputs[i], d);
    }
    for (i, d) in &m.outputs {
        io(&mut out, "output", &names.outputs[i], d);
    }
    let (sizes, uniforms): (Vec<_>, Vec<_>) = m.uniforms.iter().partition(|(_, d)| d.size_of.is_some());
    for (i, d) in uniforms {
        uniform(&mut out, &names, i, d);
    }
    for (i, d) in &m.textures {
        texture(&mut out, &names.textures[i], d);
    }
    // They name textures.
    for (i, d) in sizes {
        uniform(&mut out, &names, i, d);
    }
    for (i, d) in &m.storage {
        storage(&mut out, &names.storage[i], d);
    }
    for (i, d) in &m.shared {
        let _ = writeln!(out, "shared %{} : {}{}", names.shared[i], d.ty, count(d.count));
    }
    if let Some(f) = m.functions.get(m.entry) {
        body(&mut out, m, &names, f);
    }
    for id in m.functions.keys().filter(|id| *id != m.entry) {
        out.push('\n');
        helper(&mut out, m, &names, id);
    }
    out
}

/// Prints one function: the entry's blocks, or a helper with its header.
pub fn print_function(m: &Module, id: FuncId) -> String {
    let names = Names::new(m);
    let mut out = String::new();
    if id == m.entry {
        body(&mut out, m, &names, m.main());
    } else {
        helper(&mut out, m, &names, id);
    }
    out
}

/// Printable names that are unique within their kind.
struct Names {
    inputs: Vec2<Input>,
    outputs: Vec2<Output>,
    uniforms: Vec2<Uniform>,
    textures: Vec2<Texture>,
    storage: Vec2<Storage>,
    shared: Vec2<Shared>,
    functions: Vec2<FuncId>,
}
type Vec2<E> = PrimaryMap<E, String>;

fn unique<E: EntityRef, D>(seen: &mut HashSet<String>, decls: &PrimaryMap<E, D>, name: impl Fn(&D) -> &str) -> Vec2<E> {
    let mut out = PrimaryMap::with_capacity(decls.len());
    for d in decls.values() {
        let base = name(d);
        let mut n = base.to_string();
        let mut k = 1;
        while !seen.insert(n.clone()) {
            n = format!("{base}.{k}");
            k += 1;
        }
        out.push(plain(&n));
    }
    out
}

/// The name itself if it is a word, else quoted.
fn plain(n: &str) -> String {
    let word = !n.is_empty() && n.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$'));
    if word { n.to_string() } else { quote(n) }
}

impl Names {
    fn new(m: &Module) -> Names {
        // Storage and shared variables share their names, since an atomic may mean either.
        let mut memory = HashSet::new();
        Names {
            inputs: unique(&mut HashSet::new(), &m.inputs, |d| &d.name),
            outputs: unique(&mut HashSet::new(), &m.outputs, |d| &d.name),
            uniforms: unique(&mut HashSet::new(), &m.uniforms, |d| &d.name),
            textures: unique(&mut HashSet::new(), &m.textures, |d| &d.name),
            storage: unique(&mut memory, &m.storage, |d| &d.name),
            shared: unique(&mut memory, &m.shared, |d| &d.name),
            functions: unique(&mut HashSet::new(), &m.functions, |f| &f.name),
        }
    }
}

fn count(n: u32) -> String {
    if n == 1 { String::new() } else { format!("[{n}]") }
}

fn io(out: &mut String, kind: &str, name: &str, d: &IoDecl) {
    let _ = write!(out, "{kind} %{name} : {}{}", d.ty, count(d.count));
    match d.binding {
        Binding::Location(n) => {
            let _ = write!(out, " @location({n})");
        }
        Binding::Builtin(b) => {
            let _ = write!(out, " @{}", b.name());
        }
    }
    if d.unplaced {
        out.push_str(" @unplaced");
    }
    if let Some(name) = &d.linked {
        let _ = write!(out, " @linked({})", quote(name));
    }
    if d.blend_source != 0 {
        let _ = write!(out, " @blend_source({})", d.blend_source);
    }
    let default = if d.ty.is_float() { Interpolation::Perspective } else { Interpolation::Flat };
    if d.interpolation != default {
        let _ = write!(out, " @{}", d.interpolation.name());
    }
    if d.sampling != Sampling::Center {
        let _ = write!(out, " @{}", d.sampling.name());
    }
    range_and_type(out, d.range, d.source_type.as_deref());
    out.push('\n');
}

fn range_and_type(out: &mut String, range: Option<(i64, i64)>, source_type: Option<&str>) {
    if let Some((lo, hi)) = range {
        let _ = write!(out, " @range({lo}, {hi})");
    }
    if let Some(t) = source_type {
        let _ = write!(out, " @type({})", quote(t));
    }
}

fn uniform(out: &mut String, names: &Names, id: Uniform, d: &UniformDecl) {
    let _ = write!(out, "uniform %{} : ", names.uniforms[id]);
    let mut dims = d.dims.as_slice();
    let mut spelled_matrix = false;
    match dims.split_last() {
        Some((columns, rest))
            if d.matrix && d.ty.scalar == Scalar::F32 && d.ty.is_vector() && columns.stride == 16 && (2..=4).contains(&columns.count) =>
        {
            let _ = write!(out, "mat{}x{}", columns.count, d.ty.lanes);
            dims = rest;
            spelled_matrix = true;
        }
        _ => {
            let _ = write!(out, "{}", d.ty);
        }
    }
    let mut expected: Vec<u32> = Vec::new();
    let mut next = 16u32;
    for dim in d.dims.iter().rev() {
        expected.push(next);
        next = dim.stride.saturating_mul(dim.count);
    }
    expected.reverse();
    for (dim, e) in dims.iter().zip(expected) {
        if dim.stride == e {
            let _ = write!(out, "[{}]", dim.count);
        } else {
            let _ = write!(out, "[{}:{}]", dim.count, dim.stride);
        }
    }
    if d.group != 0 {
        let _ = write!(out, " @group({})", d.group);
    }
    let _ = write!(out, " @binding({})", d.binding);
    if d.offset != 0 {
        let _ = write!(out, " @offset({})", d.offset);
    }
    if d.matrix && !spelled_matrix {
        out.push_str(" @matrix");
    }
    if d.rows {
        out.push_str(" @row_major");
    }
    if d.unit != default_unit(d.ty, &d.dims) {
        let _ = write!(out, " @unit({})", d.unit);
    }
    range_and_type(out, d.range, d.source_type.as_deref());
    if let Some(t) = d.size_of.and_then(|t| names.textures.get(t)) {
        let _ = write!(out, " @size_of(%{t})");
    }
    out.push('\n');
}

fn texture(out: &mut String, name: &str, d: &TextureDecl) {
    let _ = write!(out, "texture %{name} : {}", d.dim.name());
    for (set, word) in [(d.arrayed, "array"), (d.shadow, "shadow"), (d.multisampled, "multisampled")] {
        if set {
            let _ = write!(out, " {word}");
        }
    }
    let kind = match (d.kind.is_float(), d.signed) {
        (true, _) => "f32",
        (false, true) => "i32",
        (false, false) => "u32",
    };
    let _ = write!(out, " {kind}");
    if d.group != 0 {
        let _ = write!(out, " @group({})", d.group);
    }
    let _ = write!(out, " @binding({})", d.binding);
    if let Some(s) = &d.sampler {
        let _ = write!(out, " @sampler({})", quote(s));
    }
    out.push('\n');
}

fn words(out: &mut String, words: &[Scalar]) {
    out.push('(');
    let mut i = 0;
    while i < words.len() {
        let n = words[i..].iter().take_while(|w| **w == words[i]).count();
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(words[i].name());
        if n > 1 {
            let _ = write!(out, "*{n}");
        }
        i += n;
    }
    out.push(')');
}

fn storage(out: &mut String, name: &str, d: &StorageDecl) {
    let _ = write!(out, "storage %{name} : ");
    let mut default = String::new();
    let short = (d.head.is_empty() && (1..=4).contains(&d.repeat.len()) && d.repeat.iter().all(|s| *s == d.repeat[0]))
        .then(|| Type::new(d.repeat[0], d.repeat.len() as u8));
    if let Some(ty) = short {
        let _ = write!(out, "{ty}[]");
        default = array_type(ty);
    } else {
        if !d.head.is_empty() || d.repeat.is_empty() {
            out.push_str("struct");
            words(out, &d.head);
        }
        if !d.repeat.is_empty() {
            out.push_str(if d.head.is_empty() { "array" } else { " array" });
            words(out, &d.repeat);
        }
    }
    if d.access != Access::ReadWrite {
        let _ = write!(out, " @access({})", d.access.name());
    }
    if d.group != 0 {
        let _ = write!(out, " @group({})", d.group);
    }
    let _ = write!(out, " @binding({})", d.binding);
    if d.source_type != default {
        let _ = write!(out, " @type({})", quote(&d.source_type));
    }
    out.push('\n');
}

fn helper(out: &mut String, m: &Module, names: &Names, id: FuncId) {
    let f = &m.functions[id];
    let _ = write!(out, "func @{}(", names.functions[id]);
    let params = f.entry().map_or(&[][..], |b| &f.blocks[b].params);
    for (n, p) in params.iter().enumerate() {
        let _ = write!(out, "{}v{n}: {}", if n > 0 { ", " } else { "" }, f.ty(*p));
    }
    out.push(')');
    for (n, t) in f.results.iter().enumerate() {
        let _ = write!(out, "{} {t}", if n > 0 { "," } else { " ->" });
    }
    out.push_str(" {\n");
    body(out, m, names, f);
    out.push_str("}\n");
}

/// What numbers and names one function's text uses.
struct Numbering<'a> {
    f: &'a Function,
    names: &'a Names,
    locals: Vec2<Local>,
    values: SecondaryMap<Value, u32>,
    blocks: SecondaryMap<Block, u32>,
}

fn body(out: &mut String, m: &Module, names: &Names, f: &Function) {
    let mut n = Numbering {
        f,
        names,
        locals: unique(&mut HashSet::new(), &f.locals, |l| &l.name),
        // Values without a place in the layout keep a number that nothing defines.
        values: SecondaryMap::with_default(u32::MAX),
        blocks: SecondaryMap::with_default(u32::MAX),
    };
    let mut next = 0;
    for (k, b) in f.layout.iter().enumerate() {
        n.blocks[*b] = k as u32;
        let results = f.blocks[*b].insts.iter().flat_map(|i| f.insts[*i].results.iter());
        for v in f.blocks[*b].params.iter().chain(results) {
            n.values[*v] = next;
            next += 1;
        }
    }
    for (i, l) in &f.locals {
        let _ = writeln!(out, "local %{} : {}{}", n.locals[i], l.ty, count(l.count));
    }
    for (k, b) in f.layout.iter().enumerate() {
        let data = &f.blocks[*b];
        let _ = write!(out, "block{k}");
        // The header of a helper has the parameters of its first block.
        if !data.params.is_empty() && (k > 0 || std::ptr::eq(f, m.main())) {
            for (p, v) in data.params.iter().enumerate() {
                let _ = write!(out, "{}v{}: {}", if p > 0 { ", " } else { "(" }, n.values[*v], f.ty(*v));
            }
            out.push(')');
        }
        out.push_str(":\n");
        for i in &data.insts {
            out.push_str("    ");
            n.inst(out, *i);
            out.push('\n');
        }
    }
}

impl Numbering<'_> {
    fn value(&self, out: &mut String, v: Value) {
        let v = self.f.resolve(v);
        let _ = match self.values[v] {
            u32::MAX => write!(out, "v_removed{}", v.as_u32()),
            n => write!(out, "v{n}"),
        };
    }

    fn values(&self, out: &mut String, values: &[Value], mut separator: &str) {
        for v in values {
            out.push_str(separator);
            self.value(out, *v);
            separator = ", ";
        }
    }

    fn target(&self, out: &mut String, t: &BlockCall) {
        let _ = match self.blocks[t.block] {
            u32::MAX => write!(out, "block_removed{}", t.block.as_u32()),
            n => write!(out, "block{n}"),
        };
        if !t.args.is_empty() {
            self.values(out, &t.args, "(");
            out.push(')');
        }
    }

    fn variable(&self, out: &mut String, var: MemRef) {
        let name = match var {
            MemRef::Input(i) => self.names.inputs.get(i),
            MemRef::Output(o) => self.names.outputs.get(o),
            MemRef::Uniform(u) => self.names.uniforms.get(u),
            MemRef::Local(l) => self.locals.get(l),
            MemRef::Shared(s) => self.names.shared.get(s),
            MemRef::Storage(s) => self.names.storage.get(s),
        };
        let _ = write!(out, "%{}", name.map_or("?", |n| n));
    }

    /// `%name[v1 + 3]`
    fn place(&self, out: &mut String, var: MemRef, offset: u32, index: Option<Value>) {
        self.variable(out, var);
        match (index, offset) {
            (None, 0) => {}
            (None, o) => {
                let _ = write!(out, "[{o}]");
            }
            (Some(v), o) => {
                out.push('[');
                self.value(out, v);
                if o > 0 {
                    let _ = write!(out, " + {o}");
                }
                out.push(']');
            }
        }
    }

    fn literal(&self, out: &mut String, ty: Type, bits: &[u32; 4]) {
        let one = |b: u32| match ty.scalar {
            Scalar::F32 | Scalar::F16 => format_float(ty.scalar, b),
            Scalar::I1 if b == 0 => "false".to_string(),
            Scalar::I1 if b == 1 => "true".to_string(),
            Scalar::I1 | Scalar::I32 => (b as i32).to_string(),
        };
        if ty.lanes == 1 {
            out.push_str(&one(bits[0]));
        } else {
            let lanes: Vec<String> = bits[..usize::from(ty.lanes).min(4)].iter().map(|b| one(*b)).collect();
            let _ = write!(out, "[{}]", lanes.join(", "));
        }
    }

    fn inst(&self, out: &mut String, i: Inst) {
        let d = &self.f.insts[i];
        if !d.results.is_empty() {
            self.values(out, &d.results, "");
            out.push_str(" = ");
        }
        if d.precise {
            out.push_str("precise ");
        }
        if d.relaxed {
            out.push_str("relaxed ");
        }
        let ty = d.results.first().map(|v| self.f.ty(*v));
        match (d.op, ty) {
            (Opcode::Const, Some(t)) => out.push_str(if t.is_float() { "fconst" } else { "iconst" }),
            _ => out.push_str(d.op.name()),
        }
        if let (Some(t), true) = (ty, self.needs_type(d, ty)) {
            let _ = write!(out, ".{t}");
        }
        let args = d.args.as_slice();
        match &d.imm {
            Imm::Const(bits) => {
                out.push(' ');
                self.literal(out, ty.unwrap_or(I32), bits);
            }
            Imm::FloatCC(cc) => {
                let _ = write!(out, " {}", cc.name());
                self.values(out, args, " ");
            }
            Imm::IntCC(cc) => {
                let _ = write!(out, " {}", cc.name());
                self.values(out, args, " ");
            }
            Imm::Lane(l) => {
                self.values(out, args, " ");
                let _ = write!(out, ", {l}");
            }
            Imm::Lanes(l) => {
                self.values(out, args, " ");
                let l: Vec<String> = l.iter().map(u8::to_string).collect();
                let _ = write!(out, ", [{}]", l.join(", "));
            }
            Imm::Mem { var, offset } => {
                let stored = usize::from(matches!(d.op, Opcode::Output | Opcode::LocalStore | Opcode::SharedStore | Opcode::StorageStore));
                out.push(' ');
                self.place(out, *var, *offset, args.get(stored).copied());
                self.values(out, &args[..stored.min(args.len())], ", ");
                self.values(out, args.get(stored + 1..).unwrap_or(&[]), ", ");
            }
            Imm::Atomic { var, offset, op } => {
                let _ = write!(out, " {} ", op.name());
                let values = if *op == crate::AtomicOp::Cas { 2 } else { 1 };
                self.place(out, *var, *offset, args.get(values).copied());
                self.values(out, &args[..values.min(args.len())], ", ");
            }
            Imm::Tex(t) => {
                let _ = write!(out, " {}", t.op.name());
                if t.lod != TexLod::Implicit {
                    let _ = write!(out, " {}", t.lod.name());
                }
                if t.compare {
                    out.push_str(" compare");
                }
                if t.offset != [0; 3] {
                    let [x, y, z] = t.offset;
                    let _ = write!(out, " offset({x}, {y}, {z})");
                }
                if t.component != 0 {
                    let _ = write!(out, " component({})", t.component);
                }
                let _ = write!(out, " %{}", self.names.textures.get(t.texture).map_or("?", |n| n));
                self.values(out, args, ", ");
            }
            Imm::Hint(h) => {
                out.push_str(match h {
                    1 => " coarse",
                    2 => " fine",
                    _ => "",
                });
                self.values(out, args, " ");
            }
            Imm::Func(id) => {
                let _ = write!(out, " @{}", self.names.functions.get(*id).map_or("?", |n| n));
                out.push('(');
                self.values(out, args, "");
                out.push(')');
            }
            Imm::Stream(s) => {
                if *s != 0 {
                    let _ = write!(out, " {s}");
                }
                self.values(out, args, " ");
            }
            Imm::Cases(cases) => {
                self.values(out, args, " ");
                out.push_str(", [");
                for (n, (c, t)) in cases.iter().zip(&d.targets).enumerate() {
                    let _ = write!(out, "{}{}: ", if n > 0 { ", " } else { "" }, *c as i32);
                    self.target(out, t);
                }
                out.push(']');
                for t in d.targets.iter().skip(cases.len()) {
                    out.push_str(", ");
                    self.target(out, t);
                }
            }
            Imm::Ext(name) => {
                let word = name.starts_with(|c: char| c.is_ascii_alphabetic()) && plain(name) == **name && !name.contains('$');
                if word {
                    let _ = write!(out, " {name}");
                } else {
                    let _ = write!(out, " {}", quote(name));
                }
                self.values(out, args, " ");
            }
            Imm::None => {
                let mut separator = " ";
                if !args.is_empty() {
                    self.values(out, args, separator);
                    separator = ", ";
                }
                for t in &d.targets {
                    out.push_str(separator);
                    self.target(out, t);
                    separator = ", ";
                }
            }
        }
    }

    /// Whether the type must be written: always by rule, or since it is not the one that the operands give.
    fn needs_type(&self, d: &crate::InstData, ty: Option<Type>) -> bool {
        match d.op.rule() {
            ResultRule::Explicit => true,
            ResultRule::None | ResultRule::Call => false,
            _ => {
                let args: Vec<Type> = d.args.iter().map(|v| self.f.ty(self.f.resolve(*v))).collect();
                let mask = if let Imm::Lanes(l) = &d.imm { l.len() } else { 0 };
                d.op.infer(&args, mask) != ty
            }
        }
    }
}
