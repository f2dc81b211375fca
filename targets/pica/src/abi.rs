//! Where a program's interface lives: inputs in v, outputs in o, uniforms in c, b and i, and what the tables say of them.
//!
//! Rules: an input at location N is vN, builtins take the next free registers as named attributes; outputs take o0, o1 …
//! in the order position, then locations; the location is the output's type in the file (`semantics.rs`).
//! Uniforms: `uniforms.rs`. Facts: ISA sheet sections 2, 13, 14.

pub mod semantics;
pub mod uniforms;

pub use uniforms::{Layout, Transposed, column, component, is_flag, transposed};

use crate::container::{OUTPUT_COMPONENTS, OutputEntry, UniformEntry, numbering};
use crate::isa::registers::{COMPONENTS, FLOAT_UNIFORMS};
use crate::legal::numerics::neg;
use crate::select::mir::{Integer, Rounds};
use cranelift_entity::{EntityRef, SecondaryMap};
use retroshade_ir::*;
use retroshade_lower::CompileError;
use retroshade_lower::reflect::{ReflectIo, ReflectLoop, ReflectUniform, Reflection};
use semantics::{COUNTED, DUMMY, TEXCOORD0, TEXCOORD0W};

/// Outputs that the loader's eight-bit mask can name.
const OUTPUTS: usize = 8;

/// Where a uniform lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Not placed (not used).
    #[default]
    None,
    /// Float uniform of the first element, and its first component.
    Float {
        /// Register.
        reg: u16,
        /// Component.
        comp: u8,
        /// A matrix's registers are its rows.
        rows: Option<Transposed>,
    },
    /// Boolean uniform.
    Bool(u8),
}

/// The whole assignment.
#[derive(Clone, Debug, Default)]
pub struct Abi {
    /// First v register of each input.
    pub inputs: SecondaryMap<Input, u8>,
    /// o register of each output.
    pub outputs: SecondaryMap<Output, u8>,
    /// Output type of each output.
    pub kinds: SecondaryMap<Output, u16>,
    /// Whether the third component of a texcoord0 is texcoord0w: no output of its own is.
    pub third: bool,
    /// Constant lanes that the output's type does not take: never written, reported as these bits.
    pub dead: SecondaryMap<Output, [Option<u32>; 4]>,
    /// Place of each uniform.
    pub uniforms: SecondaryMap<Uniform, Place>,
    /// First float uniform that no block occupies.
    pub free: u8,
    /// Registers per vertex of a geometry program's input.
    pub stride: u8,
    /// Where the vertices of a geometry program stand.
    pub vertices: Vertices,
    /// Integer registers of counted loops.
    pub integers: Vec<Integer>,
    /// Uniforms that only count loops: their float registers are not read.
    pub unread: SecondaryMap<Uniform, bool>,
}

/// Where the vertices of a geometry program's primitive stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vertices {
    /// In input registers: all attributes of a vertex, then those of the next (point mode).
    #[default]
    Registers,
    /// In float uniforms from c0, in the same order (fixed mode): this many.
    Fixed(u8),
    /// Their number in c0, then this many with all attributes, then the others with the first only (variable mode).
    Variable(u8),
}

/// Where an input of a vertex stands: a register, or a float uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputPlace {
    /// Input register.
    Register(u8),
    /// Float uniform.
    Uniform(u8),
}

/// Inputs that every vertex of a primitive has, in the order of the vertex program's outputs.
pub fn attributes(m: &Module) -> Vec<Input> {
    let all: Vec<Input> =
        m.inputs.keys().filter(|k| m.inputs[*k].binding != retroshade_ir::Binding::Builtin(Builtin::VertexCount)).collect();
    let decls: Vec<&IoDecl> = all.iter().map(|k| &m.inputs[*k]).collect();
    semantics::ranks(&decls).into_iter().map(|r| all[r.index]).collect()
}

/// Whether some input is indexed by a computed value, which registers cannot be.
fn computed_vertices(m: &Module) -> bool {
    m.functions.values().any(|f| f.ordered().any(|(_, i)| f.insts[i].op == Opcode::Input && !f.insts[i].args.is_empty()))
}

