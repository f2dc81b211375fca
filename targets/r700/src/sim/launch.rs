//! What a host does before a program starts and after it has ended: registers, buffers and rings are filled, exports collected.

use super::{FUEL, LANES, Lane, Machine, Reading, State};
use crate::abi::{Abi, MAX_BUFFERS, Role};
use crate::isa::program::Program;
use crate::legal::numerics::clip_w;
use crate::select::VERTEX_OFFSETS;
use retroshade_ir::{Binding, Builtin, InvocationInputs, InvocationResult, Module, Scalar, ShaderEnv, ShaderResult, Stage};
use retroshade_lower::{Course, SimError, Turning};
use std::collections::BTreeMap;

/// The contents of the constant buffers, from the uniforms' values; behind them the constant file.
fn buffers(module: &Module, abi: &Abi, env: &ShaderEnv) -> Vec<Vec<u32>> {
    let mut out: Vec<Vec<u32>> = vec![Vec::new(); MAX_BUFFERS + 1];
    if let Some(c) = &abi.constants {
        out[c.bank as usize].clone_from(&c.words);
    }
    for (k, u) in module.uniforms.values().enumerate() {
        let buf = &mut out[abi.bank(u.group, u.binding) as usize];
        let lanes = u.ty.lanes as usize;
        for e in 0..u.elements() {
            let at = (u.offset + u.element_offset(e)) as usize / 4;
            if buf.len() < at + lanes {
                buf.resize(at + lanes, 0);
            }
            for l in 0..lanes {
                buf[at + l] = env.uniforms.get(k).and_then(|v| v.get(e as usize * lanes + l)).copied().unwrap_or(0);
            }
        }
    }
    out
}

/// A vertex buffer: elements by their index.
pub(super) type Attribute = BTreeMap<u32, Vec<u32>>;

/// The vertex buffers that give each invocation its inputs; `None` where two invocations with one index differ in them.
fn attributes(module: &Module, abi: &Abi, env: &ShaderEnv) -> Option<Vec<Attribute>> {
    let mut out: Vec<Attribute> = Vec::new();
    for (n, inv) in env.invocations.iter().enumerate() {
        let index = vertex_index(module, inv, n);
        for (k, d) in module.inputs.values().enumerate() {
            let Some(first) = abi.attributes[k] else { continue };
            for (e, words) in inv.inputs.get(k)?.chunks(d.ty.lanes as usize).enumerate() {
                let at = first as usize + e;
                out.resize_with(out.len().max(at + 1), Attribute::new);
                // A truth value is the sign of a float.
                let sign = |w: &u32| if *w != 0 { 1.0f32 } else { -1.0 }.to_bits();
                let words: Vec<u32> = if d.ty.scalar == Scalar::I1 { words.iter().map(sign).collect() } else { words.to_vec() };
                if *out[at].entry(index).or_insert_with(|| words.clone()) != words {
                    return None;
                }
            }
        }
    }
    Some(out)
}

/// What R0.x holds: the vertex index where the program asks for it, else the invocation's number.
fn vertex_index(module: &Module, inv: &InvocationInputs, n: usize) -> u32 {
    let asked = module.inputs.values().position(|d| d.binding == Binding::Builtin(Builtin::VertexIndex));
    asked.and_then(|k| inv.inputs.get(k)?.first().copied()).unwrap_or(n as u32)
}

/// Executes a program on all invocations. A vertex program's inputs come by its fetch shader where there is one.
pub fn run(program: &Program, fetch: Option<&Program>, module: &Module, abi: &Abi, env: &ShaderEnv) -> Result<ShaderResult, SimError> {
    run_in(Reading::LeaveAlone, Course::default(), program, fetch, module, abi, env)
}

