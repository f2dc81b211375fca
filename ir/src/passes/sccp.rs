//! Sparse conditional constant propagation: constants through block parameters, and branches that are thereby decided.

use crate::analysis::cfg::{Csr, users};
use crate::analysis::domtree::inst_blocks;
use crate::entities::{Block, Inst, Value};
use crate::function::{Function, ValueDef};
use crate::inst::{BlockCall, Imm, InstData};
use crate::numerics::Numerics;
use crate::opcode::Opcode;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Lattice {
    /// Nothing known yet.
    #[default]
    Top,
    Const([u32; 4]),
    Varies,
}

struct Sccp<'a> {
    func: &'a Function,
    numerics: &'a dyn Numerics,
    values: SecondaryMap<Value, Lattice>,
    /// Numbers of the instructions that read each value.
    users: Csr,
    block_of: SecondaryMap<Inst, Option<Block>>,
    reached: EntitySet<Block>,
    edges: FxHashSet<(Block, u32)>,
    flow: Vec<(Block, u32)>,
    work: Vec<Inst>,
}

/// Runs the pass.
pub fn run(func: &mut Function, numerics: &dyn Numerics) -> bool {
    // Without branches there is nothing that folding does not see.
    if func.layout.len() == 1 {
        return false;
    }
    func.resolve_aliases();
    let (values, reached) = {
        let mut s = Sccp {
            func,
            numerics,
            values: unknown(func),
            users: users(func),
            block_of: inst_blocks(func),
            reached: EntitySet::new(),
            edges: FxHashSet::default(),
            flow: Vec::new(),
            work: Vec::new(),
        };
        s.solve();
        (s.values, s.reached)
    };
    let mut changed = false;
    for b in func.layout.clone() {
        if !reached.contains(b) {
            continue;
        }
        // Parameters that are constant: a constant at the start of the block instead.
        let mut made: Vec<Inst> = Vec::new();
        for p in func.blocks[b].params.clone() {
            if let (Lattice::Const(bits), true) = (values[p], func.entry() != Some(b)) {
                let ty = func.ty(p);
                let c = func.make_inst(InstData::new(Opcode::Const, &[], Imm::Const(bits)), &[ty], crate::diag::Span::NONE);
                made.push(c);
                if let Some(r) = func.result(c) {
                    func.replace(p, r);
                }
                changed = true;
            }
        }
        for i in func.blocks[b].insts.clone() {
            let d = &func.insts[i];
            if let [r] = d.results[..]
                && let Lattice::Const(bits) = values[r]
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
            && let Lattice::Const(bits) = values[cond]
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

/// Nothing known of any value yet.
fn unknown(func: &Function) -> SecondaryMap<Value, Lattice> {
    let mut all = SecondaryMap::new();
    all.resize(func.values.len());
    all
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
    fn solve(&mut self) {
        let func = self.func;
        let Some(entry) = func.entry() else { return };
        for p in &func.blocks[entry].params {
            self.values[*p] = Lattice::Varies;
        }
        self.enter(entry);
        loop {
            if let Some(i) = self.work.pop() {
                if let Some(b) = self.block_of[i].filter(|b| self.reached.contains(*b)) {
                    self.visit(b, i);
                }
            } else if let Some((b, n)) = self.flow.pop() {
                let target = func.successors(b)[n as usize].block;
                self.arguments(b, n);
                if !self.reached.contains(target) {
                    self.enter(target);
                }
            } else {
                break;
            }
        }
    }
    fn enter(&mut self, b: Block) {
        self.reached.insert(b);
        self.work.extend(self.func.blocks[b].insts.iter().rev());
    }
    fn arguments(&mut self, b: Block, n: u32) {
        let call = &self.func.successors(b)[n as usize];
        for (p, a) in self.func.blocks[call.block].params.iter().zip(&call.args) {
            let v = self.values[*a];
            self.meet(*p, v);
        }
    }
    fn meet(&mut self, v: Value, new: Lattice) {
        let merged = match (self.values[v], new) {
            (Lattice::Top, x) | (x, Lattice::Top) => x,
            (Lattice::Const(a), Lattice::Const(b)) if a == b => Lattice::Const(a),
            _ => Lattice::Varies,
        };
        if merged != self.values[v] {
            self.values[v] = merged;
            self.work.extend(self.users.of(v.as_u32()).iter().map(|i| Inst::from_u32(*i)));
        }
    }
    fn visit(&mut self, b: Block, i: Inst) {
        let func = self.func;
        let d = &func.insts[i];
        if d.op.is_terminator() {
            let open = match (d.op, d.args.first().map(|v| self.values[*v])) {
                (Opcode::BrIf | Opcode::Switch, Some(Lattice::Top)) => 0..0,
                (Opcode::BrIf | Opcode::Switch, Some(Lattice::Const(bits))) => {
                    let n = decided(d, bits[0]) as u32;
                    n..n + 1
                }
                _ => 0..d.targets.len() as u32,
            };
            for n in open {
                if self.edges.insert((b, n)) {
                    self.flow.push((b, n));
                } else {
                    self.arguments(b, n);
                }
            }
            // Edges opened before stay open.
            for n in 0..d.targets.len() as u32 {
                if self.edges.contains(&(b, n)) {
                    self.arguments(b, n);
                }
            }
            return;
        }
        let [r] = d.results[..] else {
            for r in &d.results {
                self.meet(*r, Lattice::Varies);
            }
            return;
        };
        let value = self.evaluate(d, r);
        self.meet(r, value);
    }
    fn evaluate(&self, d: &InstData, r: Value) -> Lattice {
        if d.op == Opcode::Const {
            return match d.imm {
                Imm::Const(bits) => Lattice::Const(bits),
                _ => Lattice::Varies,
            };
        }
        if !super::rewrite::is_speculatable(d) || matches!(d.op, Opcode::Undef | Opcode::Ext) || d.args.is_empty() {
            return Lattice::Varies;
        }
        if d.op == Opcode::Select
            && let Lattice::Const(c) = self.values[d.args[0]]
            && self.func.ty(d.args[0]).lanes == 1
        {
            return self.values[d.args[if c[0] & 1 == 1 { 1 } else { 2 }]];
        }
        let mut args: SmallVec<[[u32; 4]; 4]> = SmallVec::new();
        let mut top = false;
        for v in &d.args {
            match self.values[*v] {
                Lattice::Const(bits) => args.push(bits),
                Lattice::Top => top = true,
                Lattice::Varies => return Lattice::Varies,
            }
        }
        if top {
            return Lattice::Top;
        }
        let types: SmallVec<[_; 4]> = d.args.iter().map(|v| self.func.ty(*v)).collect();
        crate::interp::eval(self.numerics, d.op, &d.imm, self.func.ty(r), &types, &args).map_or(Lattice::Varies, Lattice::Const)
    }
}

/// Whether a value is a block parameter.
pub fn is_param(func: &Function, v: Value) -> bool {
    matches!(func.def(v), ValueDef::Param(..))
}
