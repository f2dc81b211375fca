//! Where a truth value comes from: the words of a program's inputs that it is computed from, and the constants that it meets on the way.

use cranelift_entity::SecondaryMap;
use retroshade_ir::*;
use std::collections::{HashSet, VecDeque};

/// Lanes of values that are looked at; words and constants beyond these are far from the choice.
const VALUES: usize = 2000;
const WORDS: usize = 24;
const CONSTANTS: usize = 12;

/// Something of an environment that can be set to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A word of an input, of each invocation its own.
    Input(Input, u32),
    /// A word of a uniform.
    Uniform(Uniform, u32),
    /// A texture: all texels.
    Texture(Texture),
    /// A word of a storage buffer.
    Storage(Storage, u32),
}

/// What a value is computed from, the nearest first.
#[derive(Debug, Default)]
pub struct Origins {
    /// Words of the environment.
    pub words: Vec<Word>,
    /// Constants, as numbers.
    pub constants: Vec<f64>,
    /// How many values were looked at.
    pub visited: u64,
}

/// A lane of a value of a function.
type At = (FuncId, Value, u8);

struct Walk<'a> {
    module: &'a Module,
    ways: &'a Ways,
    todo: VecDeque<At>,
    seen: HashSet<At>,
    found: Origins,
}

/// The ways into the blocks of a module, and what else hands values on.
pub struct Ways {
    /// Instructions and which of their targets it is.
    into: SecondaryMap<FuncId, SecondaryMap<Block, Vec<(Inst, usize)>>>,
    /// What functions are called by.
    calls: SecondaryMap<FuncId, Vec<(FuncId, Inst)>>,
    /// Conditions in the order of the code.
    conditions: SecondaryMap<FuncId, Vec<Value>>,
}

impl Ways {
    /// Those of a module.
    pub fn new(module: &Module) -> Ways {
        let mut ways = Ways { into: SecondaryMap::new(), calls: SecondaryMap::new(), conditions: SecondaryMap::new() };
        for (func, f) in module.functions.iter() {
            for (_, i) in f.ordered() {
                let d = &f.insts[i];
                for (n, t) in d.targets.iter().enumerate() {
                    ways.into[func][t.block].push((i, n));
                }
                match (d.op, &d.imm) {
                    (Opcode::BrIf | Opcode::Switch, _) => ways.conditions[func].extend(d.args.first()),
                    (Opcode::Call, Imm::Func(callee)) => ways.calls[*callee].push((func, i)),
                    _ => {}
                }
            }
        }
        ways
    }

    /// The origins of a lane of a value, and behind them those of whatever else decides on the ways through its function: how often a loop came
    /// round is computed from nothing, but somebody left it.
    pub fn origins(&self, module: &Module, func: FuncId, value: Value, lane: u8) -> Origins {
        let mut walk = Walk { module, ways: self, todo: VecDeque::new(), seen: HashSet::new(), found: Origins::default() };
        walk.push(func, value, lane);
        walk.follow();
        for v in &self.conditions[func] {
            walk.push(func, *v, 0);
        }
        walk.follow();
        Origins { visited: walk.seen.len() as u64, ..walk.found }
    }
}

