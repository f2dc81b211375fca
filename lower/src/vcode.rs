//! Virtual code: machine instructions over virtual registers, in blocks with parameters; immutable once built.
//!
//! A target describes its instructions by [`MachInst`]: one `visit` function names every register field with its
//! constraint. The same function collects operands for the allocator and writes the places back, so that the two cannot
//! disagree. [`place`] runs the allocation ladder, rematerialising where the pressure asks for it.
//!
//! ```text
//!   selection ──VCodeBuilder──▶ VCode<I> ──place──▶ Placed<I>: instructions with PlacedRegs, moves between them
//! ```

use crate::error::CompileError;
use regalloc2::{Edit, Function, Operand, OperandConstraint, OperandKind, OperandPos, PReg, PRegSet, ProgPoint, RegClass, VReg};
use retroshade_ir::{Diagnostic, Span};
use retroshade_regalloc::{
    AllocError, AllocOptions, AllocStep, Allocated, Ctx, Known, PlacedReg, Program, ProgramBuilder, RegFile, Scan, allocate_in,
};
use std::fmt::{self, Debug, Write};

/// A register field of an instruction: virtual before placement, placed afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reg {
    /// A virtual register.
    Virtual(VReg),
    /// Where it was placed.
    Placed(PlacedReg),
}

impl Reg {
    /// The virtual register, before placement.
    pub fn vreg(self) -> Option<VReg> {
        match self {
            Reg::Virtual(v) => Some(v),
            Reg::Placed(_) => None,
        }
    }
    /// The place, after placement.
    pub fn placed(self) -> Option<PlacedReg> {
        match self {
            Reg::Virtual(_) => None,
            Reg::Placed(p) => Some(p),
        }
    }
}

impl Debug for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reg::Virtual(v) => write!(f, "v{}", v.vreg()),
            Reg::Placed(PlacedReg::Reg { class, index }) => write!(f, "p{}{index}", ["i", "f", "v"][*class as usize]),
            Reg::Placed(PlacedReg::Slot { bank, hw }) => write!(f, "s{bank}.{hw}"),
        }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(self, f)
    }
}

/// Visits the register fields of an instruction in a fixed order.
pub trait OperandVisitor {
    /// One field. `Reuse(n)` counts the fields of this instruction in visiting order.
    fn operand(&mut self, reg: &mut Reg, constraint: OperandConstraint, kind: OperandKind, pos: OperandPos);

    /// Read, any place.
    fn use_any(&mut self, r: &mut Reg) {
        self.operand(r, OperandConstraint::Any, OperandKind::Use, OperandPos::Early);
    }
    /// Read, a register proper (not a slot).
    fn use_reg(&mut self, r: &mut Reg) {
        self.operand(r, OperandConstraint::Reg, OperandKind::Use, OperandPos::Early);
    }
    /// Read in one given register.
    fn use_fixed(&mut self, r: &mut Reg, p: PReg) {
        self.operand(r, OperandConstraint::FixedReg(p), OperandKind::Use, OperandPos::Early);
    }
    /// Read, and still intact when results are written.
    fn use_late(&mut self, r: &mut Reg) {
        self.operand(r, OperandConstraint::Any, OperandKind::Use, OperandPos::Late);
    }
    /// Written, any place.
    fn def_any(&mut self, r: &mut Reg) {
        self.operand(r, OperandConstraint::Any, OperandKind::Def, OperandPos::Late);
    }
    /// Written, a register proper.
    fn def_reg(&mut self, r: &mut Reg) {
        self.operand(r, OperandConstraint::Reg, OperandKind::Def, OperandPos::Late);
    }
    /// Written into one given register.
    fn def_fixed(&mut self, r: &mut Reg, p: PReg) {
        self.operand(r, OperandConstraint::FixedReg(p), OperandKind::Def, OperandPos::Late);
    }
    /// Written into the register of the `n`th field, which must be a plain (`Reg` or `Any`) use.
    fn def_reuse(&mut self, r: &mut Reg, n: usize) {
        self.operand(r, OperandConstraint::Reuse(n), OperandKind::Def, OperandPos::Late);
    }
    /// Written before all inputs are read (clashes with every input), a register proper.
    fn def_early(&mut self, r: &mut Reg) {
        self.operand(r, OperandConstraint::Reg, OperandKind::Def, OperandPos::Early);
    }
}