fn primitive(m: &Module, abi: &mut Abi) -> Result<(), CompileError> {
    let attributes = attributes(m);
    for k in &attributes {
        let d = &m.inputs[*k];
        if let retroshade_ir::Binding::Builtin(b) = d.binding
            && b != Builtin::Position
        {
            return Err(CompileError::unsupported("P0101", d.span, format!("a geometry program has no `{}`", b.name())));
        }
    }
    let n = attributes.len();
    abi.stride = n as u8;
    attributes.iter().enumerate().for_each(|(k, i)| abi.inputs[*i] = k as u8);
    let count = |k: &Input| m.inputs[*k].count as usize;
    let most = attributes.iter().map(count).max().unwrap_or(0);
    let counted = attributes.len() < m.inputs.len();
    let patch = m.geometry.is_some_and(|g| g.input == Primitive::Patch);
    let last = attributes.last().map_or(Span::NONE, |k| m.inputs[*k].span);
    if !patch && !counted && n * most <= 16 && !computed_vertices(m) {
        return Ok(());
    }
    let whole = attributes.iter().skip(1).map(count).min().unwrap_or(most);
    let registers = if counted { 1 + whole * n + most.saturating_sub(whole) } else { most * n };
    if attributes.iter().skip(1).any(|k| count(k) != whole) || !counted && whole != most {
        return Err(CompileError::unsupported(
            "P0106",
            last,
            "the vertices of a patch have all attributes, or, where `vertex_count` is read, the later ones only the first",
        ));
    }
    if registers > FLOAT_UNIFORMS as usize {
        return Err(CompileError::limit("P0301", last, "the vertices of a primitive do not fit", registers as u64, FLOAT_UNIFORMS as u64));
    }
    abi.vertices = if counted { Vertices::Variable(whole as u8) } else { Vertices::Fixed(most as u8) };
    abi.free = registers as u8;
    Ok(())
}

/// Assigns places to a module's interface.
pub fn assign(m: &Module, layout: Layout) -> Result<Abi, CompileError> {
    let mut abi = Abi::default();
    inputs(m, &mut abi)?;
    outputs(m, &mut abi)?;
    uniforms::assign(m, &mut abi, layout)?;
    Ok(abi)
}

fn inputs(m: &Module, abi: &mut Abi) -> Result<(), CompileError> {
    if m.stage == Stage::Geometry {
        return primitive(m, abi);
    }
    let mut taken = [false; 16];
    for (i, d) in m.inputs.iter() {
        if let retroshade_ir::Binding::Location(n) = d.binding {
            let end = n as usize + d.count as usize;
            if end > 16 {
                return Err(CompileError::limit(
                    "P0301",
                    d.span,
                    format!("input `{}` lies beyond the last input register", d.name),
                    end as u64,
                    16,
                ));
            }
            taken[n as usize..end].fill(true);
            abi.inputs[i] = n as u8;
        }
    }
    for (i, d) in m.inputs.iter() {
        if let retroshade_ir::Binding::Builtin(b) = d.binding {
            if !matches!(b, Builtin::VertexIndex | Builtin::InstanceIndex | Builtin::PrimitiveIndex) {
                return Err(CompileError::unsupported("P0101", d.span, format!("the machine has no `{}`", b.name())));
            }
            let Some(n) = taken.iter().position(|t| !t) else {
                return Err(CompileError::limit("P0301", d.span, "no input register is left", 17, 16));
            };
            taken[n] = true;
            abi.inputs[i] = n as u8;
        }
    }
    Ok(())
}

