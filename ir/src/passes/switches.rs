//! Switches: those that only pick values become selects, and all of them become chains of comparisons where a machine wants that.

use super::rewrite::{cost, is_speculatable};
use crate::analysis::Cfg;
use crate::builder::Builder;
use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::inst::{BlockCall, Imm, InstData, IntCC};
use crate::opcode::Opcode;
use crate::types::I32;
use smallvec::SmallVec;

/// Switches all of whose cases lead to one block, at most through a block of their own that may run anywhere, become selects, if
/// the comparisons, the selects and what stands in the cases cost at most `limit`.
pub fn pick_values(func: &mut Function, limit: u32) -> bool {
    func.resolve_aliases();
    let mut changed = false;
    for b in func.layout.clone() {
        let Some(t) = func.terminator(b).filter(|t| func.insts[*t].op == Opcode::Switch) else { continue };
        let cfg = Cfg::new(func);
        if cfg.is_reachable(b)
            && let Some(arms) = arms(func, &cfg, b, t).filter(|a| price(func, a) <= limit)
        {
            convert(func, b, t, &arms);
            changed = true;
        }
    }
    if changed {
        super::dce::drop_unreachable(func);
    }
    changed
}

/// One way out of a switch.
struct Arm {
    /// The cases; none for the default.
    cases: SmallVec<[u32; 4]>,
    insts: Vec<Inst>,
    to: BlockCall,
}

/// The ways of a switch, the default last, if all lead to one block.
fn arms(func: &Function, cfg: &Cfg, b: Block, t: Inst) -> Option<Vec<Arm>> {
    let d = &func.insts[t];
    let Imm::Cases(cases) = &d.imm else { return None };
    let own = |c: &BlockCall| cfg.preds(c.block).iter().all(|e| e.from == b) && func.blocks[c.block].params.is_empty();
    let mut arms: Vec<(BlockCall, Arm)> = Vec::new();
    for (n, call) in d.targets.iter().enumerate() {
        let case = cases.get(n).copied();
        if let (Some(case), Some((_, arm))) = (case, arms.iter_mut().find(|(c, _)| c == call)) {
            arm.cases.push(case);
            continue;
        }
        let (last, body) = func.blocks[call.block].insts.split_last()?;
        let jump = &func.insts[*last];
        let through = own(call) && jump.op == Opcode::Jump && body.iter().all(|i| is_speculatable(&func.insts[*i]));
        let (insts, to) = if through { (body.to_vec(), jump.targets[0].clone()) } else { (Vec::new(), call.clone()) };
        arms.push((call.clone(), Arm { cases: case.into_iter().collect(), insts, to }));
    }
    // Cases that go where the default goes are the default.
    let default = arms.last()?.0.clone();
    arms.retain(|(c, a)| *c != default || a.cases.is_empty());
    let join = arms.first()?.1.to.block;
    (join != b && arms.iter().all(|(_, a)| a.to.block == join)).then(|| arms.into_iter().map(|(_, a)| a).collect())
}

/// What the selects would cost.
fn price(func: &Function, arms: &[Arm]) -> u32 {
    let work: u32 = arms.iter().flat_map(|a| &a.insts).map(|i| cost(func, *i)).sum();
    let tests: usize = arms.iter().map(|a| a.cases.len()).sum();
    let lanes: u32 = arms[0].to.args.iter().map(|v| u32::from(func.ty(*v).lanes)).sum();
    work + tests as u32 + lanes * (arms.len() as u32 - 1)
}

fn convert(func: &mut Function, b: Block, t: Inst, arms: &[Arm]) {
    let value = func.insts[t].args[0];
    let span = func.spans[t];
    func.blocks[b].insts.pop();
    for arm in arms {
        func.blocks[b].insts.extend(&arm.insts);
    }
    let Some((default, cases)) = arms.split_last() else { return };
    let mut args = default.to.args.clone();
    let mut bl = Builder::new(func, b);
    bl.span = span;
    for arm in cases {
        let mut cond: Option<Value> = None;
        for case in &arm.cases {
            let k = bl.iconst(I32, *case);
            let c = bl.icmp(IntCC::Eq, value, k);
            cond = Some(cond.map_or(c, |o| bl.ins(Opcode::Ior, &[o, c])));
        }
        let Some(cond) = cond else { continue };
        for (a, v) in args.iter_mut().zip(&arm.to.args) {
            if *a != *v {
                *a = bl.select(cond, *v, *a);
            }
        }
    }
    bl.jump(default.to.block, &args);
}

/// Turns every switch into a chain of comparisons: for machines without a jump table, and before if-conversion.
pub fn lower(func: &mut Function) -> bool {
    let mut changed = false;
    let old = std::mem::take(&mut func.layout);
    let mut layout = Vec::with_capacity(old.len());
    for b in old {
        layout.push(b);
        let Some(t) = func.terminator(b).filter(|t| func.insts[*t].op == Opcode::Switch) else { continue };
        let d = func.insts[t].clone();
        let Imm::Cases(cases) = &d.imm else { continue };
        let span = func.spans[t];
        func.blocks[b].insts.pop();
        let mut at = b;
        let (value, default) = (d.args[0], d.targets.last().cloned());
        let Some(default) = default else { continue };
        for (n, case) in cases.iter().enumerate() {
            let mut bl = crate::builder::Builder::new(func, at);
            bl.span = span;
            let k = bl.iconst(I32, *case);
            let c = bl.icmp(IntCC::Eq, value, k);
            let last = n + 1 == cases.len();
            let other = if last {
                default.clone()
            } else {
                let block = bl.func.blocks.push(Default::default());
                layout.push(block);
                BlockCall { block, args: Default::default() }
            };
            at = other.block;
            let mut br = InstData::new(Opcode::BrIf, &[c], Imm::None);
            br.targets = [d.targets[n].clone(), other].into_iter().collect();
            bl.push(br, &[]);
        }
        if cases.is_empty() {
            let mut jump = InstData::new(Opcode::Jump, &[], Imm::None);
            jump.targets.push(default);
            crate::builder::Builder::new(func, b).push(jump, &[]);
        }
        changed = true;
    }
    func.layout = layout;
    changed
}