/// A machine instruction over [`Reg`]s.
pub trait MachInst: Clone + Debug {
    /// Visits every register field that the allocator handles, always the same fields in the same order.
    fn visit<V: OperandVisitor>(&mut self, v: &mut V);
    /// Registers whose contents the instruction destroys.
    fn clobbers(&self) -> PRegSet {
        PRegSet::default()
    }
    /// Whether the instruction may be repeated before each use of its only result (constants, uniform reads).
    fn is_rematerialisable(&self) -> bool {
        false
    }
    /// Text for `--emit mir` and `--emit regalloc`.
    fn text(&self) -> String {
        format!("{self:?}")
    }
}

/// A branch target with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Index of the block.
    pub block: usize,
    /// One virtual register per parameter.
    pub args: Vec<VReg>,
}

/// A block. Its last instruction is the terminator (also where a machine needs no instruction there: then a marker).
#[derive(Clone, Debug)]
pub struct VBlock<I> {
    /// Parameters.
    pub params: Vec<VReg>,
    /// Instructions with their source locations.
    pub insts: Vec<(I, Span)>,
    /// Successors; empty for a block that ends the program.
    pub targets: Vec<Target>,
    /// Loops around the block.
    pub loop_depth: u32,
}

impl<I> Default for VBlock<I> {
    fn default() -> VBlock<I> {
        VBlock { params: Vec::new(), insts: Vec::new(), targets: Vec::new(), loop_depth: 0 }
    }
}

/// Virtual code. Block 0 is the entry and has no parameters. Edges from a block with several successors to a block with
/// several predecessors must be split.
#[derive(Clone, Debug)]
pub struct VCode<I> {
    /// Blocks in the order in which they will be emitted.
    pub blocks: Vec<VBlock<I>>,
    /// Class of each virtual register.
    pub classes: Vec<RegClass>,
    /// Where each virtual register's value comes from, for messages.
    pub spans: Vec<Span>,
}

impl<I> Default for VCode<I> {
    fn default() -> VCode<I> {
        VCode { blocks: Vec::new(), classes: Vec::new(), spans: Vec::new() }
    }
}

