//! Placed code to bytes: control flow by the structure tree, `$a` set-up, form choice, exit and join folded in.
//!
//! ```text
//!   if:   [joinat M] (!c) bra E; then; bra M; E: else; M: join …        loop: [prebrk X] H: …; bra H; X:
//! ```
//! Without `break` and `exit` (FlexGripPlus):
//!
//! ```text
//!   loop: [joinat X] H: …; (!c) bra A; …; (c) bra X; bra H; A: arm that leaves; bra X; X: join …           end: ret
//! ```
//! Branches whose condition is the same in the whole warp need neither joinat nor prebrk; short arms are predicated.

mod effects;
pub mod encode;
pub(crate) mod least;
mod lines;
pub mod pairing;

use crate::emit::effects::{meets, put};
use crate::emit::encode::{Setting, number};
use crate::emit::least::Size;
use crate::emit::lines::{Control, Enc, Inst, Line, Predicate, layout};
use crate::isa::chip::Chip;
use crate::isa::flexgrip;
use crate::isa::forms::{Access, BAR, BRA, BRK, CP, Cond, DISCARD, JOINAT, LogicOp, Op, PREBRK, RET, Syn, TABLE, field};
use crate::legal::converge::has_break;
use crate::place::{Room, SCRATCH};
use crate::select::mir::{Dst, Extra, Index, MInst, Src};
use crate::select::restrict::lacking;
use cranelift_entity::SecondaryMap;
use retroshade_emit::FormId;
use retroshade_emit::layout::{Label, Layout};
use retroshade_ir::analysis::Uniformity;
use retroshade_ir::{Block, Span};
use retroshade_lower::structure::Node;
use retroshade_lower::{CompileError, MachInst, Placed, PlacedInst, PlacedReg, Reg};

/// The finished code.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Bytes.
    pub bytes: Vec<u8>,
    /// Byte offsets of instructions with an absolute code address, and the address.
    pub relocations: Vec<(u32, u32)>,
    /// Byte offsets of instructions that branch at the end of a block.
    pub branches: Vec<(u32, Block)>,
    /// Byte ranges and the source they come from.
    pub source_map: Vec<(std::ops::Range<u32>, Span)>,
    /// Numbers of short, long and immediate instructions.
    pub counts: [u32; 3],
    /// Long instructions that could be short, had they a partner.
    pub alone: u32,
    /// Registers used.
    pub registers: u32,
    /// Control-flow instructions.
    pub control: u32,
    /// Ends that no instruction of the code before them carries.
    pub bare_ends: u32,
}

impl Code {
    /// What it takes.
    pub(crate) fn size(&self) -> Size {
        Size { bytes: self.bytes.len() as u64, issues: self.counts.iter().sum::<u32>().into(), registers: self.registers, spilled: 0 }
    }
}

/// A loop around the code at hand.
struct Loop<'a> {
    exit: Label,
    /// Whether lanes leave apart.
    apart: bool,
    /// Arms that leave it, which follow its body.
    behind: Vec<(Label, &'a [Node])>,
}

/// A block that branches, and the condition under which it does.
type Decision = (Block, Predicate);

struct Emitter<'a> {
    placed: &'a Placed<MInst>,
    blocks: &'a SecondaryMap<Block, u32>,
    uniformity: &'a Uniformity,
    setting: Setting,
    lines: Vec<Line<'a>>,
    code: Layout<Syn, Span>,
    /// Innermost loop last.
    loops: Vec<Loop<'a>>,
    joins: u32,
    /// The most entries that the divergence stack has.
    stack: u32,
    /// What `$a1`…`$a3` hold: register and shift.
    address: [Option<Index>; 4],
    next_a: u8,
    room: Room,
    /// Behind the node that is being emitted there is only the program's end.
    last: bool,
}

/// The place of a register that is none, in l[].
fn in_memory(r: Reg) -> Option<u32> {
    if let Some(PlacedReg::Slot { bank: 1, hw }) = r.placed() { Some(hw) } else { None }
}

