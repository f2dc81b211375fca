//! A shader's environment as the machine sees it, and its results back: by the interface that the container describes.

use super::{LaneInput, LaneResult, Launch, Program, Unit, run, run_block};
use crate::abi::{Abi, BUFFER_HEADER, GRID_Z, STORAGE_LENGTHS, Word, position_words};
use crate::isa::arith;
use retroshade_ir::{Binding, Builtin, InvocationInputs, InvocationResult, Module, ShaderEnv, ShaderResult, Stage};
use retroshade_lower::{Course, SimError};

/// Instructions per warp before a run is given up.
const FUEL: u64 = 4_000_000;

/// Runs a program under an environment; `module` tells the declarations' types.
pub fn simulate(program: &Program, abi: &Abi, module: &Module, env: &ShaderEnv, course: Course) -> Result<ShaderResult, SimError> {
    let buffers: Vec<Vec<u8>> = env.storage.iter().map(|s| s.iter().flat_map(|w| w.to_le_bytes()).collect()).collect();
    let flat = abi.storage_bases.is_some();
    let mut launch = Launch {
        stage: module.stage,
        gprs: abi.registers,
        local_bytes: abi.local_bytes,
        shared_bytes: abi.shared_bytes,
        constants: constants(abi, env)?,
        global: if flat { vec![buffers.concat()] } else { buffers.clone() },
        textures: module
            .textures
            .values()
            .zip(&env.textures)
            .map(|(d, t)| Some(Unit { data: t, dim: d.dim, arrayed: d.arrayed, shadow: d.shadow, kind: d.kind }))
            .collect(),
        vertex_data: Vec::new(),
        vertex_stride: 4,
        outputs: abi.outputs.len(),
        locked: Default::default(),
        fuel: FUEL,
        order: course.order,
        turning: course.turning(),
        first: 0,
    };
    launch.global.resize(16, Vec::new());
    let invocations = match module.stage {
        Stage::Vertex => {
            let lanes: Vec<LaneInput> = env.invocations.iter().map(|i| vertex(abi, module, i)).collect::<Result<_, _>>()?;
            let results = run(program, &mut launch, &lanes)?;
            results.iter().map(|r| InvocationResult { outputs: outputs(abi, module, &r.outputs), ..Default::default() }).collect()
        }
        Stage::Fragment => {
            let mut lanes: Vec<LaneInput> = env.invocations.iter().map(|i| fragment(abi, module, i)).collect::<Result<_, _>>()?;
            // A last incomplete quad is filled with copies of the last fragment.
            while !lanes.len().is_multiple_of(4) {
                let Some(last) = lanes.last().cloned() else { break };
                lanes.push(last);
            }
            let results = run(program, &mut launch, &lanes)?;
            results.iter().take(env.invocations.len()).map(|r| fragment_result(abi, module, r)).collect()
        }
        Stage::Geometry => geometry(program, &mut launch, abi, module, env)?,
        Stage::Compute => {
            compute(program, &mut launch, abi, module, env)?;
            Vec::new()
        }
    };
    let words = |b: &[u8]| b.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    let mut rest = launch.global[0].as_slice();
    let storage = match flat {
        false => launch.global.iter().take(buffers.len()).map(|b| words(b)).collect(),
        true => buffers.iter().map(|b| rest.split_off(..b.len()).map_or(Vec::new(), words)).collect(),
    };
    Ok(ShaderResult { invocations, storage })
}

fn missing(what: &str) -> SimError {
    SimError::BadEnv(format!("the environment lacks {what}"))
}