impl<I: MachInst> VCode<I> {
    /// Code without blocks.
    pub fn new() -> VCode<I> {
        VCode::default()
    }
    /// A new virtual register.
    pub fn vreg(&mut self, class: RegClass, span: Span) -> VReg {
        self.classes.push(class);
        self.spans.push(span);
        VReg::new(self.classes.len() - 1, class)
    }
    /// As [`VCode::vreg`], wrapped as an instruction field.
    pub fn reg(&mut self, class: RegClass, span: Span) -> Reg {
        Reg::Virtual(self.vreg(class, span))
    }
    /// A new block; its index.
    pub fn block(&mut self, loop_depth: u32) -> usize {
        self.blocks.push(VBlock { loop_depth, ..VBlock::default() });
        self.blocks.len() - 1
    }
    /// Appends an instruction to a block.
    pub fn push(&mut self, block: usize, inst: I, span: Span) {
        self.blocks[block].insts.push((inst, span));
    }
    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|b| b.insts.len()).sum()
    }
    /// Whether there is no instruction.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Text for `--emit mir`.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (n, b) in self.blocks.iter().enumerate() {
            let params: Vec<_> = b.params.iter().map(|v| format!("v{}", v.vreg())).collect();
            let _ = writeln!(out, "b{n}({}):", params.join(", "));
            for (i, _) in &b.insts {
                let _ = writeln!(out, "    {}", i.text());
            }
            for t in &b.targets {
                let args: Vec<_> = t.args.iter().map(|v| format!("v{}", v.vreg())).collect();
                let _ = writeln!(out, "    -> b{}({})", t.block, args.join(", "));
            }
        }
        out
    }
    /// The allocator's view. Nothing changes: visiting asks for it.
    pub fn program(&mut self, file: &RegFile) -> Program {
        let units = file.classes.map(|c| c.slot_units.max(1));
        let mut pb = ProgramBuilder::new(self.classes.clone(), units);
        pb.reserve(self.len());
        let mut c = Collect(Vec::new());
        for b in &mut self.blocks {
            pb.block(b.params.clone(), b.loop_depth);
            let last = b.insts.len().saturating_sub(1);
            for (n, (i, _)) in b.insts.iter_mut().enumerate() {
                c.0.clear();
                i.visit(&mut c);
                if n == last {
                    pb.terminate(&c.0, i.clobbers(), b.targets.iter().map(|t| (t.block as u32, t.args.clone())).collect());
                } else {
                    pb.inst(&c.0, i.clobbers());
                }
            }
        }
        pb.finish()
    }
    /// The instruction with a number in the allocator's view.
    fn numbered(&self, inst: u32) -> Option<&(I, Span)> {
        self.blocks.iter().flat_map(|b| &b.insts).nth(inst as usize)
    }
}

/// Code as the allocator sees it, with what is known of it wherever its registers go: made once for all placements of an order.
pub struct View {
    program: Program,
    known: Result<Known, AllocError>,
}

impl View {
    /// Looks at code that is to be placed in a file; in others with the same inputs it looks the same. Nothing changes in it.
    pub fn new<I: MachInst>(vcode: &mut VCode<I>, file: &RegFile) -> View {
        let program = vcode.program(file);
        View { known: Known::new(&program, file), program }
    }
    /// What lives where most values of each class do.
    fn fullest(&self, file: &RegFile) -> Vec<u32> {
        self.known.as_ref().map_or(Vec::new(), |k| k.fullest(&self.program, file))
    }
    /// Values of all classes that live at once, at most.
    fn most(&self) -> u32 {
        self.known.as_ref().map_or(0, |k| k.max_live().iter().sum())
    }
    /// The highest register of a class that some operand must have.
    pub fn last_fixed(&self, class: RegClass) -> Option<usize> {
        let parts = (0..self.program.num_insts()).flat_map(|i| self.program.parts(i));
        let fixed = parts.filter_map(|o| if let OperandConstraint::FixedReg(r) = o.constraint() { Some(r) } else { None });
        fixed.filter(|r| r.class() == class).map(|r| r.hw_enc()).max()
    }
}

/// What is kept from one placement of a program to the next.
#[derive(Default)]
pub struct Memory {
    ctx: Ctx,
    /// With so many values alive at once, registers and register slots did not suffice.
    too_many: Option<u32>,
}

struct Collect(Vec<Operand>);

impl OperandVisitor for Collect {
    fn operand(&mut self, reg: &mut Reg, constraint: OperandConstraint, kind: OperandKind, pos: OperandPos) {
        if let Reg::Virtual(v) = *reg {
            self.0.push(Operand::new(v, constraint, kind, pos));
        }
    }
}

struct Assign<'a> {
    places: &'a [PlacedReg],
    next: usize,
}

impl OperandVisitor for Assign<'_> {
    fn operand(&mut self, reg: &mut Reg, _: OperandConstraint, _: OperandKind, _: OperandPos) {
        if matches!(reg, Reg::Virtual(_)) {
            *reg = Reg::Placed(self.places[self.next]);
            self.next += 1;
        }
    }
}

