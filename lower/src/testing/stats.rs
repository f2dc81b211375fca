//! What random programs look like: the figures that their tests assert.

use retroshade_ir::*;
use std::collections::BTreeMap;

/// Figures over a set of programs.
#[derive(Clone, Debug, Default)]
pub struct ProgramStats {
    /// Programs seen.
    pub programs: u64,
    /// Occurrences of each operation.
    pub ops: BTreeMap<Opcode, u64>,
    /// Instructions of each program.
    pub sizes: Vec<usize>,
    /// Programs with a branch or loop on a condition that differs between lanes.
    pub divergent: u64,
    /// Programs whose results differ between lanes.
    pub varying: u64,
    /// Programs in which no approximated operation occurs.
    pub exact: u64,
    /// Output words, and how many of them are NaN.
    pub words: u64,
    /// NaN among them.
    pub nans: u64,
}

impl ProgramStats {
    /// Counts a program and its result.
    pub fn add(&mut self, module: &Module, result: &ShaderResult) {
        self.programs += 1;
        let mut size = 0;
        for f in module.functions.values() {
            for (_, i) in f.ordered() {
                *self.ops.entry(f.insts[i].op).or_default() += 1;
                size += 1;
            }
        }
        self.sizes.push(size);
        self.divergent += u64::from(diverges(module));
        self.exact += u64::from(super::is_exact(module));
        let lanes: Vec<Vec<u32>> = if module.stage == Stage::Compute {
            let threads = module.workgroup_size.iter().product::<u32>() as usize;
            let own = |w: &Vec<u32>| w.chunks(w.len().max(1) / (2 * threads).max(1)).map(<[u32]>::to_vec).collect::<Vec<_>>();
            result.storage.iter().take(2).map(own).fold(Vec::new(), |mut all, part| {
                all.resize(part.len(), Vec::new());
                all.iter_mut().zip(part).for_each(|(a, p)| a.extend(p));
                all
            })
        } else {
            let flat = |i: &InvocationResult| {
                let vertices = i.primitives.iter().flatten().flatten().flatten();
                i.outputs.iter().flatten().chain(vertices).copied().collect()
            };
            result.invocations.iter().map(flat).collect()
        };
        self.words += lanes.iter().map(|l| l.len() as u64).sum::<u64>();
        self.nans += lanes.iter().flatten().filter(|w| f32::from_bits(**w).is_nan()).count() as u64;
        self.varying += u64::from(lanes.iter().any(|l| l != &lanes[0]));
    }
    /// The median number of instructions.
    pub fn median_size(&self) -> usize {
        let mut s = self.sizes.clone();
        s.sort_unstable();
        s.get(s.len() / 2).copied().unwrap_or(0)
    }
}

/// Whether some branch of the entry depends on a value that may differ between lanes.
fn diverges(module: &Module) -> bool {
    module.functions.iter().any(|(_, f)| {
        let uniform = analysis::Uniformity::new(module, f);
        f.ordered().any(|(_, i)| {
            let d = &f.insts[i];
            matches!(d.op, Opcode::BrIf | Opcode::Switch) && d.args.first().is_some_and(|c| uniform.is_divergent(*c))
        })
    })
}
