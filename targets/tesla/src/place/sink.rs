//! Values move to the blocks that need them, so that nothing is kept over a branch, a loop or a merge that could be made behind it.
//!
//! An instruction without effects goes to the nearest block that dominates its readers, unless that lies in a loop around which it
//! stood, and where at least as many registers come free on the way as its operands keep. Lookups of textures take part where the
//! same lanes run in both blocks: one lies on every way to the other and the other on every way on, in the same loop.

use crate::place::flow;
use crate::place::sched::{Effect, counts, effect};
use crate::select::combine::{Fields, fields};
use crate::select::mir::{Dst, Extra, MInst};
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::{Cfg, DomTree, Loops, PostDomTree};
use retroshade_ir::{Block, Function};
use retroshade_lower::{VCode, VReg};
use std::collections::BTreeSet;

/// Operands that one reader has are made with it, so many steps back.
const STEPS: usize = 4;

/// Where the blocks of the code stand to each other.
pub(crate) struct Shape {
    dom: DomTree,
    post: PostDomTree,
    loops: Loops,
    /// The blocks in the order in which they run.
    order: Vec<Block>,
    numbers: SecondaryMap<Block, u32>,
}

impl Shape {
    /// Of the function from which the code was selected; `numbers` are its blocks in the code.
    pub(crate) fn new(func: &Function, numbers: &SecondaryMap<Block, u32>) -> Shape {
        let cfg = Cfg::new(func);
        let dom = DomTree::new(func, &cfg);
        let loops = Loops::new(&cfg, &dom);
        Shape { post: PostDomTree::new(func, &cfg), order: cfg.rpo().to_vec(), numbers: numbers.clone(), dom, loops }
    }
    fn number(&self, b: Block) -> usize {
        self.numbers[b] as usize
    }
    /// The last block on the way from `b` to its dominated block `to` that lies in no loop around which `b` stands.
    fn before_loops(&self, b: Block, to: Block) -> Option<Block> {
        let mut to = to;
        while self.loops.of(to).is_some_and(|l| !self.loops.contains(l, b)) {
            to = self.dom.idom(to)?;
        }
        Some(to)
    }
    /// Whether the same lanes run in a block and in one that it dominates, equally often.
    fn runs_alike(&self, b: Block, to: Block) -> bool {
        self.post.post_dominates(to, b) && self.loops.of(b) == self.loops.of(to)
    }
}

/// What is known of the code while its instructions move.
struct Sink<'a> {
    shape: &'a Shape,
    live: Vec<BTreeSet<VReg>>,
    /// How often each register is read, and what its only writer reads where that may move.
    reads: Vec<u32>,
    sources: Vec<Option<Vec<VReg>>>,
    /// The nearest block that dominates all readers so far.
    home: Vec<Option<Block>>,
}

/// Moves what can be made later; says whether anything moved.
pub(crate) fn run(vc: &mut VCode<MInst>, shape: &Shape) -> bool {
    let mut s = Sink::new(vc, shape);
    let mut arrivals = vec![Vec::new(); vc.blocks.len()];
    let mut changed = false;
    for b in shape.order.iter().rev() {
        let n = shape.number(*b);
        vc.blocks[n].targets.iter().flat_map(|t| &t.args).for_each(|v| s.note(*v, *b));
        let insts = std::mem::take(&mut vc.blocks[n].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for (mut i, span) in insts.into_iter().rev() {
            let f = fields(&mut i);
            let to = s.destination(&i, &f, *b);
            f.reads.iter().for_each(|v| s.note(*v, to.unwrap_or(*b)));
            match to {
                Some(to) => arrivals[shape.number(to)].push((i, span)),
                None => kept.push((i, span)),
            }
            changed |= to.is_some();
        }
        kept.reverse();
        vc.blocks[n].insts = kept;
    }
    for (block, new) in vc.blocks.iter_mut().zip(arrivals) {
        // Readers arrived first.
        block.insts.splice(0..0, new.into_iter().rev());
    }
    changed
}

impl<'a> Sink<'a> {
    fn new(vc: &mut VCode<MInst>, shape: &'a Shape) -> Sink<'a> {
        let values = vc.classes.len();
        let mut s = Sink { shape, live: flow::live_in(vc), reads: vec![0; values], sources: vec![None; values], home: vec![None; values] };
        for block in &mut vc.blocks {
            for (i, _) in &mut block.insts {
                let f = fields(i);
                f.reads.iter().for_each(|r| s.reads[r.vreg()] += 1);
                if let ([w], true) = (&f.writes[..], is_movable(i, &f)) {
                    s.sources[w.vreg()] = Some(f.reads.to_vec());
                }
            }
            block.targets.iter().flat_map(|t| &t.args).for_each(|v| s.reads[v.vreg()] += 1);
        }
        s
    }
    /// A register is read in a block.
    fn note(&mut self, v: VReg, b: Block) {
        let home = &mut self.home[v.vreg()];
        *home = home.map_or(Some(b), |h| self.shape.dom.common(h, b));
    }
    /// The block to which an instruction goes from its own.
    fn destination(&mut self, i: &MInst, f: &Fields, b: Block) -> Option<Block> {
        let texture = matches!(&i.extra, Extra::Tex(t) if t.apart.is_none() && !t.pinned);
        if !texture && !is_movable(i, f) {
            return None;
        }
        let homes = f.writes.iter().filter_map(|w| self.home[w.vreg()]);
        let to = homes.map(Some).reduce(|a, b| self.shape.dom.common(a?, b?))??;
        let to = self.shape.before_loops(b, to)?;
        if to == b || texture && !self.shape.runs_alike(b, to) {
            return None;
        }
        let mut kept = BTreeSet::new();
        f.reads.iter().for_each(|v| self.keeps(*v, to, STEPS, &mut kept));
        let freed = f.writes.iter().filter(|w| self.home[w.vreg()].is_some()).count();
        if kept.len() > freed {
            return None;
        }
        self.live[self.shape.number(to)].append(&mut kept);
        Some(to)
    }
    /// The registers that have to live until a block so that a register's value can be there.
    fn keeps(&self, v: VReg, to: Block, steps: usize, kept: &mut BTreeSet<VReg>) {
        if self.live[self.shape.number(to)].contains(&v) {
            return;
        }
        match &self.sources[v.vreg()] {
            Some(sources) if steps > 0 && self.reads[v.vreg()] == 1 => {
                sources.iter().for_each(|s| self.keeps(*s, to, steps - 1, kept));
            }
            _ => {
                kept.insert(v);
            }
        }
    }
}

/// Whether an instruction gives the same wherever its operands are there.
pub(super) fn is_movable(i: &MInst, f: &Fields) -> bool {
    let plain = matches!(i.dst, Dst::Reg(_)) && matches!(i.extra, Extra::None | Extra::Mem { .. });
    plain && effect(i) == Effect::None && !i.reads_shared() && f.reads.iter().chain(&f.writes).all(|v| counts(*v))
}