/// An instruction after placement, or a move that the allocator inserted.
#[derive(Clone, Debug)]
pub enum PlacedInst<I> {
    /// An instruction; all of its fields are placed.
    Inst(I, Span),
    /// A copy of a whole unit. Never both slots of a memory bank.
    Move {
        /// 0 `Int`, 1 `Float`, 2 `Vector`.
        class: u8,
        /// Source.
        from: PlacedReg,
        /// Destination.
        to: PlacedReg,
    },
}

/// Placed code: the blocks of the [`VCode`] in the same order.
#[derive(Clone, Debug)]
pub struct Placed<I> {
    /// Instructions per block, moves included.
    pub blocks: Vec<Vec<PlacedInst<I>>>,
    /// Step of the ladder that found the answer.
    pub step: AllocStep,
    /// Pressure per class.
    pub max_live: [u32; 3],
    /// One past the highest register used, per class.
    pub used: [u32; 3],
    /// Slots used.
    pub slots: u32,
    /// Values recomputed to lower the pressure.
    pub rematerialised: u32,
}

impl<I: MachInst> Placed<I> {
    /// Text for `--emit regalloc`.
    pub fn text(&self) -> String {
        let mut out = format!(
            "; step {}, max live {:?}, registers {:?}, slots {}, rematerialised {}\n",
            self.step.name(),
            self.max_live,
            self.used,
            self.slots,
            self.rematerialised
        );
        for (n, b) in self.blocks.iter().enumerate() {
            let _ = writeln!(out, "b{n}:");
            for i in b {
                let _ = match i {
                    PlacedInst::Inst(i, _) => writeln!(out, "    {}", i.text()),
                    PlacedInst::Move { from, to, .. } => writeln!(out, "    move {} <- {}", Reg::Placed(*to), Reg::Placed(*from)),
                };
            }
        }
        out
    }
}

/// Places all virtual registers. `code` is the diagnostic code of a pressure error. Nothing changes in the code: visiting asks for it.
pub fn place<I: MachInst>(
    vcode: &mut VCode<I>,
    file: &RegFile,
    options: &AllocOptions,
    code: &'static str,
) -> Result<Placed<I>, CompileError> {
    let view = View::new(vcode, file);
    place_in(vcode, &view, file, options, code, &mut Memory::default())
}

/// As [`place`], where the code was looked at before. What does not fit into registers and register slots tells what does not either: an
/// order of the same program in which hardly fewer values live at once fails without a search.
pub fn place_in<I: MachInst>(
    vcode: &VCode<I>,
    view: &View,
    file: &RegFile,
    options: &AllocOptions,
    code: &'static str,
    memory: &mut Memory,
) -> Result<Placed<I>, CompileError> {
    let relieve = |current: &VCode<I>, vregs: &[u32]| {
        let (mut better, n) = rematerialise(current, vregs)?;
        let view = View::new(&mut better, file);
        Some((better, view, n))
    };
    let mut relieved = if options.memory { relieve(vcode, &view.fullest(file)) } else { None };
    let mut rematerialised = relieved.as_ref().map_or(0, |r| r.2);
    let registers_only = file.all_slots() == file.register_slots();
    /// Slots by which answers for as many values differ without a reason that is known beforehand.
    const CHANCE: u32 = 8;
    loop {
        let (current, view) = relieved.as_ref().map_or((vcode, view), |(c, v, _)| (c, v));
        let too_many = memory.too_many.filter(|_| registers_only && matches!(options.scan, Scan::First { .. }));
        let options = AllocOptions { too_many: too_many.unwrap_or(options.too_many), ..*options };
        let result = match &view.known {
            Ok(known) => allocate_in(&view.program, known, file, &options, &mut memory.ctx),
            Err(e) => Err(e.clone()),
        };
        let peak = match &result {
            Err(AllocError::Pressure { vregs, lacking, .. }) => {
                if registers_only && *lacking > 0 {
                    let too_many = (view.most() + 1).saturating_sub(lacking.saturating_sub(CHANCE));
                    memory.too_many = Some(memory.too_many.map_or(too_many, |n| n.min(too_many)));
                }
                Some(vregs.clone())
            }
            Ok(a) if a.slots > file.register_slots() => Some(view.fullest(file)),
            _ => None,
        };
        if let Some(vregs) = peak
            && options.most.is_none()
            && rematerialised < 4096
            && let Some(better) = relieve(current, &vregs)
        {
            rematerialised += better.2;
            relieved = Some(better);
            continue;
        }
        return match result {
            Ok(a) => write_back(current, &view.program, file, &a, rematerialised),
            Err(e) => Err(explain(current, e, code)),
        };
    }
}

