//! Invocations of each stage: what they read, in which order they run, how quads and workgroups wait for each other.

use super::lane::{Cx, Lane, Memory, Place, Stop, needs_quad, texture};
use super::open::{Who, open};
use super::{InterpError, Limits, Observers};
use crate::analysis::{Cfg, DomTree, Loops};
use crate::env::{InvocationResult, ShaderEnv, ShaderResult};
use crate::function::ValueDef;
use crate::inst::Imm;
use crate::module::{Binding, Builtin, Module, Stage};
use crate::numerics::Numerics;
use crate::opcode::Opcode;
use crate::texture::{self, TexArgs};
use cranelift_entity::{EntityRef, SecondaryMap};
use std::borrow::Cow;

pub(super) fn run(
    module: &Module,
    env: &ShaderEnv,
    num: &dyn Numerics,
    limits: &Limits,
    observers: Observers,
) -> Result<ShaderResult, InterpError> {
    check(module, env)?;
    let module = without_aliases(module);
    let mut order: SecondaryMap<_, SecondaryMap<_, u32>> = SecondaryMap::new();
    for (id, f) in module.functions.iter() {
        for (n, b) in f.layout.iter().enumerate() {
            order[id][*b] = n as u32;
        }
    }
    let mut loops = SecondaryMap::new();
    let quads = needs_quads(&module);
    if quads {
        for (id, f) in module.functions.iter() {
            let cfg = Cfg::new(f);
            loops[id] = Loops::new(&cfg, &DomTree::new(f, &cfg));
        }
    }
    let cx = Cx { module: &module, env, num, limits, order, loops };
    let mut mem = Memory { storage: env.storage.clone(), observers, ..Memory::default() };
    let invocations = match module.stage {
        Stage::Vertex | Stage::Geometry => singles(&cx, &mut mem),
        Stage::Fragment => fragments(&cx, &mut mem, quads),
        Stage::Compute => workgroups(&cx, &mut mem).map(|()| Vec::new()),
    };
    if let Some(watch) = mem.observers.watch {
        watch.steps += mem.spent;
    }
    Ok(ShaderResult { invocations: invocations?, storage: mem.storage })
}

/// The module itself, or a copy without aliases if it has any.
fn without_aliases(module: &Module) -> Cow<'_, Module> {
    let aliased = |f: &crate::function::Function| f.values.values().any(|(_, d)| matches!(d, ValueDef::Alias(_)));
    if !module.functions.values().any(aliased) {
        return Cow::Borrowed(module);
    }
    let mut copy = module.clone();
    copy.functions.values_mut().for_each(crate::function::Function::resolve_aliases);
    Cow::Owned(copy)
}

