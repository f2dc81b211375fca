//! Sparse conditional constant propagation: constants through block parameters, and branches that are thereby decided.

use crate::analysis::Cfg;
use crate::entities::{Inst, Value};
use crate::function::{Function, ValueDef};
use crate::inst::{BlockCall, Imm, InstData};
use crate::numerics::Numerics;
use crate::opcode::Opcode;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Lattice {
    /// Nothing known yet.
    #[default]
    Top,
    /// One of the constants that were found.
    Const(u32),
    Varies,
}

struct Sccp<'a> {
    func: &'a Function,
    numerics: &'a dyn Numerics,
    values: Vec<Lattice>,
    constants: Vec<[u32; 4]>,
    /// By the blocks' order.
    reached: Vec<bool>,
    /// Whether something was constant that did not say so.
    found: bool,
}

/// Runs the pass.
pub fn run(func: &mut Function, numerics: &dyn Numerics) -> bool {
    // Without branches there is nothing that folding does not see.
    if func.layout.len() == 1 {
        return false;
    }
    func.resolve_aliases();
    let cfg = Cfg::new(func);
    let mut s = Sccp {
        func,
        numerics,
        values: vec![Lattice::Top; func.values.len()],
        constants: Vec::new(),
        reached: vec![false; cfg.rpo().len()],
        found: false,
    };
    s.solve(&cfg);
    if !s.found {
        return false;
    }
    let Sccp { values, constants, reached, .. } = s;
    let known = |v: Value| match values[v.index()] {
        Lattice::Const(n) => Some(constants[n as usize]),
        _ => None,
    };
    let mut changed = false;
    for b in func.layout.clone() {
        if !cfg.rpo_index(b).is_some_and(|n| reached[n]) {
            continue;
        }
        // Parameters that are constant: a constant at the start of the block instead.
        let mut made: Vec<Inst> = Vec::new();
        for p in func.blocks[b].params.clone() {
            if let (Some(bits), true) = (known(p), func.entry() != Some(b)) {
                let ty = func.ty(p);
                let c = func.make_inst(InstData::new(Opcode::Const, &[], Imm::Const(bits)), &[ty], crate::diag::Span::NONE);
                made.push(c);
                if let Some(r) = func.result(c) {
                    func.replace(p, r);
                }
                changed = true;
            }
        }
        for n in 0..func.blocks[b].insts.len() {
            let i = func.blocks[b].insts[n];
            let d = &func.insts[i];
            if let [r] = d.results[..]
                && let Some(bits) = known(r)
                && d.op != Opcode::Const
                && d.op.is_removable()
            {
                super::rewrite::make_const(func, i, bits);
                changed = true;
            }
        }
        if !made.is_empty() {
            made.append(&mut func.blocks[b].insts);
            func.blocks[b].insts = made;
        }
        if let Some(t) = func.terminator(b)
            && let [cond] = func.insts[t].args[..]
            && matches!(func.insts[t].op, Opcode::BrIf | Opcode::Switch)
            && let Some(bits) = known(cond)
        {
            let taken = decided(&func.insts[t], bits[0]);
            jump_to(func, t, taken);
            changed = true;
        }
    }
    if changed {
        // The replaced parameters are dead now; the arguments go with them.
        func.resolve_aliases();
        super::dce::run(func);
    }
    changed
}

/// The target that a constant condition selects.
pub fn decided(d: &InstData, value: u32) -> usize {
    match &d.imm {
        Imm::Cases(cases) => cases.iter().position(|c| *c == value).unwrap_or(d.targets.len().saturating_sub(1)),
        _ => usize::from(value & 1 == 0),
    }
}

/// Turns a branch into a jump to one of its targets.
pub fn jump_to(func: &mut Function, term: Inst, target: usize) {
    let d = &mut func.insts[term];
    let call: BlockCall = d.targets[target].clone();
    d.op = Opcode::Jump;
    d.args.clear();
    d.imm = Imm::None;
    d.targets = vec![call];
}