/// Repeats the rematerialisable definitions among `vregs` before each of their uses; `None` if there are none.
fn rematerialise<I: MachInst>(vcode: &VCode<I>, vregs: &[u32]) -> Option<(VCode<I>, u32)> {
    let mut wanted = vec![false; vcode.classes.len()];
    vregs.iter().for_each(|v| wanted[*v as usize] = true);
    // A value passed to a block parameter has to exist at the branch; leave those alone.
    vcode.blocks.iter().flat_map(|b| &b.targets).flat_map(|t| &t.args).for_each(|v| wanted[v.vreg()] = false);
    let mut c = Collect(Vec::new());
    let mut recipes: Vec<(VReg, I)> = Vec::new();
    for (i, _) in vcode.blocks.iter().flat_map(|b| &b.insts).filter(|(i, _)| i.is_rematerialisable()) {
        let mut i = i.clone();
        c.0.clear();
        i.visit(&mut c);
        if let [def] = c.0[..]
            && wanted[def.vreg().vreg()]
        {
            recipes.push((def.vreg(), i));
        }
    }
    if recipes.is_empty() {
        return None;
    }
    let mut vcode = vcode.clone();
    let far = used_at_distance(&mut vcode);
    recipes.retain(|(v, _)| far[v.vreg()]);
    if recipes.is_empty() {
        return None;
    }
    let n = recipes.len() as u32;
    let mut recipe: Vec<Option<I>> = vec![None; vcode.classes.len()];
    recipes.into_iter().for_each(|(v, i)| recipe[v.vreg()] = Some(i));
    for b in 0..vcode.blocks.len() {
        let old = std::mem::take(&mut vcode.blocks[b].insts);
        let mut insts = Vec::with_capacity(old.len());
        for (mut i, span) in old {
            c.0.clear();
            i.visit(&mut c);
            if let [def] = c.0[..]
                && def.kind() == OperandKind::Def
                && recipe[def.vreg().vreg()].is_some()
            {
                continue;
            }
            if c.0.iter().any(|o| o.kind() == OperandKind::Use && recipe[o.vreg().vreg()].is_some()) {
                i.visit(&mut Renew { vcode: &mut vcode, recipe: &recipe, made: Vec::new(), insts: &mut insts, span });
            }
            insts.push((i, span));
        }
        vcode.blocks[b].insts = insts;
    }
    Some((vcode, n))
}

/// Which values have a use that is not just behind their definition, so that repeating them gains something.
fn used_at_distance<I: MachInst>(vcode: &mut VCode<I>) -> Vec<bool> {
    const NEAR: usize = 5;
    let mut far = vec![false; vcode.classes.len()];
    let mut defined_at = vec![None; vcode.classes.len()];
    let mut c = Collect(Vec::new());
    for (bn, b) in vcode.blocks.iter_mut().enumerate() {
        for (n, (i, _)) in b.insts.iter_mut().enumerate() {
            c.0.clear();
            i.visit(&mut c);
            for o in &c.0 {
                let v = o.vreg().vreg();
                match o.kind() {
                    OperandKind::Def => defined_at[v] = Some((bn, n)),
                    OperandKind::Use => far[v] |= defined_at[v].is_none_or(|(db, d)| db != bn || n > d + NEAR),
                }
            }
        }
    }
    far
}

