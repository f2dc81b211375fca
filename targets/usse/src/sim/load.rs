//! The loader: runs a container on the simulator.
//!
//! Everything comes from the container's bytes: registers, programs, and through `interface.rs` the names of what goes in and
//! comes out. A compiled shader's environment, which is by the source's declarations, is first brought to those names.

use crate::abi::varyings;
use crate::container::interface::{self, Format, Interface, Source};
use crate::container::{self, Gxp};
use crate::legal::numerics::pack_int;
use crate::sim::{Code, Draw, Instance};
use retroshade_ir::numerics::{from_f32, to_f32};
use retroshade_ir::texture::{self, TexArgs, TexQuery};
use retroshade_ir::*;
use retroshade_lower::reflect::uniform_leaves;
use retroshade_lower::{Course, SimError};

/// Where the default uniform buffer lies in the simulator's memory; the others follow, each with as much room.
const BUFFER_AT: u32 = 0x10_0000;
/// The default uniform buffer's index.
const DEFAULT: u8 = 14;

fn bad(m: impl Into<String>) -> SimError {
    SimError::BadEnv(m.into())
}

/// A container that was read.
pub struct Program {
    gxp: Gxp,
    interface: Interface,
    secondary: Code,
    primary: Code,
}

impl Program {
    /// Reads a container.
    pub fn read(container: &[u8]) -> Result<Program, SimError> {
        let gxp = container::read(container).map_err(|e| bad(e.message))?;
        let interface = interface::of(&gxp).map_err(|e| bad(e.message))?;
        let (secondary, primary) = (Code::new(&gxp.secondary, true)?, Code::new(&gxp.primary, false)?);
        let primary = Code { first: 8 * gxp.secondary.len() as u32, ..primary };
        Ok(Program { gxp, interface, secondary, primary })
    }

    /// Runs it with an environment by the declarations of the module that it was made of.
    pub fn run(&self, m: &Module, env: &ShaderEnv, course: Course) -> Result<ShaderResult, SimError> {
        let i = &self.interface;
        let inside = execute(self, &named(m, i, env)?, true, course)?;
        let invocations = inside.invocations.iter().map(|r| declared(m, i, r)).collect();
        Ok(ShaderResult { invocations, storage: env.storage.clone() })
    }
}

/// Runs a container with an environment by its own names ([`Interface::module`]). `strict` also refuses programs that read
/// an internal register which the scheduler may have taken.
pub fn execute(program: &Program, env: &ShaderEnv, strict: bool, course: Course) -> Result<ShaderResult, SimError> {
    let Program { gxp: g, interface: i, secondary, primary } = program;
    let fragment = g.is_fragment();
    let memory = buffers(g, i, env);
    let mut sa = vec![0u32; 256];
    let mut set = |at: usize, v: u32| {
        if let Some(r) = sa.get_mut(at) {
            *r = v;
        }
    };
    for (index, base, size) in g.containers.iter().filter(|c| c.0 <= DEFAULT as u16) {
        let words = memory.iter().find(|b| b.0 as u16 == *index).map_or(&[][..], |b| &b.1);
        words.iter().take(*size as usize).enumerate().for_each(|(k, w)| set(*base as usize + k, *w));
    }
    let data = g.base(19).unwrap_or(0) as usize;
    let literals = g.base(16).map_or(data, |b| b as usize);
    for (o, v) in &g.literals {
        set(literals.saturating_add(*o as usize), *v);
    }
    let address = |index: u16| BUFFER_AT * (1 + index as u32 % 16);
    for (index, o, b) in &g.uniform_buffers {
        set(data + *o as usize, address(*index).wrapping_add(*b as u32));
    }
    let mut samplers = Vec::new();
    for (n, unit) in i.units.iter().enumerate() {
        let Some(first) = g.dependent_samplers.iter().find(|d| Some(d.0 as u32) == unit.checked_mul(4)) else { continue };
        samplers.push(((data as u16).wrapping_add(first.1), image(i, env, Texture::from_u32(n as u32))?));
    }
    let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let memory = memory.iter().map(|(index, words)| (address(*index as u16), bytes(words))).collect();
    let mut draw = Draw { sa, samplers, memory, strict, quads: fragment, turning: course.turning() };
    draw.run_secondary(secondary)?;
    let mut out = ShaderResult { invocations: Vec::new(), storage: Vec::new() };
    let group = if fragment { 4 } else { 1 };
    // A quad that lacks some is filled only for those who read their neighbours.
    let neighbours = fragment && primary.reads_neighbours();
    for (quad, first) in env.invocations.chunks(group).zip((0..).step_by(group)) {
        let mut lanes = Vec::new();
        for (n, number) in (0..if neighbours { group } else { quad.len() }).zip(first..) {
            let inv = quad.get(n).or(quad.last()).ok_or_else(|| bad("no invocations"))?;
            lanes.push(Instance { number, ..instance(i, inv)? });
        }
        for t in &i.texels {
            preload(i, t, env, quad, &mut lanes)?;
        }
        draw.run_primary(primary, &mut lanes)?;
        out.invocations.extend(lanes.iter().take(quad.len()).map(|lane| result(i, lane)));
    }
    Ok(out)
}