/// The c[] spaces with all uniforms in place.
fn constants(abi: &Abi, env: &ShaderEnv) -> Result<Vec<Vec<u8>>, SimError> {
    let mut spaces = vec![Vec::new(); 16];
    for (n, u) in abi.uniforms.iter().enumerate() {
        let words = env.uniforms.get(n).ok_or_else(|| missing(&format!("uniform `{}`", u.name)))?;
        for (e, at) in u.elements.iter().enumerate() {
            for l in 0..u.lanes {
                let Some(w) = words.get(e * u.lanes as usize + l as usize) else { continue };
                let at = (u.offset + at + 4 * l) as usize;
                let space: &mut Vec<u8> = &mut spaces[u.space as usize & 15];
                if space.len() < at + 4 {
                    space.resize(at + 4, 0);
                }
                space[at..at + 4].copy_from_slice(&w.to_le_bytes());
            }
        }
    }
    for (words, space) in env.storage.iter().zip(&abi.storage_spaces) {
        let Some(s) = space else { continue };
        let mut bytes = vec![0; BUFFER_HEADER as usize];
        bytes[..4].copy_from_slice(&(words.len() as u32).to_le_bytes());
        bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        spaces[*s as usize & 15] = bytes;
    }
    if let Some(c) = &abi.constants {
        spaces[c.space as usize & 15] = c.words.iter().flat_map(|w| w.to_le_bytes()).collect();
    }
    Ok(spaces)
}

fn input(module: &Module, i: &InvocationInputs, w: &Word) -> Result<u32, SimError> {
    let decl = &module.inputs[retroshade_ir::Input::from_u32(w.decl)];
    let words = i.inputs.get(w.decl as usize).ok_or_else(|| missing(&format!("input `{}`", decl.name)))?;
    words
        .get((w.element * decl.ty.lanes as u32 + w.lane) as usize)
        .copied()
        .ok_or_else(|| missing(&format!("words of input `{}`", decl.name)))
}

fn vertex(abi: &Abi, module: &Module, i: &InvocationInputs) -> Result<LaneInput, SimError> {
    let attributes = abi.inputs.iter().map(|w| input(module, i, w)).collect::<Result<_, _>>()?;
    Ok(LaneInput { attributes, w: 1.0, ..LaneInput::default() })
}

fn fragment(abi: &Abi, module: &Module, i: &InvocationInputs) -> Result<LaneInput, SimError> {
    let mut lane = LaneInput { facing: u32::MAX, ..LaneInput::default() };
    let mut position = [0, 0, 0, 1f32.to_bits()];
    for (n, decl) in &module.inputs {
        match decl.binding {
            Binding::Builtin(Builtin::Position) => {
                for (l, p) in position.iter_mut().enumerate().take(decl.ty.lanes as usize) {
                    *p = input(module, i, &Word { decl: n.as_u32(), element: 0, lane: l as u32 })?;
                }
            }
            Binding::Builtin(Builtin::FrontFacing) => {
                let on = input(module, i, &Word { decl: n.as_u32(), element: 0, lane: 0 })?;
                lane.facing = 0u32.wrapping_sub(on & 1);
            }
            _ => {}
        }
    }
    // v[w] holds 1/w, which is what the fragment coordinate's last component is.
    lane.w = f32::from_bits(arith::rcp(position[3]));
    lane.varyings = (0..4).filter(|l| abi.position_mask >> l & 1 == 1).map(|l| position[l]).collect();
    debug_assert_eq!(lane.varyings.len() as u32, position_words(abi.position_mask));
    for w in &abi.inputs {
        lane.varyings.push(input(module, i, w)?);
    }
    Ok(lane)
}

/// o[] words by declaration.
fn outputs(abi: &Abi, module: &Module, words: &[u32]) -> Vec<Vec<u32>> {
    let mut out: Vec<Vec<u32>> = module.outputs.values().map(|o| vec![0; (o.count.max(1) * o.ty.lanes as u32) as usize]).collect();
    for (w, v) in abi.outputs.iter().zip(words) {
        place(module, &mut out, w, *v);
    }
    out
}
fn place(module: &Module, out: &mut [Vec<u32>], w: &Word, v: u32) {
    let lanes = module.outputs[retroshade_ir::Output::from_u32(w.decl)].ty.lanes as u32;
    if let Some(slot) = out.get_mut(w.decl as usize).and_then(|o| o.get_mut((w.element * lanes + w.lane) as usize)) {
        *slot = v;
    }
}