struct Renew<'a, I: MachInst> {
    vcode: &'a mut VCode<I>,
    recipe: &'a [Option<I>],
    made: Vec<(VReg, VReg)>,
    insts: &'a mut Vec<(I, Span)>,
    span: Span,
}

impl<I: MachInst> OperandVisitor for Renew<'_, I> {
    fn operand(&mut self, reg: &mut Reg, _: OperandConstraint, kind: OperandKind, _: OperandPos) {
        let Reg::Virtual(v) = *reg else { return };
        let Some(recipe) = self.recipe.get(v.vreg()).and_then(|r| r.as_ref()) else { return };
        if kind != OperandKind::Use {
            return;
        }
        if let Some((_, w)) = self.made.iter().find(|(o, _)| *o == v) {
            *reg = Reg::Virtual(*w);
            return;
        }
        let w = self.vcode.vreg(v.class(), self.vcode.spans[v.vreg()]);
        let mut copy = recipe.clone();
        copy.visit(&mut Redefine(w));
        self.insts.push((copy, self.span));
        self.made.push((v, w));
        *reg = Reg::Virtual(w);
    }
}

struct Redefine(VReg);

impl OperandVisitor for Redefine {
    fn operand(&mut self, reg: &mut Reg, _: OperandConstraint, kind: OperandKind, _: OperandPos) {
        if kind == OperandKind::Def {
            *reg = Reg::Virtual(self.0);
        }
    }
}

fn write_back<I: MachInst>(
    vcode: &VCode<I>,
    program: &Program,
    file: &RegFile,
    a: &Allocated,
    rematerialised: u32,
) -> Result<Placed<I>, CompileError> {
    let lost = |what: &str| CompileError::Internal(format!("{what} has no place in the register file"));
    let mut edits = &a.output.edits[..];
    let mut blocks = Vec::with_capacity(vcode.blocks.len());
    let mut n = 0usize;
    let mut places: Vec<PlacedReg> = Vec::new();
    for (b, info) in vcode.blocks.iter().zip(&program.blocks) {
        let (mut here, rest) = edits.split_at(edits.partition_point(|(at, _)| at.inst().index() < info.end as usize));
        edits = rest;
        let mut out = Vec::with_capacity(b.insts.len() + here.len());
        // Moves at a point come before those at the next.
        let mut moves = |at: ProgPoint, out: &mut Vec<PlacedInst<I>>| -> Result<(), CompileError> {
            while let [(_, Edit::Move { from, to }), rest @ ..] = here
                && here[0].0 == at
            {
                here = rest;
                if from != to {
                    let class = from.as_reg().or(to.as_reg()).map_or(0, |r| r.class() as u8);
                    let from = file.place(*from).ok_or_else(|| lost("a move's source"))?;
                    let to = file.place(*to).ok_or_else(|| lost("a move's destination"))?;
                    out.push(PlacedInst::Move { class, from, to });
                }
            }
            Ok(())
        };
        for (i, span) in &b.insts {
            let inst = regalloc2::Inst::new(n);
            moves(ProgPoint::before(inst), &mut out)?;
            let allocs = a.output.inst_allocs(inst);
            debug_assert_eq!(allocs.len(), program.inst_operands(inst).len());
            places.clear();
            for x in allocs {
                places.push(file.place(*x).ok_or_else(|| lost("an operand"))?);
            }
            let mut i = i.clone();
            i.visit(&mut Assign { places: &places, next: 0 });
            out.push(PlacedInst::Inst(i, *span));
            moves(ProgPoint::after(inst), &mut out)?;
            n += 1;
        }
        blocks.push(out);
    }
    Ok(Placed { blocks, step: a.step, max_live: a.max_live, used: a.used, slots: a.slots, rematerialised })
}