/// Checks that the environment has what the module declares.
fn check(module: &Module, env: &ShaderEnv) -> Result<(), InterpError> {
    let bad = |what: &str, name: &str, got: usize, want: u64| {
        Err(InterpError::BadEnv(format!("{what} `{name}` has {got} words, the program declares {want}")))
    };
    for (id, u) in &module.uniforms {
        let want = u.dims.iter().map(|d| d.count as u64).product::<u64>() * u.ty.lanes as u64;
        match env.uniform(module, id) {
            None => return Err(InterpError::BadEnv(format!("uniform `{}` is missing", u.name))),
            Some(w) if w.len() as u64 != want => return bad("uniform", &u.name, w.len(), want),
            _ => {}
        }
    }
    for (n, t) in module.textures.values().enumerate() {
        if env.textures.len() <= n {
            return Err(InterpError::BadEnv(format!("texture `{}` is missing", t.name)));
        }
        if env.textures[n].dim != t.dim {
            return Err(InterpError::BadEnv(format!(
                "texture `{}` is {}, the program declares {}",
                t.name,
                env.textures[n].dim.name(),
                t.dim.name()
            )));
        }
    }
    for (n, s) in module.storage.values().enumerate() {
        if env.storage.len() <= n {
            return Err(InterpError::BadEnv(format!("storage buffer `{}` is missing", s.name)));
        }
    }
    if module.stage != Stage::Compute {
        for inv in &env.invocations {
            for (n, i) in module.inputs.values().enumerate() {
                let want = i.count.max(1) as u64 * i.ty.lanes as u64;
                match inv.inputs.get(n) {
                    None => return Err(InterpError::BadEnv(format!("input `{}` is missing", i.name))),
                    Some(w) if w.len() as u64 != want => return bad("input", &i.name, w.len(), want),
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

fn result(cx: &Cx, lane: Lane) -> InvocationResult {
    let mut outputs = lane.outputs;
    if lane.discarded {
        outputs.iter_mut().flatten().for_each(|w| *w = 0);
    }
    if cx.module.stage == Stage::Geometry {
        outputs.clear();
    }
    InvocationResult { outputs, discarded: lane.discarded, primitives: lane.strips }
}

/// Vertex and geometry programs. A geometry program runs as often for a primitive as it declares; what it emits follows in order.
fn singles(cx: &Cx, mem: &mut Memory) -> Result<Vec<InvocationResult>, InterpError> {
    let instances = cx.module.geometry.map_or(1, |g| g.invocations.max(1));
    let number = cx.module.inputs.values().position(|d| d.binding == Binding::Builtin(Builtin::InvocationId));
    let mut results = Vec::with_capacity(cx.env.invocations.len());
    for (n, inv) in (0..).zip(&cx.env.invocations) {
        let mut all: Option<InvocationResult> = None;
        for instance in 0..instances {
            let mut inputs = inv.inputs.clone();
            if let Some(k) = number {
                inputs[k] = vec![instance];
            }
            let mut lane = Lane::new(cx, inputs, false, Who { group: n, ..Who::default() })?;
            while lane.run(cx, mem)? != Stop::Done {}
            let r = result(cx, lane);
            match &mut all {
                None => all = Some(r),
                Some(a) => a.primitives.extend(r.primitives),
            }
        }
        results.extend(all);
    }
    Ok(results)
}

/// Whether invocations of a program need their neighbours.
pub fn needs_quads(module: &Module) -> bool {
    let needs = |f: &crate::function::Function| {
        f.ordered().any(|(_, i)| match (f.insts[i].op, &f.insts[i].imm) {
            (Opcode::Ddx | Opcode::Ddy, _) => true,
            (Opcode::Tex, Imm::Tex(info)) => needs_quad(info),
            _ => false,
        })
    };
    module.stage == Stage::Fragment && module.functions.values().any(needs)
}

/// Fragment programs: four at a time; a last incomplete quad is filled with helpers that repeat the last invocation, where anybody needs them.
fn fragments(cx: &Cx, mem: &mut Memory, quads: bool) -> Result<Vec<InvocationResult>, InterpError> {
    let mut results = Vec::with_capacity(cx.env.invocations.len());
    for (group, quad) in (0..).zip(cx.env.invocations.chunks(4)) {
        let mut lanes = Vec::with_capacity(4);
        for n in 0..if quads { 4 } else { quad.len() } {
            let Some(inv) = quad.get(n).or(quad.last()) else { continue };
            let who = Who { group, lane: n as u32, barriers: 0 };
            lanes.push(Lane::new(cx, inv.inputs.clone(), n >= quad.len(), who)?);
        }
        run_quad(cx, mem, &mut lanes)?;
        results.extend(lanes.into_iter().take(quad.len()).map(|l| result(cx, l)));
    }
    Ok(results)
}

fn run_quad(cx: &Cx, mem: &mut Memory, lanes: &mut [Lane]) -> Result<(), InterpError> {
    let mut runnable = vec![true; lanes.len()];
    let mut waiting: Vec<Option<Place>> = vec![None; lanes.len()];
    loop {
        for (n, lane) in lanes.iter_mut().enumerate() {
            while runnable[n] {
                match lane.run(cx, mem)? {
                    Stop::Barrier => continue,
                    Stop::Quad => waiting[n] = Some(lane.place(cx)),
                    Stop::Done => {}
                }
                runnable[n] = false;
            }
        }
        let Some(first) = waiting.iter().flatten().min().cloned() else { return Ok(()) };
        for (n, w) in waiting.iter_mut().enumerate() {
            if w.as_ref() == Some(&first) {
                *w = None;
                runnable[n] = true;
            }
        }
        if cx.limits.closed && runnable.contains(&false) {
            return open("a derivative is taken where only some invocations of a quad are");
        }
        together(cx, lanes, &runnable);
    }
}

/// Executes one instruction for those invocations of a quad that have met at it.
fn together(cx: &Cx, lanes: &mut [Lane], here: &[bool]) {
    let Some((f, d)) = here.iter().position(|h| *h).and_then(|n| lanes[n].current(cx)) else { return };
    // A neighbour that is elsewhere counts as having the reader's own value.
    let from = |reader: usize, n: usize| if here.get(n) == Some(&true) { n } else { reader };
    let readers = (0..lanes.len()).filter(|n| here[*n]);
    let results: Vec<(usize, [u32; 4])> = if let Imm::Tex(info) = &d.imm {
        debug_assert!(needs_quad(info));
        let args: Vec<TexArgs> = lanes.iter().map(|l| l.tex_args(cx, f, d, info)).collect();
        readers
            .map(|n| {
                let coords = [0, 1, 2, 3].map(|k| args[from(n, k)].coord);
                let lod = cx.env.textures.get(info.texture.index()).map_or(0.0, |t| texture::quad_lod(t, &coords));
                (n, texture(cx, f, d, info, &args[n], lod))
            })
            .collect()
    } else {
        let ty = d.args.first().map_or(crate::types::F32, |v| f.ty(*v));
        let values: Vec<[u32; 4]> = lanes.iter().map(|l| l.operand(d, 0)).collect();
        readers
            .map(|n| {
                let mut r = [0; 4];
                for (k, w) in r.iter_mut().enumerate().take(ty.lanes as usize) {
                    let quad = [0, 1, 2, 3].map(|m| values[from(n, m)][k]);
                    *w = texture::derivative(cx.num, ty.scalar, quad, n, d.op == Opcode::Ddy);
                }
                (n, r)
            })
            .collect()
    };
    for (n, r) in results {
        lanes[n].complete(cx, r);
    }
}

/// Compute programs.
fn workgroups(cx: &Cx, mem: &mut Memory) -> Result<(), InterpError> {
    let size = cx.module.workgroup_size.map(|n| n.max(1));
    let groups = cx.env.workgroups;
    let threads = size.iter().map(|n| *n as u64).product::<u64>();
    let all = groups.iter().map(|n| *n as u64).fold(threads, u64::saturating_mul);
    if all > cx.limits.invocations {
        return Err(InterpError::TooLarge { what: "the grid of invocations".to_string(), words: all, limit: cx.limits.invocations });
    }
    let words: u64 = cx.module.shared.values().map(|s| s.count as u64 * 4).sum();
    if words > cx.limits.memory {
        return Err(InterpError::TooLarge { what: "workgroup memory".to_string(), words, limit: cx.limits.memory });
    }
    for z in 0..groups[2] {
        for y in 0..groups[1] {
            for x in 0..groups[0] {
                workgroup(cx, mem, [x, y, z], size)?;
            }
        }
    }
    Ok(())
}

fn workgroup(cx: &Cx, mem: &mut Memory, id: [u32; 3], size: [u32; 3]) -> Result<(), InterpError> {
    mem.shared = cx.module.shared.values().map(|s| vec![[0; 4]; s.count as usize]).collect();
    let groups = cx.env.workgroups;
    let group = id[0].wrapping_add(groups[0].wrapping_mul(id[1].wrapping_add(groups[1].wrapping_mul(id[2]))));
    let mut lanes = Vec::new();
    for local in cx.env.threads_of(size) {
        let who = Who { group, lane: lanes.len() as u32, barriers: 0 };
        lanes.push(Lane::new(cx, compute_inputs(cx.module, groups, id, size, local), false, who)?);
    }
    let mut running = lanes;
    while !running.is_empty() {
        let mut waiting = Vec::with_capacity(running.len());
        for mut lane in running {
            if lane.run(cx, mem)? != Stop::Done {
                waiting.push(lane);
            }
        }
        running = waiting;
    }
    Ok(())
}

/// The builtins of one compute invocation, by declaration; shared with simulators.
pub fn compute_inputs(module: &Module, groups: [u32; 3], group: [u32; 3], size: [u32; 3], local: [u32; 3]) -> Vec<Vec<u32>> {
    let global = [0, 1, 2].map(|k| group[k].wrapping_mul(size[k]).wrapping_add(local[k]));
    let flat = local[0] + size[0] * (local[1] + size[1] * local[2]);
    module
        .inputs
        .values()
        .map(|i| {
            let words = match i.binding {
                Binding::Builtin(Builtin::GlobalInvocationId) => global.to_vec(),
                Binding::Builtin(Builtin::LocalInvocationId) => local.to_vec(),
                Binding::Builtin(Builtin::LocalInvocationIndex) => vec![flat],
                Binding::Builtin(Builtin::WorkgroupId) => group.to_vec(),
                Binding::Builtin(Builtin::NumWorkgroups) => groups.to_vec(),
                _ => vec![],
            };
            let want = i.count.max(1) as usize * i.ty.lanes as usize;
            words.into_iter().chain(std::iter::repeat(0)).take(want).collect()
        })
        .collect()
}