fn fragment_result(abi: &Abi, module: &Module, r: &LaneResult) -> InvocationResult {
    let mut out: Vec<Vec<u32>> = module.outputs.values().map(|o| vec![0; (o.count.max(1) * o.ty.lanes as u32) as usize]).collect();
    if !r.discarded {
        for (reg, w) in &abi.results {
            let v = if *reg < abi.registers { r.registers.get(*reg as usize).copied().unwrap_or(0) } else { 0 };
            place(module, &mut out, w, v);
        }
    }
    InvocationResult { outputs: out, discarded: r.discarded, primitives: Vec::new() }
}

/// Each invocation alone: p[] holds its primitive's vertices, attribute by attribute.
fn geometry(
    program: &Program,
    launch: &mut Launch,
    abi: &Abi,
    module: &Module,
    env: &ShaderEnv,
) -> Result<Vec<InvocationResult>, SimError> {
    let mut results = Vec::new();
    let vertices = module.geometry.map_or(1, |g| g.input.vertices());
    for (i, n) in env.invocations.iter().zip(0..) {
        launch.first = n;
        launch.vertex_stride = 4 * vertices;
        launch.vertex_data = Vec::new();
        for w in &abi.inputs {
            for v in 0..vertices {
                launch.vertex_data.push(input(module, i, &Word { element: v, ..*w }).unwrap_or(0));
            }
        }
        // a[4i] is the address of vertex i; the primitive's number stands behind the six possible vertices.
        let mut attributes: Vec<u32> = (0..6).map(|v| 4 * v).collect();
        let number = module.inputs.iter().find(|(_, d)| d.binding == Binding::Builtin(Builtin::PrimitiveIndex));
        attributes.push(match number {
            Some((n, _)) => input(module, i, &Word { decl: n.as_u32(), element: 0, lane: 0 })?,
            None => 0,
        });
        let lanes = [LaneInput { attributes, w: 1.0, ..LaneInput::default() }];
        let r = run(program, launch, &lanes)?;
        let mut left = abi.max_vertices as usize;
        let primitives = r[0]
            .strips
            .iter()
            .map(|s| {
                let n = s.len().min(left);
                left -= n;
                s[..n].iter().map(|v| outputs(abi, module, v)).collect::<Vec<_>>()
            })
            .filter(|s| !s.is_empty())
            .collect();
        results.push(InvocationResult { outputs: Vec::new(), discarded: false, primitives });
    }
    Ok(results)
}

fn compute(program: &Program, launch: &mut Launch, abi: &Abi, module: &Module, env: &ShaderEnv) -> Result<(), SimError> {
    let size = module.workgroup_size.map(|n| n.max(1));
    let groups = env.workgroups;
    for z in 0..groups[2] {
        for y in 0..groups[1] {
            for x in 0..groups[0] {
                let mut shared = vec![0u8; abi.shared_bytes.max(GRID_Z + 4) as usize];
                let mut half = |at: u32, v: u32| shared[at as usize..at as usize + 2].copy_from_slice(&(v as u16).to_le_bytes());
                for (at, v) in [(2, size[0]), (4, size[1]), (6, size[2]), (8, groups[0]), (10, groups[1]), (12, x), (14, y)] {
                    half(at, v);
                }
                half(GRID_Z, groups[2]);
                half(GRID_Z + 2, z);
                for (n, s) in env.storage.iter().enumerate() {
                    let at = STORAGE_LENGTHS as usize + 4 * n;
                    if at + 4 <= shared.len() {
                        shared[at..at + 4].copy_from_slice(&(s.len() as u32).to_le_bytes());
                    }
                }
                if let Some(at) = abi.storage_bases {
                    let mut base = 0u32;
                    for (n, s) in env.storage.iter().enumerate() {
                        let at = at as usize + 4 * n;
                        shared[at..at + 4].copy_from_slice(&base.to_le_bytes());
                        base += 4 * s.len() as u32;
                    }
                }
                let thread = |[x, y, z]: [u32; 3]| LaneInput { registers: vec![x | y << 16 | z << 26], w: 1.0, ..LaneInput::default() };
                let threads: Vec<LaneInput> = env.threads_of(size).into_iter().map(thread).collect();
                run_block(program, launch, &threads, shared)?;
            }
        }
    }
    Ok(())
}