/// The uniform buffers' words: (index, words).
fn buffers(g: &Gxp, i: &Interface, env: &ShaderEnv) -> Vec<(u8, Vec<u32>)> {
    let size = (g.default_words as usize).min(1 << 18);
    let mut out = vec![(DEFAULT, vec![0u32; size])];
    for p in &i.places {
        if !out.iter().any(|b| b.0 == p.buffer) {
            out.push((p.buffer, Vec::new()));
        }
        let lanes = i.module.uniforms[p.uniform].ty.lanes as usize;
        let words = env.uniforms.get(p.uniform.as_u32() as usize).map_or(&[][..], |w| w);
        for (_, buffer) in out.iter_mut().filter(|b| b.0 == p.buffer) {
            for (n, element) in words.chunks(lanes).enumerate() {
                let at = p.word as usize + n * p.stride as usize;
                if buffer.len() < at + lanes {
                    buffer.resize(at + lanes, 0);
                }
                buffer[at..at + element.len()].copy_from_slice(element);
            }
        }
    }
    out
}

fn image<'e>(i: &Interface, env: &'e ShaderEnv, t: Texture) -> Result<&'e TextureData, SimError> {
    env.textures.get(t.as_u32() as usize).ok_or_else(|| bad(format!("no texture `{}`", i.module.textures[t].name)))
}

/// Puts components into registers.
fn store(pa: &mut [u32], at: u16, format: Format, words: &[u32]) {
    for (k, w) in words.iter().enumerate() {
        let (each, bits, v) = match format {
            Format::Word | Format::Rounded => (1, 32, *w),
            Format::Half => (2, 16, from_f32(Scalar::F16, f32::from_bits(*w))),
            Format::Short => (2, 16, *w & 0xffff),
            Format::Byte => (4, 8, *w & 0xff),
            Format::Colour => (4, 8, libm::rintf(f32::from_bits(*w).clamp(0.0, 1.0) * 255.0) as u32),
            Format::Fixed => (3, 10, pack_int(libm::rintf(f32::from_bits(*w) * 255.0), -512.0, 511.0) & 0x3ff),
        };
        if let Some(r) = pa.get_mut(at as usize + k / each) {
            let shift = bits * (k % each) as u32;
            let mask = if bits == 32 { !0 } else { ((1u32 << bits) - 1) << shift };
            *r = *r & !mask | (v << shift) & mask;
        }
    }
}

/// Takes components out of registers.
fn fetch(regs: &[u32], at: u16, format: Format, lanes: u8) -> Vec<u32> {
    let word = |n: usize| regs.get(at as usize + n).copied().unwrap_or(0);
    (0..lanes as usize)
        .map(|k| match format {
            Format::Word => word(k),
            Format::Rounded => to_f32(Scalar::F16, from_f32(Scalar::F16, f32::from_bits(word(k)))).to_bits(),
            Format::Half => to_f32(Scalar::F16, word(k / 2) >> (16 * (k & 1)) & 0xffff).to_bits(),
            Format::Short => word(k / 2) >> (16 * (k & 1)) & 0xffff,
            Format::Byte => word(k / 4) >> (8 * (k & 3)) & 0xff,
            Format::Colour => ((word(k / 4) >> (8 * (k & 3)) & 0xff) as f32 / 255.0).to_bits(),
            Format::Fixed => ((((word(k / 3) >> (10 * (k % 3))) << 22) as i32 >> 22) as f32 / 255.0).to_bits(),
        })
        .collect()
}