fn outputs(m: &Module, abi: &mut Abi) -> Result<(), CompileError> {
    for d in m.outputs.values() {
        if let retroshade_ir::Binding::Builtin(b) = d.binding
            && b != Builtin::Position
        {
            return Err(CompileError::unsupported("P0102", d.span, format!("the machine has no output `{}`", b.name())));
        }
        if d.count > 1 {
            return Err(CompileError::unsupported("P0103", d.span, format!("output `{}` is an array", d.name)));
        }
    }
    let all: Vec<(Output, &IoDecl)> = m.outputs.iter().collect();
    let order = semantics::ranks(&all.iter().map(|x| x.1).collect::<Vec<_>>());
    if order.len() > OUTPUTS {
        let span = all[order[OUTPUTS].index].1.span;
        return Err(CompileError::limit("P0302", span, "too many outputs", order.len() as u64, OUTPUTS as u64));
    }
    for (n, r) in order.iter().enumerate() {
        let o = all[r.index].0;
        abi.kinds[o] = r.kind;
        abi.outputs[o] = n as u8;
    }
    // Dummies come last.
    if let Some(r) = order.get(COUNTED).filter(|r| r.kind != DUMMY) {
        let span = all[r.index].1.span;
        let meaningful = order.iter().filter(|r| r.kind != DUMMY).count();
        return Err(CompileError::limit("P0302", span, "too many outputs with a meaning", meaningful as u64, COUNTED as u64));
    }
    abi.third = !order.iter().any(|r| r.kind == TEXCOORD0W);
    dead_lanes(m, abi);
    Ok(())
}

/// Lanes beyond what the type takes that are the same constant in every store need not be written.
fn dead_lanes(m: &Module, abi: &mut Abi) {
    let f = m.main();
    for (o, d) in m.outputs.iter() {
        let kind = abi.kinds[o];
        let takes = match kind {
            TEXCOORD0 if d.ty.lanes == 3 && abi.third => 3,
            k => OUTPUT_COMPONENTS[k as usize],
        };
        let mut lanes: [Option<Option<u32>>; 4] = [None; 4];
        for (_, i) in f.ordered() {
            let data = &f.insts[i];
            if data.op != Opcode::Output || !matches!(data.imm, Imm::Mem { var: MemRef::Output(x), .. } if x == o) {
                continue;
            }
            for (l, slot) in lanes.iter_mut().enumerate().take(d.ty.lanes as usize) {
                let c = constant_lane(f, data.args[0], l as u8);
                *slot = match *slot {
                    None => Some(c),
                    Some(old) if old == c => Some(old),
                    _ => Some(None),
                };
            }
        }
        for l in takes..d.ty.lanes {
            abi.dead[o][l as usize] = lanes[l as usize].flatten();
        }
    }
}

/// The bits of one lane of a value, if it is a constant behind builds and shuffles.
pub fn constant_lane(f: &Function, v: Value, lane: u8) -> Option<u32> {
    let v = f.resolve(v);
    let d = &f.insts[f.def_inst(v)?];
    match (d.op, &d.imm) {
        (Opcode::Const, Imm::Const(bits)) => Some(bits[lane as usize]),
        (Opcode::Build, _) => constant_lane(f, d.args[lane as usize], 0),
        (Opcode::Splat, _) => constant_lane(f, d.args[0], 0),
        (Opcode::Extract, Imm::Lane(n)) => constant_lane(f, d.args[0], *n),
        (Opcode::Insert, Imm::Lane(n)) if *n == lane => constant_lane(f, d.args[1], 0),
        (Opcode::Insert, _) => constant_lane(f, d.args[0], lane),
        (Opcode::Shuffle, Imm::Lanes(mask)) => {
            let n = f.ty(d.args[0]).lanes;
            let s = mask[lane as usize];
            if s < n { constant_lane(f, d.args[0], s) } else { constant_lane(f, d.args[1], s - n) }
        }
        (Opcode::Fneg, _) => constant_lane(f, d.args[0], lane).map(|b| neg(f32::from_bits(b)).to_bits()),
        _ => None,
    }
}

/// Type text of a declaration.
fn type_text(ty: Type, source: Option<&str>, dims: &[Dim], matrix: bool) -> String {
    let scalar = source.unwrap_or(match ty.scalar {
        Scalar::I1 => "bool",
        s => s.name(),
    });
    let lane = if ty.lanes == 1 { scalar.to_string() } else { format!("{scalar}x{}", ty.lanes) };
    let (dims, base) = match dims.split_last() {
        Some((cols, rest)) if matrix => (rest, format!("mat{}x{}", cols.count, ty.lanes)),
        _ => (dims, lane),
    };
    dims.iter().rev().fold(base, |t, d| format!("{t}[{}]", d.count))
}

