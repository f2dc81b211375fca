//! A search for inputs on which a program decides what it did not decide before.
//!
//! ```text
//!   sets that ran ─▶ the nearest to an outcome that is missing ─▶ words that its condition is computed from
//!                          ▲                                            │ other numbers: constants that it is compared
//!                          └── nearer? goes on from there ◀─ interpreter ◀┘ with, by as much as is missing, by a secant
//! ```
//! Only the interpreter runs. An input of its own for each invocation gets as many numbers at once as there are invocations. What is looked
//! for first stands first in the code, so that what is nested is looked for once its surroundings are reached.

use super::inputs::Inputs;
use super::origins::{Ways, Word};
use retroshade_ir::interp::{Limits, Nearest, Outcome, Watch, run_watched};
use retroshade_ir::{Cancel, Module, Numerics, Opcode, ShaderEnv};

/// What a search works on.
pub struct Search<'a> {
    /// The legalised module.
    pub module: &'a Module,
    /// What its inputs may be.
    pub inputs: &'a Inputs<'a>,
    /// The machine's arithmetic.
    pub num: &'a dyn Numerics,
    /// Bounds of a run.
    pub limits: Limits,
    /// Steps of the interpreter that all runs together may take.
    pub work: u64,
    /// What was reached.
    pub seen: Watch,
    /// The ways into its blocks.
    pub ways: Ways,
    /// Sets that ran, and what each came near to.
    pub tried: Vec<(ShaderEnv, Watch)>,
    /// Whether invocations do without each other.
    pub alone: bool,
    /// Whether nobody waits any more.
    pub cancel: &'a Cancel,
}