impl Walk<'_> {
    fn follow(&mut self) {
        while let Some((func, v, lane)) = self.todo.pop_front() {
            let f = &self.module.functions[func];
            match f.def(v) {
                ValueDef::Result(i, _) => self.instruction(func, f, i, lane),
                ValueDef::Param(b, n) => self.parameter(func, f, b, usize::from(n), lane),
                ValueDef::Alias(_) => {}
            }
        }
    }

    fn push(&mut self, func: FuncId, v: Value, lane: u8) {
        let lanes = self.module.functions[func].ty(v).lanes;
        let at = (func, v, if lanes == 1 { 0 } else { lane });
        if self.seen.len() < VALUES && self.seen.insert(at) {
            self.todo.push_back(at);
        }
    }

    fn all_lanes(&mut self, func: FuncId, v: Value) {
        (0..self.module.functions[func].ty(v).lanes).for_each(|l| self.push(func, v, l));
    }

    fn word(&mut self, w: Word) {
        if self.found.words.len() < WORDS && !self.found.words.contains(&w) {
            self.found.words.push(w);
        }
    }

    fn parameter(&mut self, func: FuncId, f: &Function, b: Block, n: usize, lane: u8) {
        let ways = self.ways;
        for (i, t) in &ways.into[func][b] {
            f.insts[*i].targets[*t].args.get(n).into_iter().for_each(|v| self.push(func, *v, lane));
        }
        if f.entry() == Some(b) {
            for (caller, i) in &ways.calls[func] {
                let args = &self.module.functions[*caller].insts[*i].args;
                args.get(n).into_iter().for_each(|v| self.push(*caller, *v, lane));
            }
        }
    }

    fn instruction(&mut self, func: FuncId, f: &Function, i: Inst, lane: u8) {
        let d = &f.insts[i];
        match (d.op, &d.imm) {
            (Opcode::Const, Imm::Const(bits)) => {
                let ty = d.results.first().map_or(types::I32, |v| f.ty(*v));
                let x = number(ty.scalar, bits[usize::from(lane & 3)]);
                if x.is_finite() && self.found.constants.len() < CONSTANTS && !self.found.constants.contains(&x) {
                    self.found.constants.push(x);
                }
            }
            (Opcode::Input | Opcode::Uniform | Opcode::StorageLoad, Imm::Mem { var, offset }) => {
                if let Some(index) = d.args.first() {
                    self.push(func, *index, 0);
                }
                self.memory(*var, *offset, lane);
            }
            (Opcode::LocalLoad | Opcode::SharedLoad, Imm::Mem { var, .. }) => {
                for d in f.ordered().map(|(_, i)| &f.insts[i]) {
                    let stores = matches!(d.op, Opcode::LocalStore | Opcode::SharedStore);
                    if stores && matches!(&d.imm, Imm::Mem { var: v, .. } if v == var) {
                        d.args.first().into_iter().for_each(|v| self.push(func, *v, lane));
                    }
                }
            }
            (Opcode::Tex, Imm::Tex(info)) => {
                self.word(Word::Texture(info.texture));
                d.args.iter().for_each(|v| self.all_lanes(func, *v));
            }
            (Opcode::Extract, Imm::Lane(l)) => d.args.iter().for_each(|v| self.push(func, *v, *l)),
            (Opcode::Insert, Imm::Lane(l)) => {
                if let Some(v) = d.args.get(usize::from(*l == lane)) {
                    self.push(func, *v, if *l == lane { 0 } else { lane });
                }
            }
            (Opcode::Shuffle, Imm::Lanes(mask)) => {
                let (m, width) = (mask.get(usize::from(lane)).copied().unwrap_or(0), d.args.first().map_or(1, |v| f.ty(*v).lanes));
                if let Some(v) = d.args.get(usize::from(m >= width)) {
                    self.push(func, *v, if m >= width { m - width } else { m });
                }
            }
            (Opcode::Build, _) => d.args.get(usize::from(lane)).into_iter().for_each(|v| self.push(func, *v, 0)),
            (Opcode::Dot | Opcode::Any | Opcode::All | Opcode::Ext | Opcode::Call | Opcode::Bitcast, _) => {
                d.args.iter().for_each(|v| self.all_lanes(func, *v));
            }
            _ => d.args.iter().for_each(|v| self.push(func, *v, lane)),
        }
    }

    /// What a load from an element reads. An index that is computed is taken for its constant part.
    fn memory(&mut self, var: MemRef, offset: u32, lane: u8) {
        let (m, lane) = (self.module, u32::from(lane));
        match var {
            MemRef::Input(i) => {
                let d = &m.inputs[i];
                self.word(Word::Input(i, offset.min(d.count.max(1) - 1) * u32::from(d.ty.lanes) + lane));
            }
            // The texture tells its size.
            MemRef::Uniform(u) if m.uniforms[u].size_of.is_none() => {
                let d = &m.uniforms[u];
                let element = u32::try_from(d.element(offset)).unwrap_or(0);
                self.word(Word::Uniform(u, element * u32::from(d.ty.lanes) + lane));
            }
            MemRef::Storage(s) => self.word(Word::Storage(s, offset.wrapping_add(lane))),
            _ => {}
        }
    }
}

/// A word as a number.
pub fn number(ty: Scalar, bits: u32) -> f64 {
    if ty.is_float() { f64::from(numerics::to_f32(ty, bits)) } else { f64::from(bits as i32) }
}