/// What callers bind by.
pub fn reflect(m: &Module, abi: &Abi) -> Reflection {
    let f = m.main();
    let mut used_in: SecondaryMap<Input, bool> = SecondaryMap::new();
    let mut used_out: SecondaryMap<Output, bool> = SecondaryMap::new();
    let mut used_uni: SecondaryMap<Uniform, bool> = SecondaryMap::new();
    for func in m.functions.values() {
        for (_, i) in func.ordered() {
            if let Imm::Mem { var, .. } = &func.insts[i].imm {
                match var {
                    MemRef::Input(k) => used_in[*k] = true,
                    MemRef::Output(k) => used_out[*k] = true,
                    MemRef::Uniform(k) => used_uni[*k] = true,
                    _ => {}
                }
            }
        }
    }
    let io = |d: &IoDecl, register: String, used: bool| ReflectIo {
        name: d.name.clone(),
        ty: {
            let t = type_text(d.ty, d.source_type.as_deref(), &[], false);
            if d.count > 1 || m.stage == Stage::Geometry && m.inputs.values().any(|x| std::ptr::eq(x, d)) {
                format!("{t}[{}]", d.count)
            } else {
                t
            }
        },
        location: match d.binding {
            retroshade_ir::Binding::Location(n) => Some(n),
            _ => None,
        },
        builtin: match d.binding {
            retroshade_ir::Binding::Builtin(b) => Some(b.name().to_string()),
            _ => None,
        },
        interpolation: None,
        register: Some(register),
        used,
    };
    let declared = Reflection::from_module(m);
    let mut r =
        Reflection { target: "pica".to_string(), entry: f.name.clone(), local_size: [1; 3], uniforms: Vec::new(), ..declared.clone() };
    let register = |k: Input| match input_place(m, abi, k, 0) {
        InputPlace::Register(n) => format!("v{n}"),
        InputPlace::Uniform(n) => format!("c{n}"),
    };
    r.inputs = m.inputs.iter().map(|(k, d)| io(d, register(k), used_in[k])).collect();
    r.outputs = m.outputs.iter().map(|(k, d)| io(d, format!("o{}", abi.outputs[k]), used_out[k])).collect();
    for (k, u) in m.uniforms.iter() {
        for (name, dims, first) in elements_by_name(u) {
            let loops = loops(u, k, abi);
            let register = match abi.uniforms[k] {
                Place::Bool(n) => Some(format!("b{n}")),
                _ if abi.unread[k] => loops.first().map(|l| l.register.clone()),
                p => component(u, p, first, 0)
                    .map(|(reg, comp)| if comp == 0 { format!("c{reg}") } else { format!("c{reg}.{}", COMPONENTS[comp as usize]) }),
            };
            // Both lists have the elements in the same order.
            let common = declared.uniforms.get(r.uniforms.len()).filter(|u| u.name == name).cloned();
            r.uniforms.push(ReflectUniform {
                name,
                ty: type_text(u.ty, u.source_type.as_deref(), &dims, u.matrix),
                group: u.group,
                binding: u.binding,
                offset: u.offset + u.element_offset(first),
                register,
                loops,
                used: used_uni[k],
                ..common.unwrap_or_default()
            });
        }
    }
    r
}

/// The integer registers that follow a uniform.
fn loops(u: &UniformDecl, k: Uniform, abi: &Abi) -> Vec<ReflectLoop> {
    let mut out = Vec::new();
    for i in &abi.integers {
        let Rounds::Uniform { uniform, minus, add } = i.rounds else { continue };
        if uniform != k {
            continue;
        }
        // The first stands for the uniform itself, if nothing else does.
        let name = if abi.unread[k] && out.is_empty() { u.name.clone() } else { format!("{}.i{}", u.name, i.register) };
        out.push(ReflectLoop {
            register: format!("i{}", i.register),
            name,
            add: add - 1,
            sign: if minus { -1 } else { 1 },
            first: 0,
            step: i.step,
            guard: i.guard.map(|b| format!("b{b}")),
        });
    }
    out
}

/// The names under which a uniform is bound: each `[]` in the name is an array level listed element by element.
/// Gives (name, remaining dimensions, dense number of the first element).
fn elements_by_name(u: &UniformDecl) -> Vec<(String, Vec<Dim>, u32)> {
    let levels = u.name.matches("[]").count().min(u.dims.len());
    let mut out = vec![(u.name.clone(), 0u32)];
    for d in &u.dims[..levels] {
        out = out
            .into_iter()
            .flat_map(|(name, n)| (0..d.count).map(move |k| (name.replacen("[]", &format!("[{k}]"), 1), n * d.count + k)))
            .collect();
    }
    let rest = u.dims[levels..].to_vec();
    let inner: u32 = rest.iter().map(|d| d.count).product();
    out.into_iter().map(|(name, n)| (name, rest.clone(), n * inner)).collect()
}