impl Search<'_> {
    /// Sets of inputs, each of which reached something that those before did not.
    pub fn run(mut self) -> Vec<ShaderEnv> {
        let known = self.tried.len();
        let mut looked_for = vec![false; self.seen.outcomes().len()];
        let mut found = known;
        while self.work > 0 && !self.cancel.is_set() {
            let missing = |(_, near): (Outcome, Nearest)| near.distance > 0.0 && near.distance.is_finite();
            let open: Vec<(usize, Outcome)> =
                self.seen.outcomes().enumerate().filter(|(n, o)| !looked_for[*n] && missing(*o)).map(|(n, o)| (n, o.0)).collect();
            match open.first() {
                Some((n, outcome)) => {
                    looked_for[*n] = true;
                    self.approach(*n, *outcome, self.work.div_ceil(open.len() as u64));
                }
                // What was found since may be nearer to what was missed.
                None if self.tried.len() > found => {
                    found = self.tried.len();
                    looked_for.fill(false);
                }
                None => break,
            }
        }
        self.tried.split_off(known).into_iter().map(|(env, _)| env).collect()
    }

    /// Approaches outcome number `n` with a share of the work.
    fn approach(&mut self, n: usize, outcome: Outcome, share: u64) {
        let left = self.work.saturating_sub(share);
        let nearest = self.tried.iter().map(|(e, w)| (e, w.nearest(n))).min_by(|a, b| a.1.distance.total_cmp(&b.1.distance));
        let Some((all, mut near)) = nearest.map(|(e, near)| (e.clone(), near)) else { return };
        let d = &self.module.functions[outcome.func].insts[outcome.inst];
        let Some(condition) = d.args.first() else { return };
        let lane = if d.op == Opcode::Select { outcome.which as u8 / 2 } else { 0 };
        let origins = self.ways.origins(self.module, outcome.func, *condition, lane);
        self.work = self.work.saturating_sub(origins.visited);
        let words: Vec<Word> = origins.words.iter().copied().filter(|w| self.inputs.can_set(*w)).collect();
        // One invocation is enough where none needs others.
        let chosen = near.invocation as usize;
        let mut env = all.clone();
        if self.alone && chosen < all.invocations.len() {
            env.invocations = vec![all.invocations[chosen].clone()];
            near.invocation = 0;
        }
        words.iter().for_each(|w| self.inputs.spread(&mut env, *w, near.invocation));
        loop {
            let before = near.distance;
            for word in &words {
                let mut moves = first_moves(self.inputs.get(&env, *word, near.invocation), near.distance, &origins.constants);
                while !moves.is_empty() {
                    let now: Vec<f64> = moves.drain(..self.inputs.places(&env, *word).min(moves.len())).collect();
                    let mut trial = env.clone();
                    (0..).zip(&now).for_each(|(k, x)| self.inputs.set(&mut trial, *word, k, *x));
                    if trial == env {
                        continue;
                    }
                    if self.work <= left {
                        return;
                    }
                    match self.try_out(&trial, &all, chosen, n) {
                        Some(found) if found.distance == 0.0 => return,
                        Some(found) if found.distance < near.distance => {
                            let old = self.inputs.get(&env, *word, near.invocation);
                            let new = self.inputs.get(&trial, *word, found.invocation);
                            moves = further_moves((old, near.distance), (new, found.distance));
                            (env, near) = (trial, found);
                            self.inputs.spread(&mut env, *word, near.invocation);
                        }
                        _ => {}
                    }
                }
            }
            if near.distance >= before {
                return;
            }
        }
    }

    /// Runs on a set, which may have one invocation of `all` alone; keeps it where it reaches something, and says how near it came to outcome
    /// `n`.
    fn try_out(&mut self, env: &ShaderEnv, all: &ShaderEnv, chosen: usize, n: usize) -> Option<Nearest> {
        let mut watch = self.seen.next();
        let limits = Limits { total: self.limits.total.min(self.work), ..self.limits };
        let result = run_watched(self.module, env, self.num, &limits, &mut watch);
        // What is copied counts, too.
        let words: usize = env.uniforms.iter().chain(&env.storage).map(Vec::len).sum();
        let copied = words + self.module.main().inst_count() + 2 * watch.outcomes().len();
        self.work = self.work.saturating_sub(watch.steps + copied as u64 / 4);
        result.ok()?;
        let near = watch.nearest(n);
        if watch.reached() > self.seen.reached() {
            self.seen.absorb(&watch);
            let mut env = env.clone();
            if env.invocations.len() < all.invocations.len() {
                self.inputs.put_back(&mut env, all, chosen);
                watch.renumber(chosen as u32);
            }
            self.tried.push((env, watch));
        }
        Some(near)
    }
}

/// Numbers to try for a word that is `x`, where `missing` is missing: as if it were compared itself, then what is compared, then others.
fn first_moves(x: f64, missing: f64, constants: &[f64]) -> Vec<f64> {
    let beyond = missing * 1.001 + 1e-6;
    let mut moves = vec![x + missing, x - missing, x + beyond, x - beyond];
    moves.extend(constants);
    moves.extend([0.0, 1.0, -x, 16.0 * x, x / 16.0]);
    moves.extend([1.0, 32.0, 1024.0].into_iter().flat_map(|step| [x + step, x - step]));
    moves
}

/// Numbers to try for a word after a step from one number and distance to another: where nothing is missing if both lie on a line, a little
/// beyond, and further steps in that direction.
fn further_moves((x0, d0): (f64, f64), (x1, d1): (f64, f64)) -> Vec<f64> {
    let step = x1 - x0;
    let there = x1 + step * d1 / (d0 - d1);
    vec![there, there + step.signum() * (there.abs() / 1000.0).max(1e-3), x1 + 2.0 * step, x1 + 8.0 * step]
}

#[cfg(test)]
mod tests {
    use super::*;
    use retroshade_ir::{Reference, parse};