/// Whether an operand or the result of an instruction lies in l[].
fn names_memory(i: &MInst) -> bool {
    let there = |r: Reg| in_memory(r).is_some();
    i.src.iter().any(|s| matches!(s, Src::Reg(r, _) if there(*r)))
        || matches!(i.index, Index::Reg(r, _) if there(r))
        || i.tied.is_some_and(there)
        || matches!(i.dst, Dst::Reg(r) | Dst::Half(r) if there(r))
}

/// What code is emitted for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub chip: &'static Chip,
    /// The stage as a decode space.
    pub space: u32,
    /// What placement had.
    pub room: Room,
}

impl Machine {
    /// Registers that any program takes: those of the pipeline four.
    pub fn fewest_registers(self) -> u32 {
        if self.space == CP { 1 } else { 4 }
    }
}

/// Emits code that was placed; `None` if `wins` does not want what takes as much as this does at least.
pub(crate) fn emit(
    placed: &mut Placed<MInst>,
    nodes: &[Node],
    blocks: &SecondaryMap<Block, u32>,
    uniformity: &Uniformity,
    machine: Machine,
    pair: bool,
    wins: &dyn Fn(Size) -> bool,
) -> Result<Option<Code>, CompileError> {
    let Machine { chip, space, room } = machine;
    let registers = count_registers(placed, room);
    let placed = &*placed;
    let taken = registers.max(machine.fewest_registers());
    let issues = least::issues(placed);
    if !wins(Size { issues, registers: taken, ..Size::default() }) {
        return Ok(None);
    }
    let setting = Setting { space, short_zero: registers <= 60 && !chip.flexgrip, a: 0, chip };
    let mut e = Emitter {
        placed,
        blocks,
        uniformity,
        setting,
        lines: Vec::with_capacity(issues as usize + placed.blocks.len()),
        code: Layout::new(&TABLE),
        loops: Vec::new(),
        joins: 0,
        stack: 0,
        address: [None; 4],
        next_a: 0,
        room,
        // All lanes meet at the one `ret` of a chip without `exit`.
        last: !chip.flexgrip,
    };
    e.walk(nodes)?;
    if chip.flexgrip && e.stack > flexgrip::STACK {
        let what = "branches are nested too deeply for the divergence stack";
        return Err(CompileError::limit("T0113", Span::NONE, what, e.stack.into(), flexgrip::STACK.into()));
    }
    let least = Size { registers: taken, ..least::of_lines(&e.lines) };
    if !wins(least) {
        return Ok(None);
    }
    let mut code = layout(&e.lines, e.code, pair)?;
    code.registers = taken;
    debug_assert!(issues <= least.issues && (!pair || least.is_within(code.size())), "{issues} and {least:?}, and not {:?}", code.size());
    Ok(Some(code))
}

/// One past the highest register, through a visitor over all placed fields.
struct Top {
    registers: u32,
    /// One past the registers through which values in l[] pass.
    scratch_end: u32,
}

impl Top {
    fn see(&mut self, r: PlacedReg) {
        let n = match r {
            PlacedReg::Reg { class: 1, index } => index as u32 + 1,
            PlacedReg::Slot { bank: 0, hw } => hw + 1,
            PlacedReg::Slot { .. } => self.scratch_end,
            _ => 0,
        };
        self.registers = self.registers.max(n);
    }
}

impl retroshade_lower::OperandVisitor for Top {
    fn operand(
        &mut self,
        r: &mut Reg,
        _: retroshade_lower::OperandConstraint,
        _: retroshade_lower::OperandKind,
        _: retroshade_lower::OperandPos,
    ) {
        if let Some(p) = r.placed() {
            self.see(p);
        }
    }
}

fn count_registers(placed: &mut Placed<MInst>, room: Room) -> u32 {
    let mut top = Top { registers: 0, scratch_end: u32::from(room.scratch() + SCRATCH) };
    for i in placed.blocks.iter_mut().flatten() {
        match i {
            PlacedInst::Move { from, to, class } => {
                top.see(*from);
                top.see(*to);
                if *class == 0 && matches!((from, to), (PlacedReg::Reg { .. }, PlacedReg::Reg { .. })) {
                    top.see(room.flag_scratch());
                }
            }
            PlacedInst::Inst(i, _) => {
                i.visit(&mut top);
                if let Extra::Tex(t) = &i.extra {
                    top.registers = top.registers.max(t.base as u32 + t.args.len().max(t.results.len()) as u32);
                }
            }
        }
    }
    top.registers
}

