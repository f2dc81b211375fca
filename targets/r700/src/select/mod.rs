//! Selection: legalised IR to scalar operations over webs.
//!
//! Vectors dissolve here: a vector value is a list of scalar lanes, and building, splitting and shuffling cost nothing.
//! Negation and absolute value travel in operands, saturation and ×2 ×4 ÷2 move into their producers, and comparisons
//! become predicates, kills or conditional moves where their only use allows it.

mod alu;
mod cond;
mod control;
pub mod doubled;
pub mod early;
pub mod fetch;
mod geometry;
pub mod late;
pub mod literals;
mod memory;
pub mod mir;
mod output;
pub mod paths;
pub mod tidy;

use geometry::Ring;
pub use geometry::VERTEX_OFFSETS;
pub use memory::in_scratch;

use crate::abi::Abi;
use crate::isa::forms::{Format, Number, TABLE, op2};
use crate::legal::numerics::NUMERICS;
use crate::select::mir::*;
use cond::Relation;
use retroshade_emit::form::FormId;
use retroshade_ir::passes::unroll::trip_counts;
use retroshade_ir::types::I1;
use retroshade_ir::{Block, Function, Imm, Inst, InstData, Module, Opcode, Scalar, Span, Value, ValueDef};
use retroshade_lower::CompileError;
use retroshade_lower::pattern::{Fired, Matcher, Selects};
use retroshade_lower::structure::Structure;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// One lane of a value, through everything that only renames lanes.
pub type Lane = (Value, u8);

/// A condition: a comparison that many instructions can perform themselves, or a mask.
#[derive(Clone, Copy, Debug)]
enum Cond {
    /// A comparison.
    Compare(Relation, Opnd, Opnd),
    /// All ones or zero.
    Mask(Opnd),
}

/// Operands and their webs, and the quad that holds these.
type Tuple = (Vec<(Opnd, Web)>, Quad);

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
    values: FxHashMap<Lane, Opnd>,
    uses: FxHashMap<Lane, SmallVec<[Inst; 4]>>,
    /// Local arrays in scratch memory: their first elements.
    memory: Vec<Option<u32>>,
    /// Inputs that are truth values: floats above 0 where they hold.
    signs: FxHashMap<Lane, Opnd>,
    inputs: FxHashMap<(u8, u8), Web>,
    input_quads: FxHashMap<u8, Quad>,
    outputs: Vec<((u8, u16, u8), Web)>,
    /// Outputs that one store at the top level gives their only value.
    finals: FxHashMap<(u8, u16, u8), Opnd>,
    stores: FxHashMap<(u8, u16, u8), u32>,
    depth: u32,
    defs: FxHashMap<Web, usize>,
    /// Tuples made in the current piece of code: operands and where they were put.
    tuples: Vec<Tuple>,
    /// Operands that moves of the current piece of code freed of their modifiers, what wrote them there, and the results.
    moved: Vec<(Opnd, Option<usize>, Opnd)>,
    /// The last blocks of the loops around, which lead back.
    latches: Vec<Block>,
    /// Pieces of code that ended within the current block.
    pieces: Vec<Step>,
    /// Geometry: where the next vertex goes.
    ring: Option<Ring>,
    /// Geometry: what outputs hold, as far as the straight line since the last branch tells.
    held: FxHashMap<Web, Opnd>,
    /// Geometry in a straight line: what was moved to the webs of outputs.
    moved_out: FxHashMap<Web, Opnd>,
    /// Geometry: webs that the current piece of code writes to the ring.
    in_ring: Vec<Web>,
    span: Span,
    error: Option<CompileError>,
    patterns: Rc<Matcher<'a, Lower<'a>>>,
}

impl Selects for Lower<'_> {
    fn fired(&mut self) -> &mut Fired {
        &mut self.mir.fired
    }
}

/// Rounds up to which a loop's own constants are followed.
const MOST_TRIPS: usize = 1024;