/// As [`run`], in one of the readings and on a course.
pub fn run_in(
    reading: Reading,
    course: Course,
    program: &Program,
    fetch: Option<&Program>,
    module: &Module,
    abi: &Abi,
    env: &ShaderEnv,
) -> Result<ShaderResult, SimError> {
    let attributes = if module.stage == Stage::Vertex { attributes(module, abi, env) } else { None };
    if attributes.is_none() && abi.role == Role::OwnFetches {
        return Err(SimError::BadEnv("two vertices of one index have different attributes".to_string()));
    }
    let fetched = attributes.is_some() && (fetch.is_some() || abi.role == Role::OwnFetches);
    let slots = abi.export_slots(module);
    let mut number = 0;
    let mut out = ShaderResult { storage: env.storage.clone(), ..ShaderResult::default() };
    for chunk in env.invocations.chunks(LANES) {
        let mut m = Machine {
            reading,
            program,
            module,
            abi,
            env,
            buffers: buffers(module, abi, env),
            lanes: Vec::new(),
            state: vec![State::Active; chunk.len()],
            stack: Vec::new(),
            fuel: FUEL,
            unacknowledged: false,
            valid_only: false,
            turning: course.turning(),
            first: number as u32,
            fetch: fetch.filter(|_| fetched),
            attributes: attributes.as_deref().unwrap_or(&[]),
        };
        for inv in chunk {
            let mut gpr = vec![[0u32; 4]; 256];
            for (k, d) in module.inputs.values().enumerate() {
                if abi.ring_input(k).is_some() || fetched && abi.attributes[k].is_some() {
                    continue;
                }
                let place = abi.inputs[k];
                let lanes = d.ty.lanes as usize;
                let position = module.stage == Stage::Fragment && d.binding == Binding::Builtin(Builtin::Position);
                let words = inv.inputs.get(k).ok_or_else(|| SimError::BadEnv(format!("input `{}` has no value", d.name)))?;
                for (n, w) in words.iter().enumerate() {
                    // A truth value arrives as the sign of a float.
                    let w = if d.ty.scalar == Scalar::I1 { if *w != 0 { 1.0f32 } else { -1.0 }.to_bits() } else { *w };
                    let w = if position && n == 3 { clip_w(w) } else { w };
                    gpr[place.gpr as usize + n / lanes][(place.chan as usize + n % lanes) & 3] = w;
                }
            }
            if fetched {
                gpr[0][0] = vertex_index(module, inv, number);
            }
            number += 1;
            if module.stage == Stage::Geometry {
                for (v, (r, c)) in VERTEX_OFFSETS.iter().enumerate() {
                    gpr[*r as usize][*c as usize] = v as u32 * abi.ring_input_size() * 4;
                }
            }
            m.lanes.push(Lane::new(gpr, ring_of(module, abi, &inv.inputs)));
        }
        m.execute()?;
        for lane in m.lanes {
            let mut r = InvocationResult { discarded: lane.killed, ..InvocationResult::default() };
            if module.stage == Stage::Geometry {
                r.primitives = lane.strips;
                r.primitives.extend(Some(lane.strip).filter(|s| !s.is_empty()));
                out.invocations.push(r);
                continue;
            }
            for (k, d) in module.outputs.values().enumerate() {
                let mut words = Vec::new();
                for e in 0..d.count {
                    let (kind, base, chan) = abi.output(module, k, e);
                    let v = match abi.role {
                        Role::ExportStage => {
                            let slot = slots.iter().find(|s| s.0 == (kind, base)).map(|s| s.1 as u64 * 4);
                            std::array::from_fn(|c| slot.and_then(|s| lane.written.get(&(s + c as u64)).copied()).unwrap_or(0))
                        }
                        _ => lane.exports.get(&(kind, base)).copied().unwrap_or([0; 4]),
                    };
                    for l in 0..d.ty.lanes as usize {
                        words.push(if lane.killed { 0 } else { v[(chan as usize + l) & 3] });
                    }
                }
                r.outputs.push(words);
            }
            out.invocations.push(r);
        }
    }
    Ok(out)
}

/// What a copy program exports of vertices in the output ring, each given as its outputs by declaration.
pub fn copied(program: &Program, module: &Module, abi: &Abi, vertices: &[Vec<Vec<u32>>]) -> Result<Vec<Vec<Vec<u32>>>, SimError> {
    let env = ShaderEnv::default();
    let slots = abi.ring_slots(module);
    let mut out = Vec::new();
    for chunk in vertices.chunks(LANES) {
        let lanes = chunk.iter().enumerate().map(|(n, vertex)| {
            // Vertices of the ring lie one after the other; the upper bits of the offset name a stream.
            let mut ring = vec![0xdead_beef; slots.len() * 4 * (n + 1)];
            for (k, d) in module.outputs.values().enumerate() {
                for (e, words) in vertex.get(k).into_iter().flat_map(|w| w.chunks(d.ty.lanes as usize)).enumerate() {
                    let (kind, base, chan) = abi.output(module, k, e as u32);
                    let Some(slot) = slots.iter().position(|s| *s == (kind, base)) else { continue };
                    for (l, w) in words.iter().enumerate() {
                        ring[(n * slots.len() + slot) * 4 + ((chan as usize + l) & 3)] = *w;
                    }
                }
            }
            let mut gpr = vec![[0u32; 4]; 256];
            gpr[0][0] = (n * slots.len() * 4) as u32 | 0x4000_0000;
            Lane::new(gpr, ring)
        });
        let mut m = Machine {
            reading: Reading::LeaveAlone,
            program,
            module,
            abi,
            env: &env,
            buffers: Vec::new(),
            lanes: lanes.collect(),
            state: vec![State::Active; chunk.len()],
            stack: Vec::new(),
            fuel: FUEL,
            fetch: None,
            attributes: &[],
            unacknowledged: false,
            turning: Turning::default(),
            first: 0,
            valid_only: false,
        };
        m.execute()?;
        for lane in m.lanes {
            let value = |k: usize, e: u32, l: u8| {
                let (kind, base, chan) = abi.output(module, k, e);
                lane.exports.get(&(kind, base)).map_or(0, |v| v[(chan + l) as usize & 3])
            };
            let outputs = module.outputs.values().enumerate();
            out.push(
                outputs
                    .map(|(k, d)| (0..d.count).flat_map(|e| (0..d.ty.lanes).map(move |l| (e, l))).map(|(e, l)| value(k, e, l)).collect())
                    .collect(),
            );
        }
    }
    Ok(out)
}

/// The input ring as the vertex stage left it: vertex after vertex, 16 bytes for each input.
fn ring_of(module: &Module, abi: &Abi, inputs: &[Vec<u32>]) -> Vec<u32> {
    let size = abi.ring_input_size() as usize * 4;
    let mut ring = vec![0; size * VERTEX_OFFSETS.len()];
    for (k, d) in module.inputs.values().enumerate() {
        let (Some(slot), lanes) = (abi.ring_input(k), d.ty.lanes as usize) else { continue };
        for (n, w) in inputs.get(k).into_iter().flatten().enumerate() {
            if let Some(x) = ring.get_mut(n / lanes * size + slot as usize * 4 + n % lanes) {
                *x = *w;
            }
        }
    }
    ring
}