impl<'a> Emitter<'a> {
    fn label(&mut self) -> Label {
        self.code.label()
    }
    fn bind(&mut self, l: Label) {
        self.address = [None; 4];
        self.lines.push(Line::Label(l));
    }
    fn control(&mut self, form: FormId, label: Option<Label>, pred: Option<Predicate>) {
        self.lines.push(Line::Control(Control { form, label, pred, branch: None }));
    }
    /// What goes where a condition holds at the end of a block.
    fn decide(&mut self, form: FormId, label: Option<Label>, (block, pred): Decision) {
        self.lines.push(Line::Control(Control { form, label, pred: Some(pred), branch: Some(block) }));
    }

    fn walk(&mut self, nodes: &'a [Node]) -> Result<(), CompileError> {
        let last = self.last;
        for (n, node) in nodes.iter().enumerate() {
            self.last = last && self.is_end(&nodes[n + 1..]);
            match node {
                Node::Block(b) => self.block(*b)?,
                Node::If { from, then, other, .. } => self.branch(*from, then, other)?,
                Node::Loop { body, .. } => {
                    let apart = self.leaves_apart(body);
                    let (head, exit) = (self.label(), self.label());
                    if apart && self.has_break_forms() {
                        self.control(PREBRK, Some(exit), None);
                    } else if apart {
                        self.open(exit);
                    }
                    self.bind(head);
                    self.loops.push(Loop { exit, apart, behind: Vec::new() });
                    self.last = false;
                    self.walk(body)?;
                    self.control(BRA, Some(head), None);
                    self.arms_behind()?;
                    self.loops.pop();
                    self.bind(exit);
                    if apart && !self.has_break_forms() {
                        self.close();
                    }
                }
                Node::Break => self.leave(None)?,
                Node::Continue => return Err(CompileError::Internal("a continue that was not asked for".into())),
            }
        }
        self.last = last;
        Ok(())
    }
    fn has_break_forms(&self) -> bool {
        self.setting.chip.has_op(Op::Brk)
    }
    /// Leaves the innermost loop, under a condition or not. Lanes that branch to its exit come first, meet its `join` there and are
    /// followed by the rest, so that each departure takes one entry of the stack for a moment only.
    fn leave(&mut self, decision: Option<Decision>) -> Result<(), CompileError> {
        let Some(Loop { exit, apart, .. }) = self.loops.last() else {
            return Err(CompileError::Internal("a break outside a loop".into()));
        };
        let (exit, apart) = (*exit, *apart);
        let (form, to) = if apart && self.has_break_forms() { (BRK, None) } else { (BRA, Some(exit)) };
        match decision {
            Some(d) => self.decide(form, to, d),
            None => self.control(form, to, None),
        }
        Ok(())
    }
    /// The arms that leave the innermost loop; each may put off others.
    fn arms_behind(&mut self) -> Result<(), CompileError> {
        while let Some((label, arm)) = self.loops.last_mut().and_then(|l| l.behind.pop()) {
            self.bind(label);
            self.arm(arm)?;
        }
        Ok(())
    }
    /// A place where lanes meet, with the entries that it takes: its own, and one of the lanes that are yet to come.
    fn open(&mut self, at: Label) {
        self.joins += 1;
        self.stack = self.stack.max(2 * self.joins);
        self.control(JOINAT, Some(at), None);
    }
    fn close(&mut self) {
        self.joins -= 1;
        self.lines.push(Line::Join);
    }
    /// Whether lanes may leave a loop in different rounds: some break of it stands under a condition that differs.
    fn leaves_apart(&self, body: &[Node]) -> bool {
        body.iter().any(|n| match n {
            Node::If { from, then, other, .. } => {
                let breaks = has_break(then) || has_break(other);
                (breaks && self.uniformity.is_divergent_branch(*from)) || self.leaves_apart(then) || self.leaves_apart(other)
            }
            _ => false,
        })
    }
    fn placed_block(&self, b: Block) -> &'a [PlacedInst<MInst>] {
        self.placed.blocks.get(self.blocks[b] as usize).map_or(&[], Vec::as_slice)
    }
    /// The condition at the end of a block.
    fn condition(&self, b: Block) -> Result<Predicate, CompileError> {
        match self.placed_block(b).iter().rev().find_map(|i| match i {
            PlacedInst::Inst(MInst { extra: Extra::Branch(c, code), .. }, _) => Some((*c, *code)),
            _ => None,
        }) {
            Some((c, code)) => number(c).map(|n| (n, code)).ok_or_else(|| CompileError::Internal("a condition in memory".into())),
            None => Err(CompileError::Internal(format!("{b} does not branch"))),
        }
    }
    /// Whether nothing is left to do but to end the program.
    fn is_end(&self, nodes: &[Node]) -> bool {
        let ends =
            |i: &PlacedInst<MInst>| matches!(i, PlacedInst::Inst(MInst { extra: Extra::Jump | Extra::Undefined | Extra::Exit(_), .. }, _));
        nodes.iter().all(|n| matches!(n, Node::Block(b) if self.placed_block(*b).iter().all(ends)))
    }
    /// Whether threads that end leave results in registers.
    fn has_results(&self) -> bool {
        let result = |i: &PlacedInst<MInst>| matches!(i, PlacedInst::Inst(MInst { extra: Extra::Exit(r), .. }, _) if !r.is_empty());
        self.placed.blocks.iter().flatten().any(result)
    }
    /// Whether an arm has no instructions of its own.
    fn is_empty(&self, nodes: &[Node]) -> bool {
        nodes.iter().all(|n| match n {
            Node::Block(b) => {
                self.placed_block(*b).iter().all(|i| matches!(i, PlacedInst::Inst(MInst { extra: Extra::Jump | Extra::Undefined, .. }, _)))
            }
            _ => false,
        })
    }

    fn branch(&mut self, from: Block, then: &'a [Node], other: &'a [Node]) -> Result<(), CompileError> {
        let (c, code) = self.condition(from)?;
        let divergent = self.uniformity.is_divergent_branch(from);
        // A bare break.
        for (arm, rest, code) in [(then, other, code), (other, then, code.inverse())] {
            if let [front @ .., Node::Break] = arm
                && self.is_empty(front)
            {
                self.leave(Some((from, (c, code))))?;
                return self.walk(rest);
            }
            if divergent && !self.has_break_forms() && matches!(arm, [.., Node::Break]) {
                let behind = self.label();
                self.decide(BRA, Some(behind), (from, (c, code)));
                let Some(around) = self.loops.last_mut() else { return Err(CompileError::Internal("a break outside a loop".into())) };
                around.behind.push((behind, arm));
                return self.arm(rest);
            }
        }
        let (empty_then, empty_other) = (self.is_empty(then), self.is_empty(other));
        if empty_then && empty_other {
            return Ok(());
        }
        if self.predicate(then, other, c, code, divergent) {
            return Ok(());
        }
        if self.last && (empty_then || empty_other) && !self.has_results() {
            // Threads without an arm end here; a `ret` outside a call does that.
            let (arm, code) = if empty_then { (other, code) } else { (then, code.inverse()) };
            self.decide(RET, None, (from, (c, code)));
            return self.walk(arm);
        }
        let leaves = has_break(then) || has_break(other);
        // Threads that have nothing left to do need not meet. An arm that leaves the loop does not reach the merge; then lanes go on
        // apart: where they are needed together, legalisation has moved the break behind the merge.
        let join = divergent && !self.last && (self.joins < 7 || self.setting.chip.flexgrip) && !leaves;
        let merge = self.label();
        if join {
            self.open(merge);
        }
        if empty_then {
            self.decide(BRA, Some(merge), (from, (c, code)));
            self.arm(other)?;
        } else if empty_other {
            self.decide(BRA, Some(merge), (from, (c, code.inverse())));
            self.arm(then)?;
        } else {
            let elsewhere = self.label();
            self.decide(BRA, Some(elsewhere), (from, (c, code.inverse())));
            self.arm(then)?;
            if self.last {
                self.lines.push(Line::Exit);
            } else if !matches!(then.last(), Some(Node::Break)) {
                self.control(BRA, Some(merge), None);
            }
            self.bind(elsewhere);
            self.arm(other)?;
        }
        if self.last && !empty_then && !empty_other {
            return Ok(());
        }
        self.bind(merge);
        if join {
            self.close();
        }
        Ok(())
    }
    fn arm(&mut self, nodes: &'a [Node]) -> Result<(), CompileError> {
        self.address = [None; 4];
        self.walk(nodes)
    }

    /// Turns short arms of plain instructions into predicated ones; says whether it did.
    fn predicate(&mut self, then: &[Node], other: &[Node], c: u64, code: Cond, divergent: bool) -> bool {
        const MOST: usize = 5;
        let limit = if divergent { MOST } else { 3 };
        let mut all: Vec<Line<'a>> = Vec::new();
        let before = (self.address, self.next_a);
        for (arm, code) in [(then, code), (other, code.inverse())] {
            for n in arm {
                let Node::Block(b) = n else { return false };
                for p in self.placed_block(*b) {
                    let mut some = Vec::new();
                    let ok = match p {
                        PlacedInst::Inst(MInst { extra: Extra::Jump | Extra::Undefined, .. }, _) => true,
                        PlacedInst::Inst(i, span) => {
                            let plain = i.pred.is_none()
                                && i.cdst.is_none()
                                && i.carry.is_none()
                                && i.index == Index::None
                                && matches!(i.extra, Extra::None | Extra::Mem { .. })
                                && !matches!(
                                    i.op,
                                    Op::Emit | Op::Restart | Op::Discard | Op::Bar | Op::Quadop | Op::StG | Op::StL | Op::StS
                                );
                            plain && self.expand(Inst::Placed(i), *span, &mut some, Some((c, code))).is_ok()
                        }
                        PlacedInst::Move { class: 1, from, to } => self.copy(*from, *to, &mut some, Some((c, code))).is_ok(),
                        _ => false,
                    };
                    all.append(&mut some);
                    if !ok || all.len() > limit || !all.iter().all(Line::is_predicated) {
                        (self.address, self.next_a) = before;
                        return false;
                    }
                }
            }
        }
        self.lines.extend(all);
        true
    }

    fn block(&mut self, b: Block) -> Result<(), CompileError> {
        let mut out = Vec::new();
        for p in self.placed_block(b) {
            match p {
                PlacedInst::Move { class: 0, from, to } => self.copy_flag(*from, *to, &mut out)?,
                PlacedInst::Move { from, to, .. } => self.copy(*from, *to, &mut out, None)?,
                PlacedInst::Inst(i, span) => match i.extra {
                    Extra::Jump | Extra::Branch(..) | Extra::Entry(_) | Extra::Undefined => {}
                    Extra::Exit(_) => {
                        if self.setting.chip.flexgrip {
                            self.control(RET, None, None);
                        } else {
                            self.lines.push(Line::Exit);
                        }
                        continue;
                    }
                    Extra::Bar => {
                        self.control(BAR, None, None);
                        continue;
                    }
                    Extra::Lock(_) => {
                        self.locked(i, *span)?;
                        continue;
                    }
                    _ if i.op == Op::Discard => {
                        let pred = i.pred.and_then(|(c, code)| Some((number(c)?, code)));
                        self.control(DISCARD, None, pred);
                        continue;
                    }
                    _ => self.expand(Inst::Placed(i), *span, &mut out, None)?,
                },
            }
            self.lines.append(&mut out);
        }
        Ok(())
    }

    /// A move between registers or between a register and l[].
    fn copy(&mut self, from: PlacedReg, to: PlacedReg, out: &mut Vec<Line<'a>>, pred: Option<Predicate>) -> Result<(), CompileError> {
        let reg = |p: PlacedReg| Reg::Placed(p);
        let memory = |p: PlacedReg| matches!(p, PlacedReg::Slot { bank: 1, .. });
        let slot =
            |p: PlacedReg| if let PlacedReg::Slot { hw, .. } = p { Extra::Mem { off: hw, ty: Access::B32, space: 0 } } else { Extra::None };
        let i = match (memory(from), memory(to)) {
            (false, false) => MInst::new(Op::Mov, Dst::Reg(reg(to)), &[Src::reg(reg(from))]),
            (true, false) => MInst { extra: slot(from), ..MInst::new(Op::LdL, Dst::Reg(reg(to)), &[]) },
            (false, true) => MInst { extra: slot(to), ..MInst::new(Op::StL, Dst::None, &[Src::reg(reg(from))]) },
            _ => return Err(CompileError::Internal("a move from memory to memory".into())),
        };
        self.finish(i, Span::NONE, out, pred, 0)
    }
    /// A move that takes a `$c` or gives one.
    fn copy_flag(&mut self, from: PlacedReg, to: PlacedReg, out: &mut Vec<Line<'a>>) -> Result<(), CompileError> {
        let flag = |p: PlacedReg| matches!(p, PlacedReg::Reg { class: 0, .. });
        let to_flag =
            |from: Reg, to: PlacedReg| MInst { cdst: Some(Reg::Placed(to)), ..MInst::new(Op::MovToC, Dst::None, &[Src::reg(from)]) };
        let memory = |p: PlacedReg| matches!(p, PlacedReg::Slot { bank: 1, .. });
        match (flag(from), flag(to)) {
            // l[] and another $c are reached through a register.
            (true, other) if other || memory(to) => {
                let t = if other { self.room.flag_scratch() } else { self.room.memory_scratch() };
                self.copy_flag(from, t, out)?;
                self.copy_flag(t, to, out)
            }
            (false, true) if memory(from) => {
                let t = self.room.memory_scratch();
                self.copy(from, t, out, None)?;
                self.copy_flag(t, to, out)
            }
            (true, _) if !self.setting.chip.has_op(Op::MovFromC) => self.flag_as_word(from, to, out),
            (false, true) if !self.setting.chip.has_op(Op::MovToC) => {
                let r = Src::reg(Reg::Placed(from));
                let test = MInst { cdst: Some(Reg::Placed(to)), ..MInst::new(Op::Logic, Dst::Discard, &[r, r]) };
                self.finish(test.with(field!(lop), LogicOp::Or), Span::NONE, out, None, 0)
            }
            (true, _) => {
                self.finish(MInst::new(Op::MovFromC, Dst::Reg(Reg::Placed(to)), &[Src::reg(Reg::Placed(from))]), Span::NONE, out, None, 0)
            }
            (false, true) => self.finish(to_flag(Reg::Placed(from), to), Span::NONE, out, None, 0),
            _ => self.copy(from, to, out, None),
        }
    }

    /// What is not 0 exactly where the flags are not those of 0; on this chip nothing else is asked of them.
    fn flag_as_word(&mut self, from: PlacedReg, to: PlacedReg, out: &mut Vec<Line<'a>>) -> Result<(), CompileError> {
        let to = Reg::Placed(to);
        self.finish(MInst::new(Op::Mov, Dst::Reg(to), &[Src::Imm(1)]), Span::NONE, out, None, 0)?;
        let zero = MInst {
            pred: Some((Reg::Placed(from), Cond::Equal)),
            tied: Some(to),
            ..MInst::new(Op::Logic, Dst::Reg(to), &[Src::reg(to), Src::reg(to)])
        };
        self.finish(zero.with(field!(lop), LogicOp::Xor), Span::NONE, out, None, 0)
    }

    /// An atomic operation on s[]: every thread that gets the word's lock computes, stores, unlocks and leaves the loop.
    fn locked(&mut self, i: &MInst, span: Span) -> Result<(), CompileError> {
        use retroshade_ir::AtomicOp as A;
        let (Extra::Lock(l), Dst::Reg(old)) = (&i.extra, i.dst) else { return Err(CompileError::Internal("no lock".into())) };
        let (temp, old, x, y) = (Dst::Reg(l.temp), Src::reg(old), i.src[0], i.src[1]);
        let word = Extra::Mem { off: l.off, ty: Access::B32, space: 0 };
        /// Holds where the lock was taken.
        const TAKEN: Cond = Cond::Less;
        let (head, exit) = (self.label(), self.label());
        self.control(PREBRK, Some(exit), None);
        self.bind(head);
        let mut body = vec![MInst {
            index: i.index,
            extra: word.clone(),
            cdst: Some(l.taken),
            ..MInst::new(Op::LdLock, i.dst, &[]).with(field!(w), true)
        }];
        let logic = |lop: LogicOp| MInst::new(Op::Logic, temp, &[old, x]).with(field!(lop), lop);
        match l.op {
            A::Add => body.push(MInst::new(Op::Add, temp, &[old, x])),
            A::Umin => body.push(MInst::new(Op::Min, temp, &[old, x])),
            A::Smin => body.push(MInst::new(Op::Min, temp, &[old, x]).with(field!(sg), true)),
            A::Umax => body.push(MInst::new(Op::Max, temp, &[old, x])),
            A::Smax => body.push(MInst::new(Op::Max, temp, &[old, x]).with(field!(sg), true)),
            A::And => body.push(logic(LogicOp::And)),
            A::Or => body.push(logic(LogicOp::Or)),
            A::Xor => body.push(logic(LogicOp::Xor)),
            A::Xchg => body.push(MInst::new(Op::Mov, temp, &[x])),
            A::Cas => {
                let equal = Some(l.equal);
                body.push(MInst { cdst: equal, ..MInst::new(Op::Set, Dst::Discard, &[old, x]).with(field!(rel), Cond::Equal) });
                body.push(MInst::new(Op::Mov, temp, &[old]));
                body.push(MInst { pred: Some((l.equal, Cond::NotEqual)), tied: Some(l.temp), ..MInst::new(Op::Mov, temp, &[y]) });
            }
        }
        let unlock = MInst::new(Op::StS, Dst::None, &[Src::None, Src::None, Src::reg(l.temp)]).with(field!(unlock), true);
        body.push(MInst { index: i.index, extra: word, pred: Some((l.taken, TAKEN)), ..unlock });
        let mut out = Vec::new();
        for b in body {
            self.expand(b.into(), span, &mut out, None)?;
        }
        self.lines.extend(out);
        let taken = number(l.taken).ok_or_else(|| CompileError::Internal("a flag in memory".into()))?;
        self.control(BRK, None, Some((taken, TAKEN)));
        self.control(BRA, Some(head), None);
        self.bind(exit);
        Ok(())
    }

    /// Spilled operands to scratch registers, the index to `$a`, then the instruction.
    fn expand(&mut self, i: Inst<'a>, span: Span, out: &mut Vec<Line<'a>>, pred: Option<Predicate>) -> Result<(), CompileError> {
        let (i, store) = if names_memory(&i) { self.reload(i.into_made(), span, out)? } else { (i, None) };
        let a = self.address_register(i.index, span, out)?;
        if let Extra::Tex(t) = &i.extra
            && let Some(c) = t.apart
        {
            // Lanes 0, 1, 2, 3 of a quad by the flags nothing, Z, S, both.
            for code in [Cond::Greater, Cond::Equal, Cond::Less, Cond::Unordered] {
                self.finish(MInst { pred: Some((c, code)), ..(*i).clone() }, span, out, None, 0)?;
            }
        } else {
            self.finish(i, span, out, pred, a)?;
        }
        if let Some((hw, t)) = store {
            let i = MInst { extra: Extra::Mem { off: hw, ty: Access::B32, space: 0 }, ..MInst::new(Op::StL, Dst::None, &[Src::reg(t)]) };
            self.finish(i, span, out, None, 0)?;
        }
        Ok(())
    }
    /// An instruction with its operands of l[] in scratch registers, which are loaded; the place in l[] and the register of a result that
    /// goes there.
    fn reload(&mut self, mut i: Box<MInst>, span: Span, out: &mut Vec<Line<'a>>) -> Result<(Inst<'a>, Option<(u32, Reg)>), CompileError> {
        let mut scratch = self.room.scratch();
        let mut loaded: Vec<(u32, Reg)> = Vec::new();
        let mut load = |s: &mut Self, r: &mut Reg, out: &mut Vec<Line<'a>>| -> Result<(), CompileError> {
            let Some(hw) = in_memory(*r) else { return Ok(()) };
            if let Some((_, t)) = loaded.iter().find(|l| l.0 == hw) {
                *r = *t;
                return Ok(());
            }
            let t = Reg::Placed(PlacedReg::Reg { class: 1, index: scratch });
            scratch += 1;
            let word = Extra::Mem { off: hw, ty: Access::B32, space: 0 };
            s.finish(MInst { extra: word, ..MInst::new(Op::LdL, Dst::Reg(t), &[]) }, span, out, None, 0)?;
            loaded.push((hw, t));
            *r = t;
            Ok(())
        };
        for s in &mut i.src {
            if let Src::Reg(r, _) = s {
                load(self, r, out)?;
            }
        }
        if let Index::Reg(r, _) = &mut i.index {
            load(self, r, out)?;
        }
        if let Some(t) = &mut i.tied {
            load(self, t, out)?;
        }
        let mut store = None;
        let (tied, third) = (i.tied, if let (true, Src::Reg(t, _)) = (i.tie3, i.src[2]) { Some(t) } else { None });
        if let Dst::Reg(r) | Dst::Half(r) = &mut i.dst
            && let Some(hw) = in_memory(*r)
        {
            let last = Reg::Placed(PlacedReg::Reg { class: 1, index: self.room.scratch() + SCRATCH - 1 });
            *r = tied.or(third).unwrap_or(last);
            store = Some((hw, *r));
        }
        Ok((Inst::Made(i), store))
    }
    /// The `$a` that holds an index, set up if none does.
    fn address_register(&mut self, index: Index, span: Span, out: &mut Vec<Line<'a>>) -> Result<u8, CompileError> {
        if index == Index::None {
            return Ok(0);
        }
        if let Some(n) = (1..4).find(|n| self.address[*n] == Some(index)) {
            return Ok(n as u8);
        }
        let n = self.next_a % 3 + 1;
        self.next_a += 1;
        let i = match index {
            Index::Reg(r, shift) => MInst::new(Op::ShlA, Dst::None, &[Src::reg(r), Src::Imm(shift as u32)]),
            Index::Vertex(v) => MInst::new(Op::ShlA, Dst::None, &[Src::A(4 * v), Src::Imm(0)]),
            Index::None => return Ok(0),
        };
        self.finish(i, span, out, None, n)?;
        self.address[n as usize] = Some(index);
        Ok(n)
    }
    fn finish(
        &mut self,
        i: impl Into<Inst<'a>>,
        span: Span,
        out: &mut Vec<Line<'a>>,
        pred: Option<Predicate>,
        a: u8,
    ) -> Result<(), CompileError> {
        let s = Setting { a, ..self.setting };
        let mut i = i.into();
        if let Some((c, code)) = pred {
            let mut made = i.into_made();
            made.pred = Some((Reg::Placed(PlacedReg::Reg { class: 0, index: c as u8 }), code));
            i = Inst::Made(made);
        }
        // A mov of a register to itself is nothing.
        if i.op == Op::Mov
            && let (Dst::Reg(d), Src::Reg(r, crate::select::mir::Part::Full)) = (i.dst, i.src[0])
            && number(d) == number(r)
        {
            return Ok(());
        }
        let no_form = |text: String| match s.chip.flexgrip {
            true => lacking(s.chip, &format!("any form of `{text}`"), span),
            false => CompileError::Internal(format!("no form takes `{text}`")),
        };
        let e = Enc::new(i, s, span).map_err(|i| no_form(i.text()))?;
        // An address register is stale once its source changes.
        for n in 1..4 {
            if let Some(Index::Reg(r, _)) = self.address[n]
                && let Some(x) = number(r)
            {
                let mut one = [0; 3];
                put(&mut one, x);
                if meets(&one, &e.writes) {
                    self.address[n] = None;
                }
            }
        }
        out.push(Line::Inst(e));
        Ok(())
    }
}