impl Sccp<'_> {
    /// Goes through the blocks in their order, and again from the first one on which a later one told something new.
    fn solve(&mut self, cfg: &Cfg) {
        let func = self.func;
        let Some(entry) = func.entry() else { return };
        for p in &func.blocks[entry].params {
            self.values[p.index()] = Lattice::Varies;
        }
        self.reached[0] = true;
        let mut from = Some(0);
        while let Some(first) = from.take() {
            for n in first..cfg.rpo().len() {
                if self.reached[n]
                    && let Some(back) = self.block(cfg, n)
                {
                    from = Some(from.map_or(back, |first| back.min(first)));
                }
            }
        }
    }
    /// Visits a block; gives the first block up to this one that it tells something new.
    fn block(&mut self, cfg: &Cfg, n: usize) -> Option<usize> {
        let func = self.func;
        let mut back: Option<usize> = None;
        for i in &func.blocks[cfg.rpo()[n]].insts {
            let d = &func.insts[*i];
            match d.results[..] {
                // What varies goes on to vary.
                [r] if self.values[r.index()] == Lattice::Varies => {}
                [r] => {
                    let value = self.evaluate(d, r);
                    self.found |= matches!(value, Lattice::Const(_)) && d.op != Opcode::Const;
                    self.meet(r, value);
                }
                _ => d.results.iter().for_each(|r| self.values[r.index()] = Lattice::Varies),
            }
            for k in self.open(d) {
                let call = &d.targets[k];
                let Some(to) = cfg.rpo_index(call.block) else { continue };
                let mut new = !std::mem::replace(&mut self.reached[to], true);
                for (p, a) in func.blocks[call.block].params.iter().zip(&call.args) {
                    new |= self.meet(*p, self.values[a.index()]);
                    self.found |= matches!(self.values[p.index()], Lattice::Const(_));
                }
                if new && to <= n {
                    back = Some(back.map_or(to, |b| b.min(to)));
                }
            }
        }
        back
    }
    /// The targets that a terminator may go to, as far as is known.
    fn open(&mut self, d: &InstData) -> std::ops::Range<usize> {
        match (d.op, d.args.first().map(|v| self.values[v.index()])) {
            (Opcode::BrIf | Opcode::Switch, Some(Lattice::Top)) => 0..0,
            (Opcode::BrIf | Opcode::Switch, Some(Lattice::Const(c))) => {
                self.found = true;
                let n = decided(d, self.constants[c as usize][0]);
                n..n + 1
            }
            _ => 0..d.targets.len(),
        }
    }
    fn constant(&mut self, bits: [u32; 4]) -> Lattice {
        self.constants.push(bits);
        Lattice::Const(self.constants.len() as u32 - 1)
    }
    /// Lets a value be no more than this; whether that is new.
    fn meet(&mut self, v: Value, new: Lattice) -> bool {
        let old = self.values[v.index()];
        let merged = match (old, new) {
            (Lattice::Top, x) | (x, Lattice::Top) => x,
            (Lattice::Const(a), Lattice::Const(b)) if self.constants[a as usize] == self.constants[b as usize] => old,
            _ => Lattice::Varies,
        };
        self.values[v.index()] = merged;
        merged != old
    }
    fn evaluate(&mut self, d: &InstData, r: Value) -> Lattice {
        if d.op == Opcode::Const {
            return match d.imm {
                Imm::Const(bits) => self.constant(bits),
                _ => Lattice::Varies,
            };
        }
        if !super::rewrite::is_speculatable(d) || matches!(d.op, Opcode::Undef | Opcode::Ext) || d.args.is_empty() {
            return Lattice::Varies;
        }
        if d.op == Opcode::Select
            && let Lattice::Const(c) = self.values[d.args[0].index()]
            && self.func.ty(d.args[0]).lanes == 1
        {
            let side = if self.constants[c as usize][0] & 1 == 1 { 1 } else { 2 };
            return self.values[d.args[side].index()];
        }
        let mut top = false;
        for v in &d.args {
            match self.values[v.index()] {
                Lattice::Const(_) => {}
                Lattice::Top => top = true,
                Lattice::Varies => return Lattice::Varies,
            }
        }
        if top {
            return Lattice::Top;
        }
        let bits = |v: &Value| match self.values[v.index()] {
            Lattice::Const(c) => self.constants[c as usize],
            _ => [0; 4],
        };
        let args: SmallVec<[[u32; 4]; 4]> = d.args.iter().map(bits).collect();
        let types: SmallVec<[_; 4]> = d.args.iter().map(|v| self.func.ty(*v)).collect();
        match crate::interp::eval(self.numerics, d.op, &d.imm, self.func.ty(r), &types, &args) {
            Some(bits) => self.constant(bits),
            None => Lattice::Varies,
        }
    }
}

/// Whether a value is a block parameter.
pub fn is_param(func: &Function, v: Value) -> bool {
    matches!(func.def(v), ValueDef::Param(..))
}