fn given<'e>(i: &Interface, inv: &'e InvocationInputs, input: Input) -> Result<&'e [u32], SimError> {
    let words = inv.inputs.get(input.as_u32() as usize);
    words.map(|w| &w[..]).ok_or_else(|| bad(format!("no input `{}`", i.module.inputs[input].name)))
}

fn instance(i: &Interface, inv: &InvocationInputs) -> Result<Instance, SimError> {
    let mut one = Instance::default();
    for f in &i.feeds {
        let words = given(i, inv, f.input)?;
        let (bank, n) = match f.to {
            Source::O(n) => (&mut one.o, n),
            Source::Pa(n) => (&mut one.pa, n),
            Source::Depth => continue,
        };
        store(bank, n, f.format, &words[..words.len().min(f.lanes as usize)]);
    }
    Ok(one)
}

/// Makes a texture read before the program starts.
fn preload(
    i: &Interface,
    t: &interface::Texel,
    env: &ShaderEnv,
    quad: &[InvocationInputs],
    lanes: &mut [Instance],
) -> Result<(), SimError> {
    let tex = image(i, env, t.texture)?;
    let mut coords = [[0; 3]; 4];
    for (n, c) in coords.iter_mut().enumerate() {
        let inv = quad.get(n).or(quad.last()).ok_or_else(|| bad("no invocations"))?;
        let words = given(i, inv, t.coord)?;
        let at = |k: usize| words.get(k).copied().unwrap_or(0);
        let by = |k: usize, n: usize| (f32::from_bits(at(k)) / f32::from_bits(at(n))).to_bits();
        *c = match t.form {
            2 => [by(0, 3), by(1, 3), 0],
            3 if tex.dim != TexDim::Cube => [by(0, 2), by(1, 2), 0],
            3 => [at(0), at(1), at(2)],
            _ => [at(0), at(1), 0],
        };
    }
    let lod = texture::quad_lod(tex, &coords);
    for (n, lane) in lanes.iter_mut().enumerate() {
        let args = TexArgs { coord: coords[n & 3], ..TexArgs::default() };
        let texel = texture::sample_lane(tex, &TexQuery::sample(TexLod::Implicit), &args, lod);
        store(&mut lane.pa, t.pa, t.format, &texel);
    }
    Ok(())
}

fn result(i: &Interface, lane: &Instance) -> InvocationResult {
    let outputs = i.drains.iter().map(|d| match d.from {
        _ if lane.killed => vec![0; d.lanes as usize],
        Source::O(n) => fetch(&lane.o, n, d.format, d.lanes),
        Source::Pa(n) => fetch(&lane.pa, n, d.format, d.lanes),
        Source::Depth => vec![lane.depth.unwrap_or(0)],
    });
    InvocationResult { outputs: outputs.collect(), discarded: lane.killed, primitives: Vec::new() }
}

/// How what a container names is found among the declarations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// Attributes.
    Name,
    /// What travels between the programs.
    Varying,
    /// Colours.
    Location,
}

/// The declaration that stands behind an input or output of the container, and the element of its array.
fn behind<'m, K>(decls: impl Iterator<Item = (K, &'m IoDecl)>, at: &IoDecl, by: By) -> Option<(K, &'m IoDecl, u32)> {
    let is = |d: &IoDecl, e: u32, location: u32| varyings::of(d, e).is_ok_and(|v| v.location() == Some(location));
    decls
        .filter_map(|(k, d)| match (d.binding, at.binding) {
            (Binding::Builtin(a), Binding::Builtin(b)) => (a == b).then_some((k, d, 0)),
            (Binding::Location(_), Binding::Location(_)) if by == By::Name => {
                (0..d.count.max(1)).find(|e| at.name == attribute_name(d, *e)).map(|e| (k, d, e))
            }
            (Binding::Location(_), Binding::Location(t)) if by == By::Varying => {
                (0..d.count.max(1)).find(|e| is(d, *e, t)).map(|e| (k, d, e))
            }
            (Binding::Location(l), Binding::Location(t)) => (l == t).then_some((k, d, 0)),
            _ => None,
        })
        .next()
}

/// The name of an attribute in the parameter table.
pub fn attribute_name(d: &IoDecl, element: u32) -> String {
    if d.count > 1 { format!("{}[{element}]", d.name) } else { d.name.clone() }
}