    /// How many outcomes the chosen sets miss, and how many are still missing behind a search.
    fn missing(text: &str) -> (usize, usize) {
        let m = parse("search.ir", text).unwrap();
        let inputs = Inputs::new(&m);
        let mut seen = Watch::new(&m);
        let mut tried = Vec::new();
        let mut run = |env: ShaderEnv, seen: &mut Watch| {
            let mut watch = seen.next();
            run_watched(&m, &env, &Reference, &Limits::default(), &mut watch).unwrap();
            seen.absorb(&watch);
            tried.push((env, watch));
        };
        (0..6).for_each(|n| run(inputs.environment(n), &mut seen));
        let all = seen.outcomes().len();
        let before = all - seen.reached();
        let found = Search {
            module: &m,
            inputs: &inputs,
            num: &Reference,
            limits: Limits::default(),
            work: 20_000,
            seen: seen.clone(),
            ways: Ways::new(&m),
            tried: tried.clone(),
            alone: true,
            cancel: &Cancel::default(),
        };
        for env in found.run() {
            let mut watch = Watch::new(&m);
            run_watched(&m, &env, &Reference, &Limits::default(), &mut watch).unwrap();
            seen.absorb(&watch);
        }
        (before, all - seen.reached())
    }

    #[test]
    fn what_is_far_or_nested_is_found() {
        let program = |declarations: &str, body: &str| {
            format!(
                "shader vertex \"far\"\ninput %a : f32x2 @location(0)\noutput %o : f32 @location(0)\n{declarations}\nblock0:\n    v0 = input.f32x2 %a\n    v1 = extract v0, 1\n{body}"
            )
        };
        // A line that the first move cannot know, and a condition behind it on another word.
        let nested = "    v2 = fconst.f32 0.001\n    v3 = fmul v1, v2\n    v4 = fconst.f32 50.0\n    v5 = fcmp ogt v3, v4\n    br_if v5, block1, block3\n\
                      block1:\n    v6 = uniform.i32 %n\n    v7 = iconst.i32 70000\n    v8 = icmp eq v6, v7\n    br_if v8, block2, block3\n\
                      block2:\n    output %o, v1\n    return\nblock3:\n    output %o, v4\n    return\n";
        assert_eq!(missing(&program("uniform %n : i32 @binding(0)", nested)), (3, 0));
        // A loop that only ends of itself where nobody leaves it.
        let round = "    v2 = fconst.f32 0.0\n    v3 = fconst.f32 9.0\n    v4 = fconst.f32 1.0\n    v9 = fconst.f32 1000.0\n    jump block1(v2)\n\
                     block1(v5: f32):\n    v10 = fmul v5, v9\n    v6 = fcmp ogt v1, v10\n    br_if v6, block2, block3\nblock2:\n    v7 = fadd v5, v4\n    v8 = fcmp olt v7, v3\n    \
                     br_if v8, block1(v7), block3\nblock3:\n    output %o, v5\n    return\n";
        assert_eq!(missing(&program("", round)), (1, 0));
        // What is asked for comes by the second target of a branch that asks for something else.
        let handed = "    v2 = extract v0, 0\n    v3 = fconst.f32 1.0\n    v4 = fcmp olt v2, v3\n    br_if v4, block1, block2(v1)\nblock1:\n    jump block2(v3)\n\
                      block2(v5: f32):\n    v6 = fconst.f32 70000.0\n    v7 = fcmp ogt v5, v6\n    br_if v7, block3, block4\nblock3:\n    output %o, v1\n    return\n\
                      block4:\n    output %o, v2\n    return\n";
        assert_eq!(missing(&program("", handed)), (1, 0));
        // Both operands of a choice, and a case.
        let chosen = "    v2 = uniform.f32 %x\n    v3 = fconst.f32 1000000.0\n    v4 = fcmp oge v2, v3\n    v5 = select v4, v1, v2\n    \
                      v6 = uniform.i32 %n\n    switch v6, [5000: block1], block2\nblock1:\n    output %o, v5\n    return\nblock2:\n    \
                      output %o, v2\n    return\n";
        assert_eq!(missing(&program("uniform %x : f32 @binding(0)\nuniform %n : i32 @binding(0) @offset(4)", chosen)), (2, 0));
    }
}