/// Output entries of the container, in register order.
pub fn output_entries(m: &Module, abi: &Abi) -> Vec<OutputEntry> {
    let mut out = Vec::new();
    for (o, d) in m.outputs.iter() {
        let (kind, reg) = (abi.kinds[o], abi.outputs[o] as u16);
        let all = (1u8 << d.ty.lanes) - 1;
        let takes = (1u8 << OUTPUT_COMPONENTS[kind as usize]) - 1;
        out.push(OutputEntry { kind, reg, mask: all & takes });
        // Unless the third component is a constant nobody writes.
        if kind == TEXCOORD0 && abi.third && d.ty.lanes >= 3 && abi.dead[o][2].is_none() {
            out.push(OutputEntry { kind: TEXCOORD0W, reg, mask: 4 });
        }
    }
    out.sort_by_key(|e| (e.reg, e.kind));
    out
}

/// Named registers of the container.
pub fn uniform_entries(m: &Module, abi: &Abi, reflection: &Reflection) -> Vec<UniformEntry> {
    let mut out = Vec::new();
    for (k, d) in m.inputs.iter() {
        let InputPlace::Register(first) = input_place(m, abi, k, 0) else { continue };
        let first = numbering::INPUT + u16::from(first);
        let last = if m.stage == Stage::Geometry { first } else { first + d.count as u16 - 1 };
        out.push(UniformEntry { name: d.name.clone(), first, last });
    }
    for (k, u) in m.uniforms.iter() {
        for (name, dims, first) in elements_by_name(u) {
            let n: u32 = dims.iter().map(|d| d.count).product();
            match abi.uniforms[k] {
                Place::Bool(b) => out.push(UniformEntry { name, first: numbering::BOOL + b as u16, last: numbering::BOOL + b as u16 }),
                _ if abi.unread[k] => {}
                p => {
                    let last = u32::from(u.ty.lanes) - 1;
                    let (Some((a, _)), Some((z, _))) = (component(u, p, first, 0), component(u, p, first + n.max(1) - 1, last)) else {
                        continue;
                    };
                    out.push(UniformEntry { name, first: numbering::FLOAT + a, last: numbering::FLOAT + z });
                }
            }
        }
    }
    for l in reflection.uniforms.iter().flat_map(|u| &u.loops) {
        let number = |r: &str| r[1..].parse::<u16>().ok();
        if let Some(n) = number(&l.register) {
            out.push(UniformEntry { name: l.name.clone(), first: numbering::INT + n, last: numbering::INT + n });
        }
        if let Some(n) = l.guard.as_deref().and_then(number) {
            let name = format!("{}.any", l.name);
            out.push(UniformEntry { name, first: numbering::BOOL + n, last: numbering::BOOL + n });
        }
    }
    out.sort_by_key(|u| u.first);
    out
}

/// Where one element of an input stands.
pub fn input_place(m: &Module, abi: &Abi, input: Input, elem: u32) -> InputPlace {
    let (first, elem) = (abi.inputs[input], elem as u8);
    if m.stage != Stage::Geometry {
        return InputPlace::Register(first.saturating_add(elem));
    }
    if m.inputs[input].binding == retroshade_ir::Binding::Builtin(Builtin::VertexCount) {
        return InputPlace::Uniform(0);
    }
    match abi.vertices {
        Vertices::Registers => InputPlace::Register(first + elem * abi.stride),
        Vertices::Fixed(_) => InputPlace::Uniform(first + elem * abi.stride),
        Vertices::Variable(whole) if elem < whole => InputPlace::Uniform(1 + first + elem * abi.stride),
        Vertices::Variable(whole) => InputPlace::Uniform(1 + whole * abi.stride + (elem - whole)),
    }
}

/// Index of an entity, for messages.
pub fn number<E: EntityRef>(e: E) -> usize {
    e.index()
}