/// Turns the allocator's ids into names and places in the source.
fn explain<I: MachInst>(vcode: &VCode<I>, e: AllocError, code: &'static str) -> CompileError {
    match e {
        AllocError::Pressure { class, live, limit, inst, vregs, .. } => {
            let span = vcode.numbered(inst).map_or(Span::NONE, |i| i.1);
            let mut d = Diagnostic::error(code, span, format!("too many values are live at once for the {class} registers"));
            for v in vregs.iter().take(24) {
                d = d.note(vcode.spans[*v as usize], "a value that is live here".to_string());
            }
            CompileError::Limit { diagnostic: Box::new(d), needed: live.max(limit + 1) as u64, available: limit as u64 }
        }
        AllocError::BadOperands { inst, what } => {
            let text = vcode.numbered(inst).map(|i| i.0.text()).unwrap_or_default();
            CompileError::Internal(format!("allocation of `{text}`: {what}"))
        }
        other => CompileError::Internal(format!("allocation: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retroshade_regalloc::{BankKind, ClassSpec, SlotBank, file::NO_CLASS};

    #[derive(Clone, Debug)]
    enum Toy {
        Const(#[allow(dead_code)] u32, Reg),
        Add(Reg, Reg, Reg),
        Tied(Reg, Reg),
        Out(Reg),
        Branch,
        End,
    }

    impl MachInst for Toy {
        fn visit<V: OperandVisitor>(&mut self, v: &mut V) {
            match self {
                Toy::Const(_, d) => v.def_reg(d),
                Toy::Add(d, a, b) => {
                    v.use_any(a);
                    v.use_any(b);
                    v.def_any(d);
                }
                Toy::Tied(d, a) => {
                    v.use_reg(a);
                    v.def_reuse(d, 0);
                }
                Toy::Out(a) => v.use_any(a),
                Toy::Branch | Toy::End => {}
            }
        }
        fn is_rematerialisable(&self) -> bool {
            matches!(self, Toy::Const(..))
        }
    }

    fn file(n: u8, slots: u32) -> RegFile {
        RegFile {
            classes: [NO_CLASS, NO_CLASS, ClassSpec { name: "r", count: n, slot_units: 1 }],
            slots: if slots == 0 { vec![] } else { vec![SlotBank { name: "high", first_hw: n as u32, slots, kind: BankKind::Register }] },
            inputs: vec![],
            reserved: PRegSet::default(),
            steps: Default::default(),
        }
    }

    /// `n` values that all live to the end, then are summed.
    fn wide(n: usize, constants: bool) -> VCode<Toy> {
        let mut c = VCode::new();
        let b = c.block(0);
        let first = c.reg(RegClass::Vector, Span::NONE);
        c.push(b, Toy::Const(0, first), Span::NONE);
        let mut all = vec![first];
        for k in 1..n {
            let r = c.reg(RegClass::Vector, Span::NONE);
            if constants {
                c.push(b, Toy::Const(k as u32, r), Span::NONE);
            } else {
                c.push(b, Toy::Add(r, all[k - 1], all[k - 1]), Span::NONE);
            }
            all.push(r);
        }
        for r in all.clone().into_iter().rev() {
            c.push(b, Toy::Out(r), Span::NONE);
        }
        for r in all {
            c.push(b, Toy::Out(r), Span::NONE);
        }
        c.push(b, Toy::End, Span::NONE);
        c
    }

    #[test]
    fn fits_tightly() {
        let p = place(&mut wide(8, false), &file(16, 0), &AllocOptions { check: true, ..Default::default() }, "T0001").unwrap();
        assert!(p.used[2] <= 10, "{}", p.text());
        assert_eq!(p.slots, 0);
    }

    #[test]
    fn pressure_is_an_error_with_places() {
        let e = place(&mut wide(20, false), &file(16, 0), &AllocOptions::default(), "T0001").unwrap_err();
        let CompileError::Limit { needed, available, diagnostic } = e else { panic!("{e:?}") };
        assert_eq!((needed, available), (20, 16));
        assert_eq!(diagnostic.notes.len(), 20);
    }

    #[test]
    fn high_registers_take_the_rest() {
        let p = place(&mut wide(20, false), &file(16, 16), &AllocOptions { check: true, ..Default::default() }, "T0001").unwrap();
        assert!(p.slots >= 4);
    }

    #[test]
    fn constants_are_repeated_rather_than_spilled() {
        let p = place(&mut wide(20, true), &file(16, 0), &AllocOptions { check: true, ..Default::default() }, "T0001").unwrap();
        assert!(p.rematerialised > 0);
        assert_eq!(p.slots, 0);
    }

    #[test]
    fn a_need_of_memory_can_be_told() {
        let memory = SlotBank { name: "l[]", first_hw: 0, slots: 64, kind: BankKind::Memory };
        let file = RegFile { slots: vec![memory], ..file(16, 0) };
        for constants in [true, false] {
            let of = |memory| {
                let options = AllocOptions { check: true, memory, ..Default::default() };
                place(&mut wide(20, constants), &file, &options, "T0001").unwrap().text()
            };
            assert_eq!(of(true), of(false));
        }
    }

    #[test]
    fn what_did_not_fit_is_not_tried_again() {
        let mut code = wide(8, false);
        let (registers, spilling) = (file(16, 0), SlotBank { name: "l[]", first_hw: 0, slots: 64, kind: BankKind::Memory });
        let view = View::new(&mut code, &registers);
        let fits = |file: &RegFile, scan: Scan, too_many: u32| {
            let mut memory = Memory { too_many: Some(too_many), ..Memory::default() };
            let options = AllocOptions { check: true, scan, ..Default::default() };
            place_in(&code, &view, file, &options, "T0001", &mut memory).is_ok()
        };
        let first = Scan::First { spread: false };
        assert!(fits(&registers, first, 9) && !fits(&registers, first, 8));
        // Memory takes whatever finds no register; and what asks for few registers is another question.
        assert!(fits(&RegFile { slots: vec![spilling], ..file(16, 0) }, first, 8) && fits(&registers, Scan::Last, 8));
    }

    #[test]
    fn a_loop_with_a_rotation_allocates() {
        let mut c = VCode::new();
        let (entry, body, end) = (c.block(0), c.block(1), c.block(0));
        let latch = c.block(1);
        let (x, y) = (c.vreg(RegClass::Vector, Span::NONE), c.vreg(RegClass::Vector, Span::NONE));
        c.push(entry, Toy::Const(1, Reg::Virtual(x)), Span::NONE);
        c.push(entry, Toy::Const(2, Reg::Virtual(y)), Span::NONE);
        c.push(entry, Toy::Branch, Span::NONE);
        c.blocks[entry].targets = vec![Target { block: body, args: vec![x, y] }];
        let (p, q) = (c.vreg(RegClass::Vector, Span::NONE), c.vreg(RegClass::Vector, Span::NONE));
        c.blocks[body].params = vec![p, q];
        let t = c.vreg(RegClass::Vector, Span::NONE);
        c.push(body, Toy::Tied(Reg::Virtual(t), Reg::Virtual(p)), Span::NONE);
        c.push(body, Toy::Branch, Span::NONE);
        c.blocks[body].targets = vec![Target { block: latch, args: vec![] }, Target { block: end, args: vec![] }];
        c.push(latch, Toy::Branch, Span::NONE);
        c.blocks[latch].targets = vec![Target { block: body, args: vec![q, t] }];
        c.push(end, Toy::Out(Reg::Virtual(t)), Span::NONE);
        c.push(end, Toy::End, Span::NONE);
        let placed = place(&mut c, &file(4, 0), &AllocOptions { check: true, ..Default::default() }, "T0001").unwrap();
        assert!(placed.blocks.iter().flatten().any(|i| matches!(i, PlacedInst::Move { .. })));
    }
}
