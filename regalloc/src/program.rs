//! The program as the allocator sees it: blocks, operands, clobbers. Implements `regalloc2::Function`.

use regalloc2::{Block, Function, Inst, InstRange, Operand, OperandConstraint, OperandKind, OperandPos, PRegSet, RegClass, VReg};

/// A block of a [`Program`].
#[derive(Clone, Debug, Default)]
pub struct BlockInfo {
    /// First instruction.
    pub start: u32,
    /// One past the last instruction.
    pub end: u32,
    /// Successors.
    pub succs: Vec<Block>,
    /// Predecessors.
    pub preds: Vec<Block>,
    /// Parameters.
    pub params: Vec<VReg>,
    /// Arguments of the terminator, per successor.
    pub args: Vec<Vec<VReg>>,
    /// Loops around the block.
    pub loop_depth: u32,
}

/// An operand taken apart, which [`Operand`] does with each question; and more is asked of operands than of anything else.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The number of the value, or of none where the register is not handed out.
    vreg: usize,
    class: RegClass,
    constraint: OperandConstraint,
    kind: OperandKind,
    pos: OperandPos,
}

impl Part {
    fn new(o: &Operand) -> Part {
        Part { vreg: o.vreg().vreg(), class: o.class(), constraint: o.constraint(), kind: o.kind(), pos: o.pos() }
    }
    /// Whether the allocator follows this operand at all: a register that is not handed out has no value's number.
    pub fn is_tracked(&self) -> bool {
        self.vreg != VReg::MAX
    }
    /// Whether a value is read.
    pub fn is_use(&self) -> bool {
        self.is_tracked() && self.kind == OperandKind::Use
    }
    /// Whether a value is written.
    pub fn is_def(&self) -> bool {
        self.is_tracked() && self.kind == OperandKind::Def
    }
    /// The number of its value.
    pub fn vreg(&self) -> usize {
        self.vreg
    }
    /// The class of its value.
    pub fn class(&self) -> RegClass {
        self.class
    }
    /// Where it must be.
    pub fn constraint(&self) -> OperandConstraint {
        self.constraint
    }
    /// Whether it is read or written.
    pub fn kind(&self) -> OperandKind {
        self.kind
    }
    /// When.
    pub fn pos(&self) -> OperandPos {
        self.pos
    }
}

