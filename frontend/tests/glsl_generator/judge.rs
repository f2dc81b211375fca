//! How a program's results are compared with its evaluator's, and its SPIR-V by other people's tools.

use super::eval::{Inputs, Outcome};
use super::{Program, Stage};
use retroshade_ir::module::Binding;
use retroshade_ir::{InvocationInputs, IoDecl, Module, ShaderEnv, ShaderResult, UniformDecl};
use std::process::Command;

/// What a module reads, by its declarations.
pub fn environment(m: &Module, p: &Program, inputs: &Inputs) -> ShaderEnv {
    let words = |binding: u32| -> &[u32] { p.blocks.iter().position(|b| b.binding == binding).map_or(&[], |n| &inputs.blocks[n]) };
    let uniform = |d: &UniformDecl| {
        let block = words(d.binding);
        let word = |n: u32, lane: u32| block.get(((d.offset + d.element_offset(n)) / 4 + lane) as usize).copied().unwrap_or(0);
        (0..d.elements()).flat_map(|n| (0..u32::from(d.ty.lanes)).map(move |l| (n, l))).map(|(n, l)| word(n, l)).collect()
    };
    let input = |values: &Vec<Vec<u32>>| {
        let one = |d: &IoDecl| match d.binding {
            Binding::Location(l) => values[l as usize].clone(),
            Binding::Builtin(_) => vec![0; d.count.max(1) as usize * d.ty.lanes as usize],
        };
        InvocationInputs { inputs: m.inputs.values().map(one).collect() }
    };
    ShaderEnv {
        invocations: if p.stage == Stage::Compute { Vec::new() } else { inputs.invocations.iter().map(input).collect() },
        uniforms: m.uniforms.values().map(uniform).collect(),
        textures: Vec::new(),
        storage: m.storage.values().map(|d| words(d.binding).to_vec()).collect(),
        workgroups: [inputs.groups as u32, 1, 1],
        threads: Vec::new(),
    }
}

/// Equal, but for the sign of zero.
fn equal(a: u32, b: u32) -> bool {
    a == b || (a | b) == 1 << 31
}

/// Compares what came out with what should; the number of invocations compared.
pub fn compare(m: &Module, p: &Program, want: &Outcome, got: &ShaderResult, coarse: bool) -> Result<usize, String> {
    let fair = |n: usize| want.exact[n] && (!coarse || want.coarse[n]);
    if p.stage == Stage::Compute {
        // Invocations share what they have: one that is not exact spoils the others.
        if !(0..want.exact.len()).all(fair) {
            return Ok(0);
        }
        for (d, words) in m.storage.values().zip(&got.storage) {
            let n = p.blocks.iter().position(|b| b.binding == d.binding).ok_or("a buffer that nobody declared")?;
            for (k, (g, w)) in words.iter().zip(&want.blocks[n]).enumerate() {
                if !equal(*g, *w) {
                    return Err(format!("word {k} of `{}` is {g:#x}, not {w:#x}", d.name));
                }
            }
        }
        return Ok(want.exact.len());
    }
    let mut compared = 0;
    for (n, r) in got.invocations.iter().enumerate().filter(|r| fair(r.0)) {
        let Some(outputs) = &want.outputs[n] else {
            if !r.discarded {
                return Err(format!("invocation {n} is not discarded"));
            }
            continue;
        };
        if r.discarded {
            return Err(format!("invocation {n} is discarded"));
        }
        for (d, words) in m.outputs.values().zip(&r.outputs) {
            let Binding::Location(l) = d.binding else { continue };
            if !words.iter().zip(&outputs[l as usize]).all(|(g, w)| equal(*g, *w)) {
                return Err(format!("`{}` of invocation {n} is {words:x?}, not {:x?}", d.name, outputs[l as usize]));
            }
        }
        compared += 1;
    }
    Ok(compared)
}

/// Whether a program can be started.
pub fn installed(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success())
}

/// glslang's SPIR-V of a program, and what `spirv-opt` makes of it.
pub fn through_spirv(seed: u64, p: &Program, text: &str, optimiser: bool) -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let dir = std::env::temp_dir().join(format!("random_glsl.{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let path = |ending: &str| dir.join(format!("{seed}.{ending}"));
    let source = path(["vert", "frag", "comp"][p.stage as usize]);
    std::fs::write(&source, text).map_err(|e| e.to_string())?;
    let run = |c: &mut Command| match c.output() {
        Ok(o) if o.status.success() => Ok(()),
        Ok(o) => Err(format!("{c:?}: {}", String::from_utf8_lossy(&o.stdout))),
        Err(e) => Err(e.to_string()),
    };
    run(Command::new("glslangValidator").arg("-V").arg("-o").arg(path("spv")).arg(&source))?;
    let mut out = vec![("SPIR-V", std::fs::read(path("spv")).map_err(|e| e.to_string())?)];
    if optimiser {
        // It refuses a few modules that glslang has made wrongly (OpSelect on arrays, arrays of truth values).
        if run(Command::new("spirv-opt").arg("-O").arg(path("spv")).arg("-o").arg(path("opt.spv"))).is_ok() {
            out.push(("optimised SPIR-V", std::fs::read(path("opt.spv")).map_err(|e| e.to_string())?));
        }
    }
    ["spv", "opt.spv"].iter().for_each(|e| drop(std::fs::remove_file(path(e))));
    drop(std::fs::remove_file(source));
    Ok(out)
}

/// Why a program is not compared, with its text.
pub enum Verdict {
    Refused(String),
    Wrong(String),
}

/// Numbers of programs.
#[derive(Default)]
pub struct Tally {
    pub accepted: u64,
    pub refused: u64,
    pub wrong: u64,
    /// Invocations compared: on the interpreter, or by machine.
    pub compared: [usize; 4],
}

/// Judges these programs on all processors; prints what is refused or wrong, the first ones in full.
pub fn judge_all(
    what: &str,
    seeds: std::ops::Range<u64>,
    one: impl Fn(u64) -> Result<[usize; 4], Verdict> + Sync + std::panic::RefUnwindSafe,
) -> Tally {
    let count = seeds.end - seeds.start;
    let next = std::sync::atomic::AtomicU64::new(seeds.start);
    let results = std::sync::Mutex::new(Vec::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            // A panic counts as a wrong program, with its seed.
            let r = std::panic::catch_unwind(|| one(seed)).unwrap_or_else(|_| Err(Verdict::Wrong("a panic".into())));
            results.lock().unwrap().push((seed, r));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|s| (0..cores).for_each(|_| drop(std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(s, work))));
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|r| r.0);
    let mut sum = Tally::default();
    for (seed, r) in results {
        let (word, text) = match r {
            Ok(n) => {
                sum.accepted += 1;
                (0..4).for_each(|k| sum.compared[k] += n[k]);
                continue;
            }
            Err(Verdict::Refused(t)) => {
                sum.refused += 1;
                ("refused", t)
            }
            Err(Verdict::Wrong(t)) => {
                sum.wrong += 1;
                ("wrong", t)
            }
        };
        let lines = if sum.wrong + sum.refused < 4 { 400 } else { 3 };
        let text: Vec<&str> = text.lines().take(lines).collect();
        println!("seed {seed} {word}: {}", text.join("\n"));
    }
    println!(
        "{what}: {count} programs, {} accepted, {} refused, {} wrong; invocations compared: {:?}",
        sum.accepted, sum.refused, sum.wrong, sum.compared
    );
    assert!(sum.wrong == 0, "{} programs are wrong", sum.wrong);
    assert!(sum.accepted * 100 >= count * 95, "{} of {count} accepted", sum.accepted);
    sum
}