/// Whether a step holds a loop.
fn loops(s: &Step) -> bool {
    match s {
        Step::Loop(..) => true,
        Step::If { then, other } => then.iter().chain(other).any(loops),
        _ => false,
    }
}

/// Lowers a structured function to webs and operations.
pub fn lower(module: &Module, func: &Function, tree: &Structure, abi: &Abi) -> Result<Mir, CompileError> {
    let mut l = Lower {
        module,
        func,
        abi,
        mir: Mir::default(),
        code: Vec::new(),
        values: FxHashMap::default(),
        uses: FxHashMap::default(),
        memory: Vec::new(),
        signs: FxHashMap::default(),
        inputs: FxHashMap::default(),
        input_quads: FxHashMap::default(),
        outputs: Vec::new(),
        finals: FxHashMap::default(),
        stores: FxHashMap::default(),
        depth: 0,
        defs: FxHashMap::default(),
        tuples: Vec::new(),
        moved: Vec::new(),
        latches: Vec::new(),
        pieces: Vec::new(),
        ring: None,
        held: FxHashMap::default(),
        moved_out: FxHashMap::default(),
        in_ring: Vec::new(),
        span: Span::NONE,
        error: None,
        patterns: Rc::new(Matcher::new(Lower::PATTERNS)),
    };
    l.declare_locals()?;
    l.demand(&tree.blocks());
    l.start_ring(&tree.nodes);
    l.declare_outputs();
    let mut steps = l.nodes(&tree.nodes)?;
    l.exports();
    if !l.code.is_empty() {
        steps.push(Step::Code(std::mem::take(&mut l.code)));
    }
    l.mir.steps = steps;
    if l.mir.steps.iter().any(loops) {
        l.mir.trips = trip_counts(func, &NUMERICS, MOST_TRIPS);
    }
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
        let mut branch_args: FxHashMap<Lane, Vec<(Inst, Value)>> = FxHashMap::default();
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

    /// Ends the current piece of code.
    fn take_code(&mut self) -> Vec<Op> {
        self.defs.clear();
        self.tuples.clear();
        self.moved.clear();
        self.in_ring.clear();
        std::mem::take(&mut self.code)
    }

    /// Ends the current piece of code: what follows comes after its exports and control-flow instructions.
    fn end_piece(&mut self) {
        let code = self.take_code();
        self.pieces.push(Step::Code(code));
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
    pub fn emit(&mut self, form: FormId, src: &[Opnd]) -> Opnd {
        let w = self.mir.web();
        self.emit_to(form, src, w);
        Opnd::web(w)
    }

    /// As [`Lower::emit`], into a given web.
    pub fn emit_to(&mut self, form: FormId, src: &[Opnd], dst: Web) {
        let src = self.operands(form, src);
        self.push(Op::alu(form, &src, Some(dst)));
    }

    fn operands(&mut self, form: FormId, src: &[Opnd]) -> SmallVec<[Opnd; 8]> {
        let info = &TABLE.form(form).ext;
        let (float, op3) = (info.alu.operands == Number::Float, info.format == Format::Op3);
        if !src.iter().any(Opnd::modified) {
            return SmallVec::from_slice(src);
        }
        src.iter().map(|s| if s.modified() && (!float || s.abs && op3) { self.plain(*s) } else { *s }).collect()
    }

    /// The operand's value without modifiers, by a move if need be; the same one for all that ask until the web changes.
    pub fn plain(&mut self, s: Opnd) -> Opnd {
        if !s.modified() {
            return s;
        }
        let made = s.as_web().and_then(|w| self.defs.get(&w)).copied();
        if let Some((.., o)) = self.moved.iter().find(|(x, at, _)| *x == s && *at == made) {
            return *o;
        }
        let o = self.emit(op2::MOV, &[s]);
        self.moved.push((s, made, o));
        o
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
                    (Opcode::Input, _) if self.signs.contains_key(&(v, lane)) => return self.mask(v, lane),
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
