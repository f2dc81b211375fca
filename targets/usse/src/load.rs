//! The loader: runs a compiled container on the simulator with an environment's inputs.
//!
//! Registers and programs come from the container's bytes; which declaration is which parameter comes from the layout of the
//! legalised module (`abi.rs`).

use crate::abi;
use crate::container;
use crate::sim::{Code, Draw, Instance};
use retroshade_ir::numerics::from_f32;
use retroshade_ir::texture::{self, TexArgs, TexQuery};
use retroshade_ir::*;
use retroshade_lower::{CompiledShader, SimError};

/// Where the default uniform buffer lies in the simulator's memory.
const BUFFER_AT: u32 = 0x1_0000;

/// Runs all invocations of an environment.
pub fn run(s: &CompiledShader, env: &ShaderEnv) -> Result<ShaderResult, SimError> {
    let bad = |m: String| SimError::BadEnv(m);
    let g = container::read(&s.container).map_err(|e| bad(e.message))?;
    let m = &s.legal;
    let half = matches!(g.varyings, container::Varyings::Fragment { output_type: 1, .. });
    let layout = abi::layout(m, half).map_err(|e| bad(e.to_string()))?;
    let mut sa = vec![0u32; 256];
    let mut buffer = vec![0u32; g.default_words as usize];
    for slot in &layout.uniforms {
        let d = &m.uniforms[slot.uniform];
        let words = env.uniforms.get(slot.uniform.as_u32() as usize).ok_or_else(|| bad(format!("no values for uniform `{}`", d.name)))?;
        let lanes = d.ty.lanes as usize;
        for (e, element) in words.chunks(lanes).enumerate() {
            for (k, w) in element.iter().enumerate() {
                if let Some(b) = buffer.get_mut(slot.element(d, e as u32) as usize + k) {
                    *b = *w;
                }
            }
        }
    }
    let regs = g.containers.iter().find(|c| c.0 == 14).map_or(0, |c| c.2 as usize);
    let base = g.base(14).unwrap_or(0) as usize;
    for (k, w) in buffer.iter().take(regs).enumerate() {
        if let Some(r) = sa.get_mut(base + k) {
            *r = *w;
        }
    }
    let data = g.base(19).unwrap_or(0) as usize;
    let mut set = |at: usize, v: u32| {
        if let Some(r) = sa.get_mut(data + at) {
            *r = v;
        }
    };
    for (o, v) in &g.literals {
        set(*o as usize, *v);
    }
    for (_, o, b) in &g.uniform_buffers {
        set(*o as usize, BUFFER_AT.wrapping_add(*b as u32));
    }
    let mut samplers = Vec::new();
    for (t, unit, _) in &layout.textures {
        let Some(first) = g.dependent_samplers.iter().find(|d| d.0 == *unit as u16 * 4) else { continue };
        let tex = env.textures.get(t.as_u32() as usize).ok_or_else(|| bad(format!("no texture `{}`", m.textures[*t].name)))?;
        samplers.push((data as u16 + first.1, tex));
    }
    let memory = vec![(BUFFER_AT, buffer.iter().flat_map(|w| w.to_le_bytes()).collect())];
    let mut draw = Draw { sa, samplers, memory, strict: true, quads: m.stage == Stage::Fragment };
    let (secondary, primary) = (Code::new(&g.secondary, true)?, Code::new(&g.primary, false)?);
    draw.run_secondary(&secondary)?;
    let mut out = ShaderResult { invocations: Vec::new(), storage: env.storage.clone() };
    let group = if m.stage == Stage::Fragment { 4 } else { 1 };
    for quad in env.invocations.chunks(group) {
        let mut lanes = Vec::new();
        for n in 0..group {
            let inv = quad.get(n).or(quad.last()).ok_or_else(|| bad("no invocations".to_string()))?;
            lanes.push(instance(m, &layout, inv)?);
        }
        for p in &layout.preloaded {
            preload(m, p, env, quad, &mut lanes)?;
        }
        draw.run_primary(&primary, &mut lanes)?;
        for lane in lanes.iter().take(quad.len()) {
            out.invocations.push(result(m, &layout, lane));
        }
    }
    Ok(out)
}

