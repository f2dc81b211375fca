//! Selection: legalised IR to scalar operations over webs.
//!
//! Vectors dissolve here: a vector value is a list of scalar lanes, and building, splitting and shuffling cost nothing.
//! Negation and absolute value travel in operands, saturation and ×2 ×4 ÷2 move into their producers, and comparisons
//! become predicates, kills or conditional moves where their only use allows it.

use crate::abi::{Abi, BUFFER_RESOURCE, STORAGE_RESOURCE};
use crate::forms;
use crate::mir::*;
use cranelift_entity::EntityRef;
use retroshade_ir::types::I1;
use retroshade_ir::{Block, FloatCC, Function, Imm, Inst, InstData, IntCC, MemRef, Module, Opcode, Scalar, Span, Value, ValueDef};
use retroshade_lower::CompileError;
use retroshade_lower::structure::{Node, Structure};
use smallvec::SmallVec;
use std::collections::HashMap;

/// One lane of a value, through everything that only renames lanes.
pub type Lane = (Value, u8);

/// A condition: a comparison that many instructions can perform themselves, or a mask.
#[derive(Clone, Copy, Debug)]
enum Cond {
    /// A comparison by the suffix of SET/PRED_SET/KILL opcodes.
    Compare(&'static str, Opnd, Opnd),
    /// All ones or zero.
    Mask(Opnd),
}

/// Lowers a function.
pub struct Lower<'a> {
    /// The module.
    pub module: &'a Module,
    /// The function.
    pub func: &'a Function,
    /// Its interface.
    pub abi: &'a Abi,
    /// What is being built.
    pub mir: Mir,
    /// The current piece of straight-line code.
    pub code: Vec<Op>,
    values: HashMap<Lane, Opnd>,
    uses: HashMap<Lane, SmallVec<[Inst; 4]>>,
    inputs: HashMap<(u8, u8), Web>,
    input_quads: HashMap<u8, Quad>,
    outputs: Vec<((u8, u16, u8), Web)>,
    /// Outputs that one store at the top level gives their only value.
    finals: HashMap<(u8, u16, u8), Opnd>,
    stores: HashMap<(u8, u16, u8), u32>,
    depth: u32,
    defs: HashMap<Web, usize>,
    span: Span,
    error: Option<CompileError>,
}

/// Lowers a structured function to webs and operations.
pub fn lower(module: &Module, func: &Function, tree: &Structure, abi: &Abi) -> Result<Mir, CompileError> {
    let mut l = Lower {
        module,
        func,
        abi,
        mir: Mir::default(),
        code: Vec::new(),
        values: HashMap::new(),
        uses: HashMap::new(),
        inputs: HashMap::new(),
        input_quads: HashMap::new(),
        outputs: Vec::new(),
        finals: HashMap::new(),
        stores: HashMap::new(),
        depth: 0,
        defs: HashMap::new(),
        span: Span::NONE,
        error: None,
    };
    l.declare_locals()?;
    l.demand(&tree.blocks());
    l.declare_outputs();
    let mut steps = l.nodes(&tree.nodes)?;
    l.exports();
    if !l.code.is_empty() {
        steps.push(Step::Code(std::mem::take(&mut l.code)));
    }
    l.mir.steps = steps;
    match l.error {
        Some(e) => Err(e),
        None => Ok(l.mir),
    }
}