/// What the allocator is given. Block 0 is the entry.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Blocks.
    pub blocks: Vec<BlockInfo>,
    operands: Vec<Operand>,
    parts: Vec<Part>,
    ranges: Vec<(u32, u32)>,
    /// By instruction, up to the last that destroys registers.
    clobbers: Vec<PRegSet>,
    terminators: Vec<Terminator>,
    classes: Vec<RegClass>,
    slot_units: [u8; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terminator {
    No,
    Branch,
    Return,
}

/// Builds a [`Program`] block by block.
#[derive(Debug, Default)]
pub struct ProgramBuilder {
    p: Program,
}

impl ProgramBuilder {
    /// Starts a program whose virtual registers have these classes; `slot_units` per class (`Int`, `Float`, `Vector`).
    pub fn new(classes: Vec<RegClass>, slot_units: [u8; 3]) -> ProgramBuilder {
        ProgramBuilder { p: Program { classes, slot_units, ..Program::default() } }
    }
    /// Makes room for so many instructions.
    pub fn reserve(&mut self, insts: usize) {
        /// Operands of an instruction, mostly.
        const EACH: usize = 3;
        self.p.operands.reserve(EACH * insts);
        self.p.parts.reserve(EACH * insts);
        self.p.ranges.reserve(insts);
        self.p.terminators.reserve(insts);
    }
    /// Starts the next block.
    pub fn block(&mut self, params: Vec<VReg>, loop_depth: u32) {
        let at = self.p.ranges.len() as u32;
        self.p.blocks.push(BlockInfo { start: at, end: at, params, loop_depth, ..BlockInfo::default() });
    }
    /// Appends an instruction to the current block.
    pub fn inst(&mut self, operands: &[Operand], clobbers: PRegSet) {
        self.push(operands, clobbers, Terminator::No);
    }
    /// Ends the current block with a branch (or, without successors, a return).
    pub fn terminate(&mut self, operands: &[Operand], clobbers: PRegSet, targets: Vec<(u32, Vec<VReg>)>) {
        self.push(operands, clobbers, if targets.is_empty() { Terminator::Return } else { Terminator::Branch });
        if let Some(b) = self.p.blocks.last_mut() {
            for (to, args) in targets {
                b.succs.push(Block::new(to as usize));
                b.args.push(args);
            }
        }
    }
    fn push(&mut self, operands: &[Operand], clobbers: PRegSet, t: Terminator) {
        let from = self.p.operands.len() as u32;
        self.p.operands.extend_from_slice(operands);
        self.p.parts.extend(operands.iter().map(Part::new));
        if clobbers != PRegSet::default() {
            self.p.clobbers.resize(self.p.ranges.len(), PRegSet::default());
            self.p.clobbers.push(clobbers);
        }
        self.p.ranges.push((from, self.p.operands.len() as u32));
        self.p.terminators.push(t);
        if let Some(b) = self.p.blocks.last_mut() {
            b.end += 1;
        }
    }
    /// The finished program, predecessors filled in.
    pub fn finish(mut self) -> Program {
        for b in 0..self.p.blocks.len() {
            for s in self.p.blocks[b].succs.clone() {
                self.p.blocks[s.index()].preds.push(Block::new(b));
            }
        }
        self.p
    }
}

impl Program {
    /// Class of a virtual register.
    pub fn class(&self, v: VReg) -> RegClass {
        self.classes[v.vreg()]
    }
    /// The operands of an instruction.
    pub fn parts(&self, inst: usize) -> &[Part] {
        let (a, b) = self.ranges[inst];
        &self.parts[a as usize..b as usize]
    }
    /// All classes, by virtual register.
    pub fn classes(&self) -> &[RegClass] {
        &self.classes
    }
}

impl Function for Program {
    fn num_insts(&self) -> usize {
        self.ranges.len()
    }
    fn num_blocks(&self) -> usize {
        self.blocks.len()
    }
    fn entry_block(&self) -> Block {
        Block::new(0)
    }
    fn block_insns(&self, block: Block) -> InstRange {
        let b = &self.blocks[block.index()];
        InstRange::new(Inst::new(b.start as usize), Inst::new(b.end as usize))
    }
    fn block_succs(&self, block: Block) -> &[Block] {
        &self.blocks[block.index()].succs
    }
    fn block_preds(&self, block: Block) -> &[Block] {
        &self.blocks[block.index()].preds
    }
    fn block_params(&self, block: Block) -> &[VReg] {
        &self.blocks[block.index()].params
    }
    fn is_ret(&self, insn: Inst) -> bool {
        self.terminators[insn.index()] == Terminator::Return
    }
    fn is_branch(&self, insn: Inst) -> bool {
        self.terminators[insn.index()] == Terminator::Branch
    }
    fn branch_blockparams(&self, block: Block, _: Inst, succ_idx: usize) -> &[VReg] {
        &self.blocks[block.index()].args[succ_idx]
    }
    fn inst_operands(&self, insn: Inst) -> &[Operand] {
        let (a, b) = self.ranges[insn.index()];
        &self.operands[a as usize..b as usize]
    }
    fn inst_clobbers(&self, insn: Inst) -> PRegSet {
        self.clobbers.get(insn.index()).copied().unwrap_or_default()
    }
    fn num_vregs(&self) -> usize {
        self.classes.len()
    }
    fn spillslot_size(&self, regclass: RegClass) -> usize {
        self.slot_units[regclass as usize].max(1) as usize
    }
}