/// Words of a source type as the container has them: halves are floats there.
fn widened(ty: Type, words: &[u32]) -> Vec<u32> {
    words.iter().map(|w| if ty.scalar == Scalar::F16 { to_f32(ty.scalar, *w).to_bits() } else { *w }).collect()
}

/// An environment by the container's names out of one by the source's declarations.
fn named(m: &Module, i: &Interface, env: &ShaderEnv) -> Result<ShaderEnv, SimError> {
    let vertex = m.stage == Stage::Vertex;
    let mut out = ShaderEnv { workgroups: env.workgroups, ..ShaderEnv::default() };
    let leaves: Vec<_> = m.uniforms.iter().map(|(u, s)| (u, s, uniform_leaves(s))).collect();
    for d in i.module.uniforms.values() {
        let mut words = Vec::new();
        for (u, s, leaves) in &leaves {
            let all = env.uniform(m, *u).ok_or_else(|| bad(format!("no values for uniform `{}`", s.name)))?;
            let lanes = s.ty.lanes as usize;
            let slice = |first: u32, n: u32| all.get(first as usize * lanes..(first + n) as usize * lanes).unwrap_or(&[]);
            for leaf in leaves.iter().filter(|l| d.name.starts_with(&l.name)) {
                if d.name == leaf.name {
                    words = widened(s.ty, slice(leaf.first, leaf.count));
                }
                let element =
                    d.name[leaf.name.len()..].strip_prefix('[').and_then(|r| r.strip_suffix(']')).and_then(|r| r.parse::<u32>().ok());
                if let Some(k) = element.filter(|k| *k < leaf.count) {
                    words = widened(s.ty, slice(leaf.first + k, 1));
                }
            }
        }
        out.uniforms.push(words);
    }
    for d in i.module.textures.values() {
        let t = m.textures.iter().find(|t| t.1.name == d.name).and_then(|t| env.textures.get(t.0.as_u32() as usize));
        out.textures.push(t.ok_or_else(|| bad(format!("no texture `{}`", d.name)))?.clone());
    }
    for inv in &env.invocations {
        let mut inputs = Vec::new();
        for d in i.module.inputs.values() {
            let (k, s, e) = behind(m.inputs.iter(), d, if vertex { By::Name } else { By::Varying })
                .ok_or_else(|| bad(format!("no input `{}`", d.name)))?;
            let words = inv.inputs.get(k.as_u32() as usize).ok_or_else(|| bad(format!("no input `{}`", s.name)))?;
            let lanes = s.ty.lanes as usize;
            let given = words.get(e as usize * lanes..(e as usize + 1) * lanes).unwrap_or(&[]);
            let mut words = match varyings::is_halves(s) && !vertex {
                true => given.iter().flat_map(|w| varyings::halves(*w)).collect(),
                false => widened(s.ty, given),
            };
            words.resize(d.ty.lanes as usize, 0);
            inputs.push(words);
        }
        out.invocations.push(InvocationInputs { inputs });
    }
    Ok(out)
}

/// A result by the source's declarations out of one by the container's names.
fn declared(m: &Module, i: &Interface, r: &InvocationResult) -> InvocationResult {
    let mut outputs: Vec<Vec<u32>> = m.outputs.values().map(|d| vec![0; d.ty.lanes as usize * d.count.max(1) as usize]).collect();
    for (d, words) in i.module.outputs.values().zip(&r.outputs) {
        let by = if m.stage == Stage::Vertex { By::Varying } else { By::Location };
        let Some((k, s, e)) = behind(m.outputs.iter(), d, by) else { continue };
        let whole: Vec<u32>;
        let words = match varyings::is_halves(s) {
            true => {
                whole = words.chunks_exact(2).map(|h| varyings::whole(h[0], h[1])).collect();
                &whole
            }
            false => words,
        };
        let row = &mut outputs[k.as_u32() as usize];
        let first = e as usize * s.ty.lanes as usize;
        // An array of clip distances is one output of the container.
        let n = if d.count > 1 { row.len() } else { s.ty.lanes as usize };
        for (to, w) in row.iter_mut().skip(first).take(n).zip(words) {
            *to = if s.ty.scalar == Scalar::F16 { from_f32(s.ty.scalar, f32::from_bits(*w)) } else { *w };
        }
    }
    InvocationResult { outputs, discarded: r.discarded, primitives: Vec::new() }
}