impl<'a> Lower<'a> {
    fn data(&self, i: Inst) -> &'a InstData {
        &self.func.insts[i]
    }

    /// The lane that really holds a value.
    pub fn root(&self, v: Value, lane: u8) -> Lane {
        root(self.func, v, lane)
    }

    /// Finds which lanes are used and by whom, from what has effects.
    fn demand(&mut self, blocks: &[Block]) {
        let mut work: Vec<Lane> = Vec::new();
        let mut branch_args: HashMap<Lane, Vec<(Inst, Value)>> = HashMap::new();
        for b in blocks {
            for i in &self.func.blocks[*b].insts {
                let d = self.data(*i);
                for t in &d.targets {
                    for (p, a) in self.func.blocks[t.block].params.iter().zip(&t.args) {
                        branch_args.entry((*p, 0)).or_default().push((*i, *a));
                    }
                }
                if !d.op.is_removable() {
                    for a in &d.args {
                        for lane in 0..self.func.ty(*a).lanes {
                            self.use_lane(*i, *a, lane, &mut work);
                        }
                    }
                }
            }
        }
        while let Some((v, lane)) = work.pop() {
            match self.func.def(v) {
                ValueDef::Result(i, _) => {
                    let d = self.data(i);
                    let all = matches!(d.op, Opcode::Dot | Opcode::Any | Opcode::All | Opcode::Tex | Opcode::Ext)
                        || matches!(d.imm, Imm::Mem { .. });
                    for a in &d.args {
                        let lanes = self.func.ty(*a).lanes;
                        if all {
                            (0..lanes).for_each(|l| self.use_lane(i, *a, l, &mut work));
                        } else {
                            self.use_lane(i, *a, if lanes > 1 { lane } else { 0 }, &mut work);
                        }
                    }
                }
                ValueDef::Param(..) => {
                    for (i, a) in branch_args.get(&(v, 0)).cloned().unwrap_or_default() {
                        self.use_lane(i, a, lane, &mut work);
                    }
                }
                ValueDef::Alias(_) => {}
            }
        }
    }

    fn use_lane(&mut self, by: Inst, v: Value, lane: u8, work: &mut Vec<Lane>) {
        let r = self.root(v, lane);
        let list = self.uses.entry(r).or_default();
        if list.is_empty() {
            work.push(r);
        }
        list.push(by);
    }

    fn used(&self, v: Value, lane: u8) -> bool {
        self.uses.contains_key(&(v, lane))
    }

    fn single_use(&self, r: Lane) -> bool {
        self.uses.get(&r).is_some_and(|u| u.len() == 1)
    }

    /// Appends an operation.
    pub fn push(&mut self, mut op: Op) {
        op.span = self.span;
        for w in op.writes() {
            self.defs.insert(w, self.code.len());
        }
        self.code.push(op);
    }

    /// Emits an operation with one result. Operand modifiers that it cannot take become moves.
    pub fn emit(&mut self, name: &str, src: &[Opnd]) -> Opnd {
        let w = self.mir.web();
        self.emit_to(name, src, w);
        Opnd::web(w)
    }

    /// As [`Lower::emit`], into a given web.
    pub fn emit_to(&mut self, name: &str, src: &[Opnd], dst: Web) {
        let src = self.operands(name, src);
        self.push(Op::alu(name, &src, Some(dst)));
    }

    fn operands(&mut self, name: &str, src: &[Opnd]) -> SmallVec<[Opnd; 8]> {
        let short = name.split(':').nth(1).unwrap_or(name);
        let float = float_operands(short);
        let op3 = name.starts_with("OP3");
        src.iter().map(|s| if s.modified() && (!float || s.abs && op3) { self.plain(*s) } else { *s }).collect()
    }

    /// The operand's value without modifiers, by a move if need be.
    pub fn plain(&mut self, s: Opnd) -> Opnd {
        if s.modified() { self.emit("OP2:MOV", &[s]) } else { s }
    }

    /// The operand of a lane.
    pub fn lane(&mut self, v: Value, lane: u8) -> Opnd {
        let r = self.root(v, lane);
        if let Some(o) = self.values.get(&r) {
            return *o;
        }
        let (v, lane) = r;
        let ty = self.func.ty(v);
        let o = match self.func.def(v) {
            ValueDef::Result(i, _) => {
                let d = self.data(i);
                match (d.op, &d.imm) {
                    (Opcode::Const, Imm::Const(bits)) => {
                        let b = bits[lane as usize];
                        Opnd::bits(if ty.scalar == Scalar::I1 && b != 0 { u32::MAX } else { b })
                    }
                    (Opcode::Undef, _) => Opnd::bits(0),
                    (Opcode::Fcmp | Opcode::Icmp, _) => return self.mask(v, lane),
                    _ => {
                        self.fail(CompileError::Internal(format!("{v} is used before it is lowered")));
                        Opnd::bits(0)
                    }
                }
            }
            _ => Opnd::web(self.mir.web()),
        };
        self.values.insert(r, o);
        o
    }

    /// Notes the first error.
    pub fn fail(&mut self, e: CompileError) {
        self.error.get_or_insert(e);
    }

    fn lanes(&mut self, v: Value) -> SmallVec<[Opnd; 4]> {
        (0..self.func.ty(v).lanes).map(|l| self.lane(v, l)).collect()
    }

    /// Sets the operand that stands for a lane.
    pub fn set(&mut self, v: Value, lane: u8, o: Opnd) {
        self.values.insert((v, lane), o);
    }

    // ---- control flow ----

    fn nodes(&mut self, nodes: &[Node]) -> Result<Vec<Step>, CompileError> {
        let mut out = Vec::new();
        for n in nodes {
            match n {
                Node::Block(b) => self.block(*b),
                Node::If { from, cond, then, other } => {
                    self.branch_copies(*from);
                    let leaves = |n: &[Node]| n.iter().any(|x| matches!(x, Node::Break));
                    let exchange = leaves(then) && !leaves(other) || self.trivial(then) && !leaves(other);
                    let (then, other) = if exchange { (other, then) } else { (then, other) };
                    let swapped = self.predicate(*cond, exchange, leaves(other) && !leaves(then));
                    let (then, other) = if swapped { (other, then) } else { (then, other) };
                    out.push(Step::Code(std::mem::take(&mut self.code)));
                    self.defs.clear();
                    let then = self.arm(then)?;
                    let other = self.arm(other)?;
                    out.push(Step::If { then, other });
                }
                Node::Loop { body, .. } => {
                    out.push(Step::Code(std::mem::take(&mut self.code)));
                    self.defs.clear();
                    let body = self.arm(body)?;
                    out.push(Step::Loop(body));
                }
                Node::Break | Node::Continue => {
                    out.push(Step::Code(std::mem::take(&mut self.code)));
                    self.defs.clear();
                    out.push(if matches!(n, Node::Break) { Step::Break } else { Step::Continue });
                }
            }
        }
        Ok(out)
    }

    /// Whether nodes hold no code and no copies.
    fn trivial(&self, nodes: &[Node]) -> bool {
        nodes.iter().all(|n| match n {
            Node::Block(b) => {
                let insts = &self.func.blocks[*b].insts;
                insts.len() <= 1 && self.func.successors(*b).iter().all(|t| t.args.is_empty())
            }
            _ => false,
        })
    }

    fn arm(&mut self, nodes: &[Node]) -> Result<Vec<Step>, CompileError> {
        self.depth += 1;
        let mut out = self.nodes(nodes)?;
        self.depth -= 1;
        if !self.code.is_empty() {
            out.push(Step::Code(std::mem::take(&mut self.code)));
        }
        self.defs.clear();
        Ok(out)
    }

    fn block(&mut self, b: Block) {
        let insts = &self.func.blocks[b].insts;
        for i in insts {
            self.span = self.func.spans[*i];
            let d = self.data(*i);
            if d.op.is_terminator() {
                if d.op == Opcode::Jump {
                    self.branch_copies(b);
                }
                continue;
            }
            let used = d.results.first().is_none_or(|r| (0..self.func.ty(*r).lanes).any(|l| self.used(*r, l)));
            if used {
                self.inst(*i);
            }
        }
    }

    /// The copies that the branch arguments of a block's terminator ask for, as if done all at once.
    fn branch_copies(&mut self, b: Block) {
        let Some(t) = self.func.terminator(b) else { return };
        let mut copies: Vec<(Web, Opnd)> = Vec::new();
        for call in &self.data(t).targets {
            for (p, a) in self.func.blocks[call.block].params.iter().zip(&call.args) {
                for lane in 0..self.func.ty(*p).lanes {
                    if self.used(*p, lane) {
                        let src = self.lane(*a, lane);
                        if let Some(dst) = self.lane(*p, lane).as_web()
                            && src != Opnd::web(dst)
                        {
                            copies.push((dst, src));
                        }
                    }
                }
            }
        }
        while !copies.is_empty() {
            let free = copies.iter().position(|(d, _)| !copies.iter().any(|(e, s)| e != d && s.as_web() == Some(*d)));
            match free {
                Some(k) => {
                    let (d, s) = copies.remove(k);
                    self.emit_to("OP2:MOV", &[s], d);
                }
                None => {
                    // A cycle: keep the old value of one destination aside.
                    let d = copies[0].0;
                    let t = self.emit("OP2:MOV", &[Opnd::web(d)]);
                    for (_, s) in &mut copies {
                        if s.as_web() == Some(d) {
                            s.place = t.place;
                        }
                    }
                }
            }
        }
    }

    // ---- conditions ----

    fn cond(&mut self, v: Value, lane: u8) -> (Cond, bool) {
        let (v, lane) = self.root(v, lane);
        if let Some(i) = self.func.def_inst(v) {
            let d = self.data(i);
            match (d.op, &d.imm) {
                (Opcode::Inot, _) => {
                    let (c, inv) = self.cond(d.args[0], lane);
                    return (c, !inv);
                }
                (Opcode::Fcmp, Imm::FloatCC(cc)) => {
                    if let Some((suffix, swap, inv)) = float_relation(*cc) {
                        let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                        let (a, b) = if swap { (b, a) } else { (a, b) };
                        return (Cond::Compare(suffix, a, b), inv);
                    }
                    let m = self.lane(v, lane);
                    return (Cond::Mask(m), false);
                }
                (Opcode::Icmp, Imm::IntCC(cc)) => {
                    let (suffix, swap) = int_relation(*cc);
                    let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                    let (a, b) = if swap { (b, a) } else { (a, b) };
                    return (Cond::Compare(suffix, a, b), false);
                }
                _ => {}
            }
        }
        (Cond::Mask(self.lane(v, lane)), false)
    }

    /// The mask of a comparison, computed at most once.
    fn mask(&mut self, v: Value, lane: u8) -> Opnd {
        if let Some(o) = self.values.get(&(v, lane)) {
            return *o;
        }
        let Some(i) = self.func.def_inst(v) else { return Opnd::bits(0) };
        let d = self.data(i);
        let o = match &d.imm {
            Imm::FloatCC(cc) => {
                let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                match cc {
                    FloatCC::One | FloatCC::Ueq => {
                        let (x, y) = (self.emit("OP2:SETGT_DX10", &[a, b]), self.emit("OP2:SETGT_DX10", &[b, a]));
                        let m = self.emit("OP2:OR_INT", &[x, y]);
                        if *cc == FloatCC::Ueq { self.emit("OP2:NOT_INT", &[m]) } else { m }
                    }
                    FloatCC::Ord => {
                        let (x, y) = (self.emit("OP2:SETE_DX10", &[a, a]), self.emit("OP2:SETE_DX10", &[b, b]));
                        self.emit("OP2:AND_INT", &[x, y])
                    }
                    FloatCC::Uno => {
                        let (x, y) = (self.emit("OP2:SETNE_DX10", &[a, a]), self.emit("OP2:SETNE_DX10", &[b, b]));
                        self.emit("OP2:OR_INT", &[x, y])
                    }
                    _ => {
                        let (suffix, swap, inv) = float_relation(*cc).unwrap_or(("E", false, false));
                        let (a, b) = if swap { (b, a) } else { (a, b) };
                        let m = self.emit(&format!("OP2:SET{suffix}_DX10"), &[a, b]);
                        if inv { self.emit("OP2:NOT_INT", &[m]) } else { m }
                    }
                }
            }
            Imm::IntCC(cc) => {
                let (suffix, swap) = int_relation(*cc);
                let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                let (a, b) = if swap { (b, a) } else { (a, b) };
                self.emit(&format!("OP2:SET{suffix}"), &[a, b])
            }
            _ => Opnd::bits(0),
        };
        self.values.insert((v, lane), o);
        o
    }

    /// Emits PRED_SET for a condition; returns whether the arms must be exchanged. `keep`: they must not.
    fn predicate(&mut self, v: Value, inverted: bool, keep: bool) -> bool {
        if let Some([a, b]) = self.both(v, inverted) {
            let mut op = Op::alu("OP2:PRED_SETGT_INT", &[a, b], None);
            op.kind = Kind::Pred;
            self.push(op);
            return false;
        }
        let (c, inv) = self.cond(v, 0);
        let inv = inv ^ inverted;
        let (name, src, swap) = match c {
            Cond::Compare(s, a, b) => {
                // Integer relations and equality invert exactly; the others only by exchanging the arms or through a mask.
                let exact = match s {
                    "E" if inv => Some(("NE", a, b)),
                    "NE" if inv => Some(("E", a, b)),
                    "E_INT" if inv => Some(("NE_INT", a, b)),
                    "NE_INT" if inv => Some(("E_INT", a, b)),
                    "GT_INT" if inv => Some(("GE_INT", b, a)),
                    "GE_INT" if inv => Some(("GT_INT", b, a)),
                    "GT_UINT" if inv => Some(("GE_UINT", b, a)),
                    "GE_UINT" if inv => Some(("GT_UINT", b, a)),
                    _ if inv => None,
                    _ => Some((s, a, b)),
                };
                match exact {
                    Some((s, a, b)) => (format!("OP2:PRED_SET{s}"), [a, b], false),
                    None if keep => {
                        let m = self.emit(&format!("OP2:SET{s}_DX10"), &[a, b]);
                        ("OP2:PRED_SETE_INT".to_string(), [m, Opnd::bits(0)], false)
                    }
                    None => (format!("OP2:PRED_SET{s}"), [a, b], true),
                }
            }
            Cond::Mask(m) => ((if inv { "OP2:PRED_SETE_INT" } else { "OP2:PRED_SETNE_INT" }).to_string(), [m, Opnd::bits(0)], false),
        };
        let src = self.operands(&name, &src);
        let mut op = Op::alu(&name, &src, None);
        op.kind = Kind::Pred;
        self.push(op);
        swap
    }

    /// A conjunction as one comparison of masks: 0 > -1 holds exactly where the first is false and the second true.
    fn both(&mut self, v: Value, inverted: bool) -> Option<[Opnd; 2]> {
        let (mut v, mut inv) = (self.root(v, 0).0, inverted);
        let d = loop {
            let d = self.data(self.func.def_inst(v)?);
            if d.op != Opcode::Inot {
                break d;
            }
            (v, inv) = (self.root(d.args[0], 0).0, !inv);
        };
        if !matches!((d.op, inv), (Opcode::Iand, false) | (Opcode::Ior, true)) || self.func.ty(v) != I1 {
            return None;
        }
        // The first mask is wanted as the complement of its factor, the second as the factor itself.
        for (x, y) in [(d.args[0], d.args[1]), (d.args[1], d.args[0])] {
            let complement = if d.op == Opcode::Iand { x } else { y };
            if let Some((form, a, b)) = self.complement(complement) {
                let c = self.emit(&form, &[a, b]);
                return Some(if d.op == Opcode::Iand { [c, self.lane(y, 0)] } else { [self.lane(x, 0), c] });
            }
        }
        None
    }

    /// The comparison that gives the complement of a truth value, where that is exact.
    fn complement(&mut self, v: Value) -> Option<(String, Opnd, Opnd)> {
        let (v, lane) = self.root(v, 0);
        let d = self.data(self.func.def_inst(v)?);
        let int = matches!(d.op, Opcode::Icmp);
        let (cc, swap) = match &d.imm {
            Imm::IntCC(cc) => int_relation(cc.inverse()),
            Imm::FloatCC(cc) => match float_relation(cc.inverse()) {
                Some((s, swap, false)) => (s, swap),
                _ => return None,
            },
            _ => return None,
        };
        let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
        let (a, b) = if swap { (b, a) } else { (a, b) };
        Some((if int { format!("OP2:SET{cc}") } else { format!("OP2:SET{cc}_DX10") }, a, b))
    }

    fn kill(&mut self, v: Value) {
        let (c, inv) = self.cond(v, 0);
        let (name, src) = match c {
            Cond::Compare(s, a, b) if !inv => (format!("OP2:KILL{s}"), [a, b]),
            Cond::Compare("E", a, b) => ("OP2:KILLNE".to_string(), [a, b]),
            Cond::Compare("NE", a, b) => ("OP2:KILLE".to_string(), [a, b]),
            Cond::Compare(s, a, b) => {
                let set = if s.ends_with("INT") { format!("OP2:SET{s}") } else { format!("OP2:SET{s}_DX10") };
                ("OP2:KILLE_INT".to_string(), [self.emit(&set, &[a, b]), Opnd::bits(0)])
            }
            Cond::Mask(m) => ((if inv { "OP2:KILLE_INT" } else { "OP2:KILLNE_INT" }).to_string(), [m, Opnd::bits(0)]),
        };
        let src = self.operands(&name, &src);
        let mut op = Op::alu(&name, &src, None);
        op.kind = Kind::Kill;
        self.push(op);
    }

    /// A select that needs no mask: a comparison with zero, or 1.0 and 0.0 as arms.
    fn direct_select(&self, c: Value, lane: u8, a: Value, b: Value, at: u8) -> Option<()> {
        let (v, lane) = self.root(c, if self.func.ty(c).lanes > 1 { lane } else { 0 });
        let i = self.func.def_inst(v)?;
        let d = self.data(i);
        let constant = |v: Value, l: u8| {
            let (v, l) = self.root(v, l);
            self.func.const_bits(v).map(|b| b[l as usize])
        };
        match (d.op, &d.imm) {
            (Opcode::Inot, _) => self.direct_select(d.args[0], lane, b, a, at),
            (Opcode::Fcmp, Imm::FloatCC(cc)) => {
                let (_, _, inv) = float_relation(*cc)?;
                let (x, y) = (constant(a, at), constant(b, at));
                let unit = if inv { x == Some(0) && y == Some(0x3f80_0000) } else { x == Some(0x3f80_0000) && y == Some(0) };
                let zero = |v: Value| constant(v, lane).is_some_and(|b| b & 0x7fff_ffff == 0);
                (unit || zero(d.args[0]) || zero(d.args[1])).then_some(())
            }
            (Opcode::Icmp, Imm::IntCC(cc)) => {
                let zero = |v: Value| constant(v, lane) == Some(0);
                let i32s = self.func.ty(d.args[0]).scalar == Scalar::I32;
                let unsigned = matches!(cc, IntCC::Ult | IntCC::Ule | IntCC::Ugt | IntCC::Uge);
                (i32s && !unsigned && (zero(d.args[0]) || zero(d.args[1]))).then_some(())
            }
            _ => None,
        }
    }

    fn select(&mut self, cond: Value, cond_lane: u8, a: Opnd, b: Opnd, direct: bool) -> Opnd {
        let (c, inv) = self.cond_or_mask(cond, cond_lane, direct);
        let (a, b) = if inv { (b, a) } else { (a, b) };
        let zero = |o: &Opnd| matches!(o.place, Place::Bits(b) if b & 0x7fff_ffff == 0);
        match c {
            Cond::Compare(s, x, y) => {
                if !s.contains("INT") && a == Opnd::float(1.0) && b == Opnd::float(0.0) {
                    return self.emit(&format!("OP2:SET{s}"), &[x, y]);
                }
                // With zero on the left the relation turns round: 0 > y is y < 0, the complement of y >= 0 except for NaN.
                let (name, x, a, b) = match (s, zero(&y)) {
                    ("E", true) => ("OP3:CNDE", x, a, b),
                    ("NE", true) => ("OP3:CNDE", x, b, a),
                    ("GT", true) => ("OP3:CNDGT", x, a, b),
                    ("GE", true) => ("OP3:CNDGE", x, a, b),
                    ("E", false) => ("OP3:CNDE", y, a, b),
                    ("NE", false) => ("OP3:CNDE", y, b, a),
                    ("GT", false) => ("OP3:CNDGT", y.negated(), a, b),
                    ("GE", false) => ("OP3:CNDGE", y.negated(), a, b),
                    ("E_INT", true) => ("OP3:CNDE_INT", x, a, b),
                    ("NE_INT", true) => ("OP3:CNDE_INT", x, b, a),
                    ("GT_INT", true) => ("OP3:CNDGT_INT", x, a, b),
                    ("GE_INT", true) => ("OP3:CNDGE_INT", x, a, b),
                    ("E_INT", false) => ("OP3:CNDE_INT", y, a, b),
                    ("NE_INT", false) => ("OP3:CNDE_INT", y, b, a),
                    ("GT_INT", false) => ("OP3:CNDGE_INT", y, b, a),
                    _ => ("OP3:CNDGT_INT", y, b, a),
                };
                self.emit(name, &[x, a, b])
            }
            Cond::Mask(m) => self.emit("OP3:CNDE_INT", &[m, b, a]),
        }
    }

    fn cond_or_mask(&mut self, v: Value, lane: u8, direct: bool) -> (Cond, bool) {
        if direct {
            return self.cond(v, lane);
        }
        // Without a direct form, an inverted relation costs nothing: the arms change places.
        let (v, lane) = self.root(v, lane);
        if let Some(i) = self.func.def_inst(v) {
            let d = self.data(i);
            if d.op == Opcode::Inot {
                let (c, inv) = self.cond_or_mask(d.args[0], lane, false);
                return (c, !inv);
            }
            if let (Opcode::Fcmp, Imm::FloatCC(cc), false) = (d.op, &d.imm, self.values.contains_key(&(v, lane)))
                && let (Some((s, swap, true)), true) = (float_relation(*cc), self.single_use((v, lane)))
            {
                let (a, b) = (self.lane(d.args[0], lane), self.lane(d.args[1], lane));
                let (a, b) = if swap { (b, a) } else { (a, b) };
                return (Cond::Mask(self.emit(&format!("OP2:SET{s}_DX10"), &[a, b])), true);
            }
        }
        (Cond::Mask(self.lane(v, lane)), false)
    }

    /// Whether a comparison's mask will be read; otherwise every user performs the comparison itself.
    fn needs_mask(&self, r: Lane) -> bool {
        self.uses.get(&r).is_some_and(|users| {
            users.iter().any(|i| {
                let d = self.data(*i);
                match d.op {
                    Opcode::BrIf | Opcode::Discard => false,
                    Opcode::Inot => d.results.first().is_some_and(|v| self.needs_mask((*v, r.1))),
                    Opcode::Select if self.root(d.args[0], r.1) == r || self.root(d.args[0], 0) == r => {
                        let v = d.results[0];
                        (0..self.func.ty(v).lanes)
                            .any(|l| self.used(v, l) && self.direct_select(d.args[0], l, d.args[1], d.args[2], l).is_none())
                            && (users.len() != 1)
                    }
                    _ => true,
                }
            })
        })
    }

    // ---- instructions ----

    fn inst(&mut self, i: Inst) {
        let d = self.data(i);
        use Opcode::*;
        match d.op {
            Const | Undef | Build | Splat | Extract | Insert | Shuffle | Bitcast => {}
            Output => self.output(d),
            LocalLoad | LocalStore => self.local(d),
            Uniform => self.uniform(d),
            StorageLoad => self.storage(d),
            Input => self.input(d),
            Tex => crate::fetch::texture(self, d),
            Ddx | Ddy => crate::fetch::derivative(self, d),
            Discard => self.kill(d.args[0]),
            Dot => self.dot(d),
            Any | All => {
                let mut m: SmallVec<[Opnd; 4]> = self.lanes(d.args[0]);
                let name = if d.op == Any { "OP2:OR_INT" } else { "OP2:AND_INT" };
                let mut acc = m.remove(0);
                for x in m {
                    acc = self.emit(name, &[acc, x]);
                }
                self.set(d.results[0], 0, acc);
            }
            Ext => self.ext(d),
            EmitVertex | EndPrimitive => {
                self.fail(CompileError::unsupported("R0102", self.span, "geometry programs are not supported on r700 yet"))
            }
            Fcmp | Icmp => {
                let r = d.results[0];
                for lane in 0..self.func.ty(r).lanes {
                    let composite = matches!(d.imm, Imm::FloatCC(cc) if float_relation(cc).is_none());
                    if self.used(r, lane) && (composite || self.needs_mask((r, lane))) {
                        self.mask(r, lane);
                    }
                }
            }
            _ => {
                let Some(r) = d.results.first().copied() else {
                    return self.fail(CompileError::unsupported("R0103", self.span, format!("R700 has no `{}`", d.op.name())));
                };
                for lane in 0..self.func.ty(r).lanes {
                    if self.used(r, lane) {
                        self.scalar(d, r, lane);
                    }
                }
            }
        }
    }

    fn arg(&mut self, d: &InstData, n: usize, lane: u8) -> Opnd {
        let v = d.args[n];
        self.lane(v, if self.func.ty(v).lanes > 1 { lane } else { 0 })
    }

    fn scalar(&mut self, d: &InstData, r: Value, lane: u8) {
        use Opcode::*;
        let ty = self.func.ty(r);
        if ty.scalar == Scalar::F16 {
            return self.fail(CompileError::unsupported("R0104", self.span, "R700 has no f16 arithmetic"));
        }
        let plain = match d.op {
            Fadd => "OP2:ADD",
            Fmul => "OP2:MUL_IEEE",
            Fma | Fmad => "OP3:MULADD_IEEE",
            Fmin => "OP2:MIN_DX10",
            Fmax => "OP2:MAX_DX10",
            Ffloor => "OP2:FLOOR",
            Fceil => "OP2:CEIL",
            Ftrunc => "OP2:TRUNC",
            Fround => "OP2:RNDNE",
            Ffract => "OP2:FRACT",
            Frcp => "OP2:RECIP_IEEE",
            Frsqrt => "OP2:RECIPSQRT_IEEE",
            Fsqrt => "OP2:SQRT_IEEE",
            Fexp2 => "OP2:EXP_IEEE",
            Flog2 => "OP2:LOG_IEEE",
            Iadd => "OP2:ADD_INT",
            Isub => "OP2:SUB_INT",
            Imul => "OP2:MULLO_INT",
            Umulhi => "OP2:MULHI_UINT",
            Smulhi => "OP2:MULHI_INT",
            Iand => "OP2:AND_INT",
            Ior => "OP2:OR_INT",
            Ixor => "OP2:XOR_INT",
            Inot => "OP2:NOT_INT",
            Ishl => "OP2:LSHL_INT",
            Ushr => "OP2:LSHR_INT",
            Sshr => "OP2:ASHR_INT",
            Umin => "OP2:MIN_UINT",
            Umax => "OP2:MAX_UINT",
            Smin => "OP2:MIN_INT",
            Smax => "OP2:MAX_INT",
            S2f => "OP2:INT_TO_FLT",
            U2f => "OP2:UINT_TO_FLT",
            _ => "",
        };
        let o = if !plain.is_empty() {
            if d.op == Inot && ty.scalar == Scalar::I1 && !self.needs_mask((r, lane)) {
                return;
            }
            let src: SmallVec<[Opnd; 4]> = (0..d.args.len()).map(|n| self.arg(d, n, lane)).collect();
            if let Some(o) = self.scaled(d, lane, &src) { o } else { self.emit(plain, &src) }
        } else {
            match d.op {
                Fneg => self.arg(d, 0, lane).negated(),
                Fabs => self.arg(d, 0, lane).absolute(),
                Fsub => {
                    let (a, b) = (self.arg(d, 0, lane), self.arg(d, 1, lane));
                    self.emit("OP2:ADD", &[a, b.negated()])
                }
                Fsaturate => self.saturated(d, lane),
                Ineg => {
                    let a = self.arg(d, 0, lane);
                    self.emit("OP2:SUB_INT", &[Opnd::bits(0), a])
                }
                Iabs => {
                    let a = self.arg(d, 0, lane);
                    let n = self.emit("OP2:SUB_INT", &[Opnd::bits(0), a]);
                    self.emit("OP2:MAX_INT", &[a, n])
                }
                F2s | F2u => {
                    let a = self.arg(d, 0, lane);
                    let whole = {
                        let (v, _) = self.root(d.args[0], lane);
                        self.func.def_inst(v).is_some_and(|i| matches!(self.data(i).op, Ffloor | Fceil | Ftrunc | Fround))
                    };
                    let t = if whole { a } else { self.emit("OP2:TRUNC", &[a]) };
                    self.emit(if d.op == F2s { "OP2:FLT_TO_INT" } else { "OP2:FLT_TO_UINT" }, &[t])
                }
                Select => {
                    let direct = self.direct_select(d.args[0], lane, d.args[1], d.args[2], lane).is_some();
                    let (a, b) = (self.arg(d, 1, lane), self.arg(d, 2, lane));
                    let cl = if self.func.ty(d.args[0]).lanes > 1 { lane } else { 0 };
                    let bits = |o: &Opnd| if let Place::Bits(b) = o.place { Some(b) } else { None };
                    match (direct, bits(&a), bits(&b)) {
                        // 1 or 0, and -1 or 0, are the mask itself.
                        (false, Some(x), Some(0)) if x != 0 => match self.cond_or_mask(d.args[0], cl, false) {
                            (Cond::Mask(m), false) if x == u32::MAX => m,
                            (Cond::Mask(m), false) => self.emit("OP2:AND_INT", &[m, a]),
                            _ => self.select(d.args[0], cl, a, b, direct),
                        },
                        _ => self.select(d.args[0], cl, a, b, direct),
                    }
                }
                _ => {
                    return self.fail(CompileError::unsupported("R0103", self.span, format!("R700 has no `{}`", d.op.name())));
                }
            }
        };
        self.set(r, lane, o);
    }

    /// The operation in the current code whose result is only this lane, so that its output may be changed.
    fn producer(&mut self, v: Value, lane: u8) -> Option<usize> {
        let r = self.root(v, lane);
        if !self.single_use(r) {
            return None;
        }
        let o = *self.values.get(&r)?;
        let w = o.as_web().filter(|_| !o.modified())?;
        let k = *self.defs.get(&w)?;
        let op = &self.code[k];
        (matches!(op.kind, Kind::Alu | Kind::Reduce)
            && op.dst.len() == 1
            && !op.clamp
            && float_result(op.name())
            && op.dst[0] == w
            && op.store.is_none())
        .then_some(k)
    }

    fn saturated(&mut self, d: &InstData, lane: u8) -> Opnd {
        let v = d.args[0];
        let l = if self.func.ty(v).lanes > 1 { lane } else { 0 };
        if let Some(k) = self.producer(v, l) {
            self.code[k].clamp = true;
            return Opnd::web(self.code[k].dst[0]);
        }
        let a = self.lane(v, l);
        let o = self.emit("OP2:MOV", &[a]);
        if let Some(op) = self.code.last_mut() {
            op.clamp = true;
        }
        o
    }

    /// A product with 2, 4 or 0.5 moves into the producer of the other factor.
    fn scaled(&mut self, d: &InstData, lane: u8, src: &[Opnd]) -> Option<Opnd> {
        if d.op != Opcode::Fmul {
            return None;
        }
        for n in 0..2 {
            let Place::Bits(bits) = src[1 - n].place else { continue };
            let omod = match bits {
                0x4000_0000 => 1,
                0x4080_0000 => 2,
                0x3f00_0000 => 3,
                _ => continue,
            };
            let v = d.args[n];
            let Some(k) = self.producer(v, if self.func.ty(v).lanes > 1 { lane } else { 0 }) else { continue };
            let op = &mut self.code[k];
            if op.name() == "MULADD_IEEE" {
                op.form = forms::id(["", "OP3:MULADD_IEEE_M2", "OP3:MULADD_IEEE_M4", "OP3:MULADD_IEEE_D2"][omod]);
            } else if !op.is_op3() && op.omod == 0 && op.name() != "MOV" {
                op.omod = omod as u8;
            } else {
                continue;
            }
            return Some(Opnd::web(op.dst[0]));
        }
        None
    }

    fn dot(&mut self, d: &InstData) {
        let (a, b) = (self.lanes(d.args[0]), self.lanes(d.args[1]));
        let w = self.mir.web();
        let mut src: SmallVec<[Opnd; 8]> = SmallVec::new();
        for k in 0..4 {
            src.push(a.get(k).copied().unwrap_or(Opnd::bits(0)));
            src.push(b.get(k).copied().unwrap_or(Opnd::bits(0)));
        }
        let mut op = Op::alu("OP2:DOT4_IEEE", &src, Some(w));
        op.kind = Kind::Reduce;
        self.push(op);
        self.set(d.results[0], 0, Opnd::web(w));
    }

    fn ext(&mut self, d: &InstData) {
        let Imm::Ext(name) = &d.imm else { return };
        if &**name == "r700.cube" {
            return self.cube(d);
        }
        if &**name == "r700.cube_direction" {
            for lane in 0..3 {
                let o = self.arg(d, lane as usize, 0);
                self.set(d.results[0], lane, o);
            }
            return;
        }
        let form = match &**name {
            "r700.sin" => "OP2:SIN",
            "r700.cos" => "OP2:COS",
            "r700.recip_uint" => "OP2:RECIP_UINT",
            "r700.mul" => "OP2:MUL",
            other => return self.fail(CompileError::Internal(format!("no selection for `{other}`"))),
        };
        let r = d.results[0];
        let src: SmallVec<[Opnd; 4]> = (0..d.args.len()).map(|n| self.arg(d, n, 0)).collect();
        let o = self.emit(form, &src);
        self.set(r, 0, o);
    }

    fn cube(&mut self, d: &InstData) {
        let [x, y, z] = [0, 1, 2].map(|n| self.arg(d, n, 0));
        let mut op = Op::alu("OP2:CUBE", &[z, y, z, x, x, z, y, z], None);
        op.kind = Kind::Reduce;
        for c in 0..4u8 {
            let w = self.mir.web();
            self.mir.webs[w.0 as usize].chan = Some(c);
            op.dst.push(w);
            self.set(d.results[0], c, Opnd::web(w));
        }
        self.push(op);
    }

    // ---- memory ----

    fn input(&mut self, d: &InstData) {
        let Imm::Mem { var: MemRef::Input(n), offset } = d.imm else { return };
        if !d.args.is_empty() {
            return self.fail(CompileError::unsupported("R0105", self.span, "inputs cannot be indexed dynamically on r700"));
        }
        let place = self.abi.inputs[n.index()];
        let r = d.results[0];
        let ty = self.func.ty(r);
        for lane in 0..ty.lanes {
            if !self.used(r, lane) {
                continue;
            }
            let at = (place.gpr + offset as u8, place.chan + lane);
            let w = match self.inputs.get(&at) {
                Some(w) => *w,
                None => {
                    let w = self.mir.web();
                    let q = match self.input_quads.get(&at.0) {
                        Some(q) => *q,
                        None => {
                            self.mir.quads.push(Vec::new());
                            let q = Quad(self.mir.quads.len() as u32 - 1);
                            self.input_quads.insert(at.0, q);
                            q
                        }
                    };
                    self.mir.quads[q.0 as usize].push(w);
                    self.mir.webs[w.0 as usize] = WebInfo { chan: Some(at.1), fixed: Some(at.0), quad: Some(q), settled: true };
                    self.inputs.insert(at, w);
                    w
                }
            };
            // Truth values arrive as the sign of a float.
            let o = if ty.scalar == Scalar::I1 { self.emit("OP2:SETGT_DX10", &[Opnd::web(w), Opnd::bits(0)]) } else { Opnd::web(w) };
            self.set(r, lane, o);
        }
    }

    fn uniform(&mut self, d: &InstData) {
        let Imm::Mem { var: MemRef::Uniform(n), offset } = d.imm else { return };
        let decl = &self.module.uniforms[n];
        let bank = self.abi.bank(decl.group, decl.binding);
        let r = d.results[0];
        let ty = self.func.ty(r);
        let at = decl.offset + offset * decl.unit;
        if d.args.is_empty() {
            for lane in 0..ty.lanes {
                let word = at / 4 + lane as u32;
                let o = Opnd { place: Place::Const(bank, (word / 4) as u16, (word % 4) as u8), neg: false, abs: false };
                let o = if ty.scalar == Scalar::I1 && self.used(r, lane) { self.emit("OP2:SETNE_INT", &[o, Opnd::bits(0)]) } else { o };
                self.set(r, lane, o);
            }
            return;
        }
        if !decl.unit.is_multiple_of(16) {
            return self.fail(CompileError::unsupported("R0106", self.span, "indexed uniforms need elements of 16 bytes on r700"));
        }
        let index = self.lane(d.args[0], 0);
        let index = match decl.unit / 16 {
            1 => index,
            k if k.is_power_of_two() => self.emit("OP2:LSHL_INT", &[index, Opnd::bits(k.trailing_zeros())]),
            k => self.emit("OP2:MULLO_INT", &[index, Opnd::bits(k)]),
        };
        let shift = at % 16 / 4;
        let fields = crate::fetch::buffer_fields(BUFFER_RESOURCE + bank as u64, at - at % 16, 15, 34);
        crate::fetch::buffer(self, r, index, &fields, shift as u8, true);
    }

    fn storage(&mut self, d: &InstData) {
        let Imm::Mem { var: MemRef::Storage(n), offset } = d.imm else { return };
        let r = d.results[0];
        let index = match d.args.first() {
            Some(v) => self.lane(*v, 0),
            None => Opnd::bits(0),
        };
        let lanes = self.func.ty(r).lanes;
        let format = [13, 29, 47, 34][lanes as usize - 1];
        let fields = crate::fetch::buffer_fields(STORAGE_RESOURCE + n.index() as u64, offset * 4, lanes as u64 * 4 - 1, format);
        crate::fetch::buffer(self, r, index, &fields, 0, false);
    }

    fn declare_locals(&mut self) -> Result<(), CompileError> {
        let mut total = 0u32;
        for l in self.func.locals.values() {
            total += l.count;
            if total > 64 {
                return Err(CompileError::limit(
                    "R0304",
                    Span::NONE,
                    format!("local array `{}` does not fit the registers kept for arrays", l.name),
                    total as u64,
                    64,
                ));
            }
            self.mir.locals.push(l.count as u8);
        }
        Ok(())
    }

    fn local(&mut self, d: &InstData) {
        let Imm::Mem { var: MemRef::Local(n), offset } = d.imm else { return };
        let local = n.index() as u8;
        let store = d.op == Opcode::LocalStore;
        let index = d.args.get(store as usize).copied();
        let rel = index.is_some();
        let offset = offset.min(127) as u8;
        if store {
            let mut stored = Vec::new();
            for lane in 0..self.func.ty(d.args[0]).lanes {
                let o = self.lane(d.args[0], lane);
                let o = if matches!(o.place, Place::Const(..)) { self.emit("OP2:MOV", &[o]) } else { o };
                stored.push((lane, o));
            }
            self.mova(index);
            for (lane, o) in stored {
                let mut op = Op::alu("OP2:MOV", &[o], None);
                op.store = Some((local, offset, lane, rel));
                self.push(op);
            }
        } else {
            self.mova(index);
            let r = d.results[0];
            for lane in 0..self.func.ty(r).lanes {
                if self.used(r, lane) {
                    let place = Place::Array { local, offset, chan: lane, rel };
                    let o = self.emit("OP2:MOV", &[Opnd { place, neg: false, abs: false }]);
                    self.set(r, lane, o);
                }
            }
        }
    }

    fn mova(&mut self, index: Option<Value>) {
        if let Some(v) = index {
            let o = self.lane(v, 0);
            let o = self.plain(o);
            let mut op = Op::alu("OP2:MOVA_INT", &[o], None);
            op.kind = Kind::Mova;
            self.push(op);
        }
    }

    // ---- outputs ----

    fn declare_outputs(&mut self) {
        let mut places: Vec<(u8, u16, u8)> = Vec::new();
        for (k, d) in self.module.outputs.values().enumerate() {
            for e in 0..d.count {
                let (kind, base, chan) = self.abi.output(self.module, k, e);
                places.extend((0..d.ty.lanes).map(|l| (kind, base, chan + l)));
            }
        }
        places.sort_unstable();
        places.dedup();
        for (_, i) in self.func.ordered() {
            let d = self.data(i);
            if let (Opcode::Output, Imm::Mem { var: MemRef::Output(n), offset }) = (d.op, &d.imm) {
                let dynamic = d.args.len() > 1;
                let last = if dynamic { self.module.outputs[*n].count } else { *offset + 1 };
                for e in *offset..last {
                    let (kind, base, chan) = self.abi.output(self.module, n.index(), e);
                    for l in 0..self.func.ty(d.args[0]).lanes {
                        *self.stores.entry((kind, base, chan + l)).or_default() += 1 + dynamic as u32;
                    }
                }
            }
        }
        for p in places {
            let w = self.mir.web();
            self.outputs.push((p, w));
        }
    }

    fn output(&mut self, d: &InstData) {
        let Imm::Mem { var: MemRef::Output(n), offset } = d.imm else { return };
        if let Some(index) = d.args.get(1).copied() {
            // Every element takes the value where the index names it.
            let at = self.lane(index, 0);
            let at = self.plain(at);
            for e in offset..self.module.outputs[n].count {
                let here = self.emit("OP2:SETE_INT", &[at, Opnd::bits(e - offset)]);
                let (kind, base, chan) = self.abi.output(self.module, n.index(), e);
                for lane in 0..self.func.ty(d.args[0]).lanes {
                    let o = self.lane(d.args[0], lane);
                    if let Some((_, w)) = self.outputs.iter().find(|(p, _)| *p == (kind, base, chan + lane)) {
                        let w = *w;
                        self.emit_to("OP3:CNDE_INT", &[here, Opnd::web(w), o], w);
                    }
                }
            }
            return;
        }
        let (kind, base, chan) = self.abi.output(self.module, n.index(), offset);
        let ty = self.func.ty(d.args[0]);
        for lane in 0..ty.lanes {
            let o = self.lane(d.args[0], lane);
            let o = if ty.scalar == Scalar::I1 { self.emit("OP2:AND_INT", &[o, Opnd::bits(1)]) } else { o };
            let place = (kind, base, chan + lane);
            if self.depth == 0 && self.stores.get(&place) == Some(&1) {
                self.finals.insert(place, o);
                continue;
            }
            if let Some((_, w)) = self.outputs.iter().find(|(p, _)| *p == place) {
                let w = *w;
                self.emit_to("OP2:MOV", &[o], w);
            }
        }
    }

    /// The exports at the end: one per target, plus the ones that the stage demands.
    fn exports(&mut self) {
        let mut targets: Vec<(u8, u16)> = self.outputs.iter().map(|((k, b, _), _)| (*k, *b)).collect();
        targets.dedup();
        let must: &[(u8, u16)] = if self.module.stage == retroshade_ir::Stage::Fragment { &[(0, 0)] } else { &[(1, 60), (2, 0)] };
        for m in must {
            if !targets.iter().any(|t| t.0 == m.0) {
                targets.push(*m);
            }
        }
        targets.sort_unstable_by_key(|t| (t.0 != 1, *t));
        for (kind, base) in targets {
            let mut src = [Coord::Masked; 4];
            let mut lanes: Vec<(usize, Opnd)> = Vec::new();
            for ((k, b, c), w) in &self.outputs {
                if (*k, *b) == (kind, base) {
                    let o = self.finals.get(&(*k, *b, *c)).copied().unwrap_or(Opnd::web(*w));
                    lanes.push((*c as usize & 3, o));
                }
            }
            let operands: Vec<Opnd> = lanes.iter().map(|l| l.1).collect();
            let (coords, quad) = self.tuple(&operands);
            for ((c, _), x) in lanes.iter().zip(coords) {
                src[*c] = x;
            }
            self.push(Op::other(Kind::Export(Box::new(Export { kind, base, src, quad }))));
        }
    }

    /// A quad of webs; `None` if there are none.
    pub fn quad(&mut self, members: Vec<Web>) -> Option<Quad> {
        if members.is_empty() {
            return None;
        }
        let q = Quad(self.mir.quads.len() as u32);
        for w in &members {
            self.mir.webs[w.0 as usize].quad = Some(q);
        }
        self.mir.quads.push(members);
        Some(q)
    }

    /// Moves operands into a quad of their own; 0.0 and 1.0 need no register and equal operands share one.
    pub fn tuple(&mut self, src: &[Opnd]) -> (SmallVec<[Coord; 4]>, Option<Quad>) {
        let mut out: SmallVec<[Coord; 4]> = SmallVec::new();
        let mut members: Vec<(Opnd, Web)> = Vec::new();
        for s in src {
            out.push(match s.place {
                Place::Bits(0) => Coord::Zero,
                Place::Bits(0x3f80_0000) => Coord::One,
                _ => match members.iter().find(|(o, _)| o == s) {
                    Some((_, w)) => Coord::Web(*w),
                    None => {
                        let w = self.mir.web();
                        self.emit_to("OP2:MOV", &[*s], w);
                        members.push((*s, w));
                        Coord::Web(w)
                    }
                },
            });
        }
        let quad = self.quad(members.into_iter().map(|m| m.1).collect());
        (out, quad)
    }
    /// Whether a lane of a result is read.
    pub fn wants(&self, v: Value, lane: u8) -> bool {
        self.used(v, lane)
    }
    /// A value's type as a helper for the fetch selection.
    pub fn is_bool(&self, v: Value) -> bool {
        self.func.ty(v) == I1
    }
    /// The place of the instruction being lowered.
    pub fn span(&self) -> Span {
        self.span
    }
}