/// Makes a texture read before the program starts.
fn preload(m: &Module, p: &abi::Preloaded, env: &ShaderEnv, quad: &[InvocationInputs], lanes: &mut [Instance]) -> Result<(), SimError> {
    let (input, element) = p.input;
    let tex = env
        .textures
        .get(p.texture.as_u32() as usize)
        .ok_or_else(|| SimError::BadEnv(format!("no texture `{}`", m.textures[p.texture].name)))?;
    let coord = |n: usize| -> [u32; 3] {
        let words = quad.get(n).or(quad.last()).and_then(|i| i.inputs.get(input.as_u32() as usize));
        let at = |k: usize| words.and_then(|w| w.get(element as usize * 2 + k)).copied().unwrap_or(0);
        [at(0), at(1), 0]
    };
    let coords = [0, 1, 2, 3].map(coord);
    let lod = texture::quad_lod(tex, &coords);
    for (n, lane) in lanes.iter_mut().enumerate() {
        let args = TexArgs { coord: coords[n & 3], ..TexArgs::default() };
        let texel = texture::sample_lane(tex, &TexQuery::sample(TexLod::Implicit), &args, lod);
        for (k, w) in texel.iter().enumerate() {
            if p.half {
                let h = from_f32(Scalar::F16, f32::from_bits(*w));
                lane.pa[p.pa as usize + k / 2] |= h << (16 * (k & 1));
            } else {
                lane.pa[p.pa as usize + k] = *w;
            }
        }
    }
    Ok(())
}

fn instance(m: &Module, layout: &abi::Abi, inv: &InvocationInputs) -> Result<Instance, SimError> {
    let mut one = Instance::default();
    for s in &layout.inputs {
        let d = &m.inputs[s.input];
        let words = inv.inputs.get(s.input.as_u32() as usize).ok_or_else(|| SimError::BadEnv(format!("no input `{}`", d.name)))?;
        for k in 0..s.lanes as usize {
            let w = words.get(s.element as usize * d.ty.lanes as usize + k).copied().unwrap_or(0);
            if s.half {
                let h = from_f32(Scalar::F16, f32::from_bits(w));
                one.pa[s.pa as usize + k / 2] |= h << (16 * (k & 1));
            } else {
                one.pa[s.pa as usize + k] = w;
            }
        }
    }
    Ok(one)
}

fn result(m: &Module, layout: &abi::Abi, lane: &Instance) -> InvocationResult {
    let mut outputs: Vec<Vec<u32>> = m.outputs.values().map(|d| vec![0; d.ty.lanes as usize * d.count.max(1) as usize]).collect();
    for s in &layout.outputs {
        if lane.killed {
            break;
        }
        let d = &m.outputs[s.output];
        let row = &mut outputs[s.output.as_u32() as usize];
        for k in 0..s.lanes as usize {
            let at = s.reg as usize + k;
            let v = if Some(s.output) == layout.depth {
                lane.depth.unwrap_or(0)
            } else if m.stage == Stage::Vertex {
                lane.o[at]
            } else if layout.half_colour {
                let h = lane.pa[k / 2] >> (16 * (k & 1)) & 0xffff;
                if d.ty.scalar == Scalar::F16 { h } else { retroshade_ir::numerics::to_f32(Scalar::F16, h).to_bits() }
            } else {
                lane.pa[at]
            };
            if let Some(o) = row.get_mut(s.element as usize * d.ty.lanes as usize + k) {
                *o = v;
            }
        }
    }
    InvocationResult { outputs, discarded: lane.killed, primitives: Vec::new() }
}