/// The SET suffix for a float relation: (suffix, exchange operands, the relation is the complement).
fn float_relation(cc: FloatCC) -> Option<(&'static str, bool, bool)> {
    use FloatCC::*;
    Some(match cc {
        Oeq => ("E", false, false),
        Une => ("NE", false, false),
        Ogt => ("GT", false, false),
        Oge => ("GE", false, false),
        Olt => ("GT", true, false),
        Ole => ("GE", true, false),
        Ult => ("GE", false, true),
        Ule => ("GT", false, true),
        Ugt => ("GE", true, true),
        Uge => ("GT", true, true),
        Ord | Uno | One | Ueq => return None,
    })
}

fn int_relation(cc: IntCC) -> (&'static str, bool) {
    use IntCC::*;
    match cc {
        Eq => ("E_INT", false),
        Ne => ("NE_INT", false),
        Sgt => ("GT_INT", false),
        Sge => ("GE_INT", false),
        Slt => ("GT_INT", true),
        Sle => ("GE_INT", true),
        Ugt => ("GT_UINT", false),
        Uge => ("GE_UINT", false),
        Ult => ("GT_UINT", true),
        Ule => ("GE_UINT", true),
    }
}

/// Follows builds, extracts, inserts, shuffles and bitcasts to the lane that really holds the value.
pub fn root(func: &Function, mut v: Value, mut lane: u8) -> Lane {
    loop {
        v = func.resolve(v);
        let Some(i) = func.def_inst(v) else { return (v, lane) };
        let d = &func.insts[i];
        match (d.op, &d.imm) {
            (Opcode::Build, _) => (v, lane) = (d.args[lane as usize], 0),
            (Opcode::Splat, _) => (v, lane) = (d.args[0], 0),
            (Opcode::Extract, Imm::Lane(k)) => (v, lane) = (d.args[0], *k),
            (Opcode::Insert, Imm::Lane(k)) => (v, lane) = if *k == lane { (d.args[1], 0) } else { (d.args[0], lane) },
            (Opcode::Shuffle, Imm::Lanes(mask)) => {
                let n = func.ty(d.args[0]).lanes;
                let m = mask[lane as usize];
                (v, lane) = if m < n { (d.args[0], m) } else { (d.args[1], m - n) };
            }
            (Opcode::Bitcast, _) => v = d.args[0],
            _ => return (v, lane),
        }
    }
}
