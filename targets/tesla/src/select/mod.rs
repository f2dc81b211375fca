//! Selection: legalised IR to machine instructions over virtual registers.
//!
//! Values that cost nothing to name again (constants, uniforms, attributes, sign changes, comparisons, lanes of vectors)
//! are not computed where they stand but folded into their users: as c[] and a[] operands, immediates, `neg`/`abs`
//! modifiers, `$c` flags. What does not fold is put in a register once per block. What each operation becomes is a list of patterns in `arith.rs`.

mod arith;
pub(crate) mod combine;
mod inst;
pub(crate) mod literals;
mod live;
mod memory;
pub mod mir;
mod operands;
mod outputs;
pub mod patterns;
pub(crate) mod restrict;
mod texture;

use crate::abi::Abi;
use crate::isa::chip::Chip;
use crate::isa::forms::{Cond, LogicOp, Op, field};
use crate::select::mir::*;
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::{Ranges, Uniformity};
use retroshade_ir::{Block, Function, Imm, Inst, Local, MemRef, Module, Opcode, Scalar, Span, Stage, Value, ValueDef};
use retroshade_lower::pattern::{Fired, Matcher, Selects};
use retroshade_lower::{CompileError, Reg, Target, VCode, VReg};
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// A source with its modifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mod {
    pub src: Src,
    pub neg: bool,
    pub abs: bool,
}

/// What an instruction accepts besides registers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Accepts {
    /// a[]/s[]/p[] in source 1.
    pub mem: bool,
    /// c[] in source 2.
    pub c2: bool,
    /// c[] in source 3.
    pub c3: bool,
    /// A constant in source 2 (an immediate form exists).
    pub imm: bool,
    /// Sources 1 and 2 may be exchanged.
    pub swap: bool,
}

/// What an instruction has room for once: a word of c[] (space, byte offset) or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    /// A word of c[].
    Uniform(u8, u32),
    /// A constant other than 0.
    Constant(u32),
}

/// What is known about the function before it is selected.
pub(crate) struct Facts<'a> {
    pub uses: SecondaryMap<Value, u32>,
    /// Lanes of each vector that something reads.
    pub read_lanes: SecondaryMap<Value, u8>,
    /// The single user of a value, and its block.
    pub user: SecondaryMap<Value, Option<(Inst, Block)>>,
    pub home: SecondaryMap<Value, Option<Block>>,
    /// The lanes taken of texels, and what takes them.
    pub texel_lanes: BTreeMap<Value, Vec<(u8, Value)>>,
    /// How often each word of a[] is an operand.
    pub attribute_uses: BTreeMap<u32, u32>,
    /// How often, in a block, an operand meets another one that its instruction cannot name besides it.
    pub contests: BTreeMap<(Block, Word), u32>,
    /// How often each lane of a vector is taken out.
    pub lane_uses: BTreeMap<(Value, u8), u32>,
    /// Found when a product of integers asks for it.
    pub ranges: OnceCell<Ranges>,
    pub uniformity: &'a Uniformity,
}

/// The block at hand, and what is in registers there already.
pub(crate) struct Here {
    pub block: Block,
    /// Its number in the code.
    pub number: usize,
    values: BTreeMap<Value, Reg>,
    constants: BTreeMap<u32, Reg>,
    flags: BTreeMap<Value, (Reg, bool)>,
    truths: BTreeMap<(Value, u8), Reg>,
    /// Addresses in g[]: a word index and bytes behind it.
    pub addresses: BTreeMap<(Value, u32), Reg>,
    /// The same behind a buffer's address in the only global memory.
    pub placed: BTreeMap<(VReg, u8), Reg>,
    /// Uniform words.
    loaded: BTreeMap<(u8, u32), Reg>,
    /// Words of a[].
    attributes: BTreeMap<u32, Reg>,
    /// Indices times the size of an element.
    pub products: BTreeMap<(Value, u32), Reg>,
    /// The lane's number in its quad as a `$c`.
    pub quad_lane: Option<Reg>,
    /// 1 / v[w].
    pub w: Option<Reg>,
}

impl Here {
    fn new(block: Block, number: usize) -> Here {
        Here {
            block,
            number,
            values: BTreeMap::new(),
            constants: BTreeMap::new(),
            flags: BTreeMap::new(),
            truths: BTreeMap::new(),
            addresses: BTreeMap::new(),
            placed: BTreeMap::new(),
            loaded: BTreeMap::new(),
            attributes: BTreeMap::new(),
            products: BTreeMap::new(),
            quad_lane: None,
            w: None,
        }
    }
}

/// Selection state.
pub(crate) struct Lower<'a> {
    pub module: &'a Module,
    pub func: &'a Function,
    pub abi: &'a Abi,
    pub chip: &'a Chip,
    pub facts: Facts<'a>,
    pub vc: VCode<MInst>,
    pub here: Here,
    pub span: Span,
    pub regs: SecondaryMap<Value, Option<VReg>>,
    pub lanes: BTreeMap<(Value, u8), Reg>,
    /// Fragment results so far.
    pub results: BTreeMap<u32, (Value, Option<u8>)>,
    pub thread_id: Option<Reg>,
    /// Whether helper lanes need texels, too.
    pub derivatives: bool,
    /// Instructions already covered by a larger pattern.
    pub covered: SecondaryMap<Inst, bool>,
    pub local_base: Vec<u32>,
    /// Byte offsets of the local arrays that stand in constant memory.
    pub tables: SecondaryMap<Local, Option<u32>>,
    /// Whether constants may be the immediates of products of halves, which then stand in `$r0`–`$r31`.
    pub half_immediates: bool,
    /// Patterns that applied.
    pub patterns: Fired,
}

/// The selected program: code, and which virtual block each IR block became.
pub(crate) struct Selected {
    pub vcode: VCode<MInst>,
    pub blocks: SecondaryMap<Block, u32>,
    pub patterns: Fired,
}

/// Selects a legalised, structured function.
pub(crate) fn select(
    module: &Module,
    uniformity: &Uniformity,
    abi: &mut Abi,
    chip: &Chip,
    half_immediates: bool,
) -> Result<Selected, CompileError> {
    abi.check(module)?;
    let func = module.main();
    let mut vc = VCode::new();
    let mut blocks = SecondaryMap::with_default(u32::MAX);
    let cfg = retroshade_ir::analysis::Cfg::new(func);
    let dom = retroshade_ir::analysis::DomTree::new(func, &cfg);
    let loops = retroshade_ir::analysis::Loops::new(&cfg, &dom);
    for b in &func.layout {
        blocks[*b] = vc.block(depth(&loops, *b)) as u32;
    }
    let tables = abi.lay_out_tables(func);
    let mut local_base = Vec::new();
    let mut at = 0u32;
    for (n, l) in func.locals.iter() {
        if tables[n].is_some() {
            local_base.push(0);
            continue;
        }
        // Pairs and quads of words are read at once.
        at = at.next_multiple_of(if l.ty.lanes.is_power_of_two() { 4 * l.ty.lanes as u32 } else { 4 });
        local_base.push(at);
        at += l.count * l.ty.lanes as u32 * 4;
    }
    abi.local_bytes = at;
    if at > 0x1_0000 {
        return Err(CompileError::limit("T0101", Span::NONE, "local arrays exceed the address space of l[]", at as u64, 0x1_0000));
    }
    abi.discards = func.ordered().any(|(_, i)| func.insts[i].op == Opcode::Discard);
    let facts = Facts {
        uses: func.use_counts(),
        read_lanes: SecondaryMap::new(),
        user: SecondaryMap::new(),
        home: SecondaryMap::new(),
        texel_lanes: BTreeMap::new(),
        attribute_uses: BTreeMap::new(),
        contests: BTreeMap::new(),
        lane_uses: BTreeMap::new(),
        ranges: OnceCell::new(),
        uniformity,
    };
    let mut l = Lower {
        module,
        func,
        abi,
        chip,
        facts,
        vc,
        here: Here::new(func.entry().unwrap_or(Block::from_u32(0)), 0),
        span: Span::NONE,
        regs: SecondaryMap::new(),
        lanes: BTreeMap::new(),
        results: BTreeMap::new(),
        thread_id: None,
        derivatives: false,
        covered: SecondaryMap::new(),
        local_base,
        tables,
        half_immediates,
        patterns: Fired::default(),
    };
    let patterns = Matcher::new(Lower::PATTERNS);
    let values = func.values.len();
    l.facts.read_lanes.resize(values);
    l.facts.user.resize(values);
    l.facts.home.resize(values);
    l.regs.resize(values);
    l.covered.resize(func.insts.len());
    l.prepare();
    for b in func.layout.clone() {
        let n = blocks[b] as usize;
        let params: Vec<VReg> = func.blocks[b].params.clone().iter().map(|p| l.new_value(*p)).collect();
        l.vc.blocks[n].params = params;
    }
    for (order, b) in func.layout.clone().into_iter().enumerate() {
        l.here = Here::new(b, blocks[b] as usize);
        // Most operations are an instruction each.
        l.vc.blocks[blocks[b] as usize].insts.reserve(func.blocks[b].insts.len());
        if order == 0 && module.stage == Stage::Compute {
            l.entry_compute();
        }
        for i in func.blocks[b].insts.clone() {
            l.span = func.spans[i];
            if func.insts[i].op.is_terminator() {
                l.terminator(i, &blocks)?;
            } else {
                l.inst(i, &patterns)?;
            }
        }
    }
    Ok(Selected { vcode: l.vc, blocks, patterns: l.patterns })
}

fn depth(loops: &retroshade_ir::analysis::Loops, b: Block) -> u32 {
    loops.depth(b)
}

impl Selects for Lower<'_> {
    fn fired(&mut self) -> &mut Fired {
        &mut self.patterns
    }
}

impl<'a> Lower<'a> {
    fn prepare(&mut self) {
        let mut count: SecondaryMap<Value, u32> = SecondaryMap::new();
        count.resize(self.func.values.len());
        for (b, i) in self.func.ordered() {
            let d = &self.func.insts[i];
            for r in &d.results {
                self.facts.home[*r] = Some(b);
            }
            let lanes = match (d.op, &d.imm) {
                (Opcode::Extract, Imm::Lane(_)) if d.results.iter().all(|r| self.facts.uses[*r] == 0) => 0,
                (Opcode::Extract, Imm::Lane(l)) => 1 << l,
                _ => 15,
            };
            for v in d.args.iter().chain(d.targets.iter().flat_map(|t| &t.args)) {
                self.facts.read_lanes[self.func.resolve(*v)] |= lanes;
            }
            for v in &d.args {
                let v = self.func.resolve(*v);
                count[v] += 1;
                self.facts.user[v] = Some((i, b));
                if let Some(word) = self.attribute(v) {
                    *self.facts.attribute_uses.entry(word).or_default() += 1;
                }
            }
            if let (Opcode::Extract, Imm::Lane(l)) = (d.op, &d.imm) {
                *self.facts.lane_uses.entry((self.func.resolve(d.args[0]), *l)).or_default() += self.facts.uses[d.results[0]];
            }
            self.contest(b, d);
            match (d.op, &d.imm) {
                (Opcode::Extract, Imm::Lane(l)) if self.facts.uses[d.results[0]] != 0 => {
                    let texel = self.func.resolve(d.args[0]);
                    if self.func.def_if(texel, Opcode::Tex).is_some() {
                        self.facts.texel_lanes.entry(texel).or_default().push((*l, d.results[0]));
                    }
                }
                _ => {}
            }
        }
        self.derivatives = live::helpers_need_texels(self.func);
        for v in self.func.values.keys() {
            if count[v] != 1 || self.facts.uses[v] != 1 {
                self.facts.user[v] = None;
            }
        }
    }

    /// Notes which operands of an instruction stand in each other's way.
    fn contest(&mut self, b: Block, d: &retroshade_ir::InstData) {
        use Opcode::*;
        let operands = match d.op {
            Fadd | Fsub | Fmul | Fmin | Fmax | Iadd | Isub | Fcmp | Icmp | Umin | Umax | Smin | Smax | Iand | Ior | Ixor => 2,
            Fmad => 3,
            _ => return,
        };
        let words: SmallVec<[Word; 3]> = d.args.iter().take(operands).filter_map(|v| self.word(*v)).collect();
        if words.len() > 1 {
            words.into_iter().for_each(|w| *self.facts.contests.entry((b, w)).or_default() += 1);
        }
    }
    /// The word that an operand is, below its sign.
    fn word(&self, v: Value) -> Option<Word> {
        let v = self.func.resolve(v);
        if let Some(k) = self.bits(v) {
            return Some(Word::Constant(k)).filter(|_| k != 0);
        }
        let d = self.def(v)?;
        let (vec, lane) = match (d.op, &d.imm) {
            (Opcode::Fneg | Opcode::Fabs | Opcode::Bitcast, _) if self.func.ty(d.args[0]).lanes == 1 => return self.word(d.args[0]),
            (Opcode::Extract, Imm::Lane(l)) => (self.func.resolve(d.args[0]), u32::from(*l)),
            _ if self.func.ty(v).lanes == 1 => (v, 0),
            _ => return None,
        };
        let d = self.func.def_if(vec, Opcode::Uniform).filter(|d| d.args.is_empty())?;
        let Imm::Mem { var: MemRef::Uniform(u), offset } = d.imm else { return None };
        let p = &self.abi.uniforms[u.as_u32() as usize];
        Some(Word::Uniform(p.space, p.offset + offset * p.unit + 4 * lane))
    }

    /// The word of a[] that a scalar is.
    fn attribute(&self, v: Value) -> Option<u32> {
        let (vec, lane) = match self.def(v) {
            Some(d) if d.op == Opcode::Extract => (d.args[0], if let Imm::Lane(l) = d.imm { l } else { 0 }),
            _ if self.func.ty(v).lanes == 1 => (v, 0),
            _ => return None,
        };
        let d = self.func.def_if(vec, Opcode::Input).filter(|d| self.module.stage == Stage::Vertex && d.args.is_empty())?;
        let Imm::Mem { var: MemRef::Input(n), offset } = d.imm else { return None };
        self.abi.input_offset(n.as_u32(), offset, lane.into())
    }

    /// Notes that a pattern applied.
    pub fn note(&mut self, pattern: &'static str) {
        self.patterns.note(pattern);
    }

    // ---- emission

    pub fn emit(&mut self, mut i: MInst) {
        // Immediate forms have no output words, predicates or flags.
        if (matches!(i.dst, Dst::Out(_) | Dst::Discard) || i.cdst.is_some() || i.pred.is_some())
            && !matches!(i.op, Op::Shl | Op::Shr | Op::ShlA)
        {
            for k in 0..3 {
                if matches!(i.src[k], Src::Imm(x) if x != 0) {
                    i.src[k] = Src::reg(self.in_register(i.src[k]));
                }
            }
        }
        self.vc.push(self.here.number, i, self.span);
    }
    pub fn fresh(&mut self) -> Reg {
        self.vc.reg(GPR, self.span)
    }
    pub fn fresh_flag(&mut self) -> Reg {
        self.vc.reg(CC, self.span)
    }
    /// The register of a value that is being defined.
    pub fn new_value(&mut self, v: Value) -> VReg {
        let r = self.vc.vreg(GPR, self.span);
        self.regs[v] = Some(r);
        r
    }
    /// The destination of a value that is being defined.
    pub fn define(&mut self, v: Value) -> Dst {
        Dst::Reg(Reg::Virtual(self.new_value(v)))
    }

    // ---- values as operands

    /// The defining instruction's operation, operands and immediate.
    pub fn def(&self, v: Value) -> Option<&'a retroshade_ir::InstData> {
        let func = self.func;
        func.def_inst(v).map(|i| &func.insts[i])
    }
    /// A constant's bits, through bit casts.
    pub fn bits(&self, v: Value) -> Option<u32> {
        match self.def(v) {
            Some(d) if d.op == Opcode::Const => match d.imm {
                Imm::Const(b) => Some(b[0]),
                _ => None,
            },
            Some(d) if d.op == Opcode::Bitcast && self.func.ty(d.args[0]).lanes == 1 => self.bits(d.args[0]),
            _ => None,
        }
    }

    /// A value as an operand, without code where it folds.
    pub fn operand(&mut self, v: Value) -> Result<Src, CompileError> {
        let v = self.func.resolve(v);
        if let Some(r) = self.regs[v] {
            return Ok(Src::reg(Reg::Virtual(r)));
        }
        let ValueDef::Result(i, _) = self.func.def(v) else {
            return Err(CompileError::Internal(format!("{v} has no register")));
        };
        let func = self.func;
        let d = &func.insts[i];
        Ok(match (d.op, &d.imm) {
            (Opcode::Const, Imm::Const(b)) if self.func.ty(v).scalar == Scalar::I1 => Src::Imm(0u32.wrapping_sub(b[0] & 1)),
            (Opcode::Const, Imm::Const(b)) => Src::Imm(b[0]),
            (Opcode::Undef, _) => Src::Imm(0),
            (Opcode::Bitcast, _) => self.operand(d.args[0])?,
            (Opcode::Ext, Imm::Ext(n)) if matches!(&**n, "tesla.half_from" | "tesla.mask") => self.operand(d.args[0])?,
            (Opcode::Extract, Imm::Lane(n)) => self.lane(d.args[0], *n)?,
            (Opcode::Uniform | Opcode::Input, _) if self.func.ty(v).lanes == 1 => self.lane(v, 0)?,
            (Opcode::Fcmp | Opcode::Icmp, _) => Src::reg(self.mask(v)?),
            (Opcode::Fneg | Opcode::Fabs, _) => Src::reg(self.register(v)?),
            _ => return Err(CompileError::Internal(format!("`{}` ({v}) was not selected", d.op.name()))),
        })
    }
    /// A lane of a vector.
    pub fn lane(&mut self, vec: Value, lane: u8) -> Result<Src, CompileError> {
        let vec = self.func.resolve(vec);
        if let Some(r) = self.lanes.get(&(vec, lane)) {
            return Ok(Src::reg(*r));
        }
        let Some(d) = self.def(vec) else { return Err(CompileError::Internal(format!("lane of {vec}"))) };
        match (d.op, &d.imm) {
            (Opcode::Build, _) => self.operand(d.args[lane as usize]),
            (Opcode::Splat, _) => self.operand(d.args[0]),
            (Opcode::Const, Imm::Const(b)) if self.func.ty(vec).scalar == Scalar::I1 => {
                Ok(Src::Imm(0u32.wrapping_sub(b[lane as usize & 3] & 1)))
            }
            (Opcode::Const, Imm::Const(b)) => Ok(Src::Imm(b[lane as usize & 3])),
            (Opcode::Bitcast, _) if self.func.ty(d.args[0]).lanes == self.func.ty(vec).lanes => self.lane(d.args[0], lane),
            (Opcode::Insert, Imm::Lane(n)) => {
                if *n == lane {
                    self.operand(d.args[1])
                } else {
                    self.lane(d.args[0], lane)
                }
            }
            (Opcode::Shuffle, Imm::Lanes(mask)) => {
                let m = mask.get(lane as usize).copied().unwrap_or(0);
                let width = self.func.ty(d.args[0]).lanes;
                if m < width { self.lane(d.args[0], m) } else { self.lane(d.args[1], m - width) }
            }
            (Opcode::Uniform, Imm::Mem { var: MemRef::Uniform(u), offset }) if d.args.is_empty() => {
                let p = &self.abi.uniforms[u.as_u32() as usize];
                let s = Src::C(p.space, p.offset + offset * p.unit + 4 * lane as u32, false);
                if self.func.ty(vec).scalar == Scalar::I1 { Ok(self.truth(vec, lane, s)) } else { Ok(s) }
            }
            (Opcode::Input, Imm::Mem { var: MemRef::Input(n), offset }) if d.args.is_empty() && self.module.stage == Stage::Vertex => {
                let off = self.abi.input_offset(n.as_u32(), *offset, lane as u32);
                let s = off.map(Src::A).ok_or_else(|| CompileError::Internal("an input without a place".into()))?;
                if self.func.ty(vec).scalar == Scalar::I1 { Ok(self.truth(vec, lane, s)) } else { Ok(s) }
            }
            _ => Err(CompileError::Internal(format!("lane {lane} of {vec} ({}) was not selected", d.op.name()))),
        }
    }
    /// An interface word 0 or 1 as a mask, once per block.
    fn truth(&mut self, vec: Value, lane: u8, s: Src) -> Src {
        let key = (vec, lane);
        if let Some(r) = self.here.truths.get(&key) {
            return Src::reg(*r);
        }
        let r = self.fresh();
        self.mask_of(s, r);
        self.here.truths.insert(key, r);
        Src::reg(r)
    }
    /// All ones where an interface word is not 0.
    pub fn mask_of(&mut self, s: Src, to: Reg) {
        self.note("truth");
        let a = self.in_register(s);
        self.emit(MInst::new(Op::Set, Dst::Reg(to), &[Src::reg(a), Src::Imm(0)]).with(field!(rel), Cond::NotEqual));
    }
    /// A value in a register; computed at most once per block.
    pub fn register(&mut self, v: Value) -> Result<Reg, CompileError> {
        let v = self.func.resolve(v);
        if let Some(r) = self.regs[v] {
            return Ok(Reg::Virtual(r));
        }
        if let Some(r) = self.here.values.get(&v) {
            return Ok(*r);
        }
        let r = match self.def(v).cloned() {
            Some(d) if matches!(d.op, Opcode::Fneg | Opcode::Fabs) => {
                let a = self.register(d.args[0])?;
                let r = self.fresh();
                let (lop, k) = if d.op == Opcode::Fneg { (LogicOp::Xor, 0x8000_0000) } else { (LogicOp::And, 0x7fff_ffff) };
                self.note("sign");
                self.emit(MInst::new(Op::Logic, Dst::Reg(r), &[Src::reg(a), Src::Imm(k)]).with(field!(lop), lop));
                r
            }
            _ => {
                let s = self.operand(v)?;
                self.in_register(s)
            }
        };
        self.here.values.insert(v, r);
        Ok(r)
    }
    /// An operand in a register.
    pub fn in_register(&mut self, s: Src) -> Reg {
        match s {
            Src::Reg(r, Part::Full) => r,
            Src::Imm(k) => {
                if let Some(r) = self.here.constants.get(&k) {
                    return *r;
                }
                self.note("constant");
                let r = self.fresh();
                self.emit(MInst::new(Op::Mov, Dst::Reg(r), &[Src::Imm(k)]));
                self.here.constants.insert(k, r);
                r
            }
            Src::C(space, off, false) => {
                if let Some(r) = self.here.loaded.get(&(space, off)) {
                    return *r;
                }
                self.note("uniform");
                let r = self.fresh();
                self.emit(MInst::new(Op::LdC, Dst::Reg(r), &[s]).with(field!(w), true));
                self.here.loaded.insert((space, off), r);
                r
            }
            Src::A(word) => {
                if let Some(r) = self.here.attributes.get(&word) {
                    return *r;
                }
                let r = self.fresh();
                self.emit(MInst::new(Op::Mov, Dst::Reg(r), &[s]));
                self.here.attributes.insert(word, r);
                r
            }
            s => {
                let r = self.fresh();
                self.emit(MInst::new(Op::Mov, Dst::Reg(r), &[s]));
                r
            }
        }
    }
    /// A value with its sign modifiers peeled off.
    pub fn modified(&mut self, v: Value, abs_too: bool) -> Result<Mod, CompileError> {
        let mut v = self.func.resolve(v);
        let (mut neg, mut abs) = (false, false);
        while let Some(d) = self.def(v) {
            match d.op {
                Opcode::Fneg if !abs => neg = !neg,
                Opcode::Fneg if abs => {}
                Opcode::Fabs if abs_too => abs = true,
                _ => break,
            }
            v = self.func.resolve(d.args[0]);
        }
        let src = self.operand(v)?;
        if neg || abs {
            self.note("fold.sign");
        }
        // A negated constant is a constant.
        if let Src::Imm(k) = src {
            let k = if abs { k & 0x7fff_ffff } else { k };
            return Ok(Mod { src: Src::Imm(if neg { k ^ 0x8000_0000 } else { k }), neg: false, abs: false });
        }
        Ok(Mod { src, neg, abs })
    }

    /// Whether a c[] operand is within reach of an instruction's field.
    fn reach(s: Src) -> bool {
        match s {
            Src::C(_, off, _) => off <= 0x1fc && off % 4 == 0,
            Src::S(3, off) => off <= 0x7c,
            _ => true,
        }
    }
    /// Whether a value is in a register of this block already.
    pub fn is_in_register(&self, v: Value) -> bool {
        self.regs[v].is_some() || self.here.values.contains_key(&v)
    }
    /// Whether a constant is in a register of this block already.
    pub fn is_constant_loaded(&self, k: u32) -> bool {
        self.here.constants.contains_key(&k)
    }
    /// How much it helps that an operand is in a register: most if it is there already, otherwise as often as it is in another's way.
    fn worth(&self, s: Src) -> (bool, u32) {
        let (loaded, word) = match s {
            Src::C(space, off, false) => (self.here.loaded.contains_key(&(space, off)), Word::Uniform(space, off)),
            Src::Imm(k) => (self.here.constants.contains_key(&k), Word::Constant(k)),
            _ => return (false, 0),
        };
        (loaded, self.facts.contests.get(&(self.here.block, word)).copied().unwrap_or(0))
    }
    /// Brings operands into a shape that the instruction takes; may exchange the first two.
    pub fn arrange(&mut self, m: &mut [Mod], accepts: Accepts) {
        let mem = |s: Src| matches!(s, Src::A(_) | Src::S(..) | Src::P(_));
        let konst = |s: Src| matches!(s, Src::C(..));
        let imm = |s: Src| matches!(s, Src::Imm(k) if k != 0);
        for x in m.iter_mut() {
            if !Self::reach(x.src) {
                x.src = Src::reg(self.in_register(x.src));
            }
        }
        // Exchange so that memory stands first, constants second.
        if accepts.swap && m.len() >= 2 {
            let (a, b) = (m[0].src, m[1].src);
            let better = (konst(a) && !konst(b) && accepts.c2)
                || (imm(a) && !imm(b) && accepts.imm)
                || (mem(b) && !mem(a) && accepts.mem)
                || (matches!(a, Src::Imm(0)) && !matches!(b, Src::Imm(_)))
                || (konst(b) && konst(a) && self.worth(b) > self.worth(a))
                || self.rather_loaded(a, b);
            // A word of c[] beside a constant: the one that more instructions want is loaded.
            let better = match (a, b) {
                (Src::C(..), Src::Imm(k)) if k != 0 && accepts.c2 && accepts.imm => self.worth(a) <= self.worth(b),
                (Src::Imm(k), Src::C(..)) if k != 0 && accepts.c2 && accepts.imm => self.worth(b) > self.worth(a),
                _ => better,
            };
            if better {
                m.swap(0, 1);
            }
        }
        // Of two words of c[] the second operand is the one that is named.
        if let [_, Mod { src: second @ Src::C(..), .. }, Mod { src: third @ Src::C(..), .. }] = *m
            && self.worth(second) > self.worth(third)
        {
            m[1].src = Src::reg(self.in_register(second));
        }
        let attribute = |s: Src| matches!(s, Src::A(_));
        let mut have_c = false;
        let mut have_imm = false;
        for k in 0..m.len() {
            let s = m[k].src;
            let ok = match s {
                Src::C(..) if !have_c && ((k == 1 && accepts.c2) || (k == 2 && accepts.c3)) => {
                    self.note("fold.uniform");
                    have_c = true;
                    true
                }
                Src::C(..) => false,
                s if mem(s) => {
                    // No short form takes both an attribute and a word of c[].
                    let there = matches!(s, Src::A(word) if self.here.attributes.contains_key(&word));
                    let folds = k == 0 && accepts.mem && !(there && m[1..].iter().any(|x| konst(x.src)));
                    if folds {
                        self.note("fold.attribute");
                    }
                    folds
                }
                Src::Imm(0) => {
                    self.note("fold.zero");
                    true
                }
                // Immediate forms have no room for attributes: the constant serves several of them from a register.
                Src::Imm(_) if k == 1 && accepts.imm && !attribute(m[0].src) => {
                    self.note("fold.immediate");
                    have_imm = true;
                    true
                }
                Src::Imm(_) => false,
                _ => true,
            };
            if !ok {
                m[k].src = Src::reg(self.in_register(s));
            }
        }
        // An immediate form has no room for c[] or a third operand of its own.
        if have_imm {
            for k in [0, 2] {
                if k < m.len() && !matches!(m[k].src, Src::Reg(..) | Src::S(..)) {
                    m[k].src = Src::reg(self.in_register(m[k].src));
                }
            }
        }
    }
    /// Whether, of two words of a[], the first should be the one in a register.
    fn rather_loaded(&self, a: Src, b: Src) -> bool {
        let (Src::A(a), Src::A(b)) = (a, b) else { return false };
        let rank = |w: u32| (self.here.attributes.contains_key(&w), self.facts.attribute_uses.get(&w));
        rank(a) > rank(b)
    }

    // ---- truth values

    /// A truth value as 0 / all ones in a register.
    pub fn mask(&mut self, v: Value) -> Result<Reg, CompileError> {
        let v = self.func.resolve(v);
        if let Some(r) = self.regs[v] {
            return Ok(Reg::Virtual(r));
        }
        if let Some(r) = self.here.values.get(&v) {
            return Ok(*r);
        }
        let r = match self.def(v).map(|d| d.op) {
            Some(Opcode::Fcmp | Opcode::Icmp) => {
                self.note("mask");
                let r = self.fresh();
                self.compare(v, Dst::Reg(r), None, false)?;
                r
            }
            _ => {
                let s = self.operand(v)?;
                self.in_register(s)
            }
        };
        self.here.values.insert(v, r);
        Ok(r)
    }
    /// A truth value as a `$c` register and the predicate code that holds where it is true.
    pub fn flag(&mut self, v: Value) -> Result<(Reg, Cond), CompileError> {
        let mut v = self.func.resolve(v);
        let mut inverted = false;
        while let Some(d) = self.def(v)
            && d.op == Opcode::Inot
        {
            inverted = !inverted;
            v = self.func.resolve(d.args[0]);
        }
        let code = |inv: bool| if inv { Cond::Equal } else { Cond::NotEqual };
        if let Some((c, inv)) = self.here.flags.get(&v) {
            return Ok((*c, code(*inv ^ inverted)));
        }
        let c = self.fresh_flag();
        match self.def(v).map(|d| d.op) {
            Some(Opcode::Fcmp | Opcode::Icmp) if self.regs[v].is_none() => {
                self.note("flag");
                self.compare(v, Dst::Discard, Some(c), false)?;
            }
            _ => {
                self.note("flag.mask");
                let r = self.mask(v)?;
                let i = MInst { cdst: Some(c), ..MInst::new(Op::Logic, Dst::Discard, &[Src::reg(r), Src::reg(r)]) };
                self.emit(i.with(field!(lop), LogicOp::Or));
            }
        }
        self.here.flags.insert(v, (c, false));
        Ok((c, code(inverted)))
    }
    /// Emits a comparison.
    pub fn compare(&mut self, v: Value, dst: Dst, cdst: Option<Reg>, invert: bool) -> Result<(), CompileError> {
        let d = self.def(v).cloned().ok_or_else(|| CompileError::Internal("comparison of a parameter".into()))?;
        let accepts = Accepts { mem: true, c2: true, swap: false, ..Accepts::default() };
        match d.imm {
            Imm::FloatCC(cc) => {
                let mut cc = if invert { cc.inverse() } else { cc };
                let mut m = [self.modified(d.args[0], true)?, self.modified(d.args[1], true)?];
                if self.belongs_second(&m) {
                    m.swap(0, 1);
                    cc = cc.swapped();
                }
                self.arrange(&mut m, accepts);
                let i = MInst { cdst, ..MInst::new(Op::Fset, dst, &[m[0].src, m[1].src]) };
                let i = i.with(field!(rel), crate::legal::numerics::relation(cc));
                self.emit(signs2(i, &m));
            }
            Imm::IntCC(cc) => {
                use retroshade_ir::IntCC::*;
                let mut cc = if invert { cc.inverse() } else { cc };
                let mut m = [self.plain(d.args[0])?, self.plain(d.args[1])?];
                if self.belongs_second(&m) {
                    m.swap(0, 1);
                    cc = cc.swapped();
                }
                self.arrange(&mut m, accepts);
                let (rel, sg) = match cc {
                    Eq => (Cond::Equal, false),
                    Ne => (Cond::NotEqual, false),
                    Slt => (Cond::Less, true),
                    Sle => (Cond::LessEqual, true),
                    Sgt => (Cond::Greater, true),
                    Sge => (Cond::GreaterEqual, true),
                    Ult => (Cond::Less, false),
                    Ule => (Cond::LessEqual, false),
                    Ugt => (Cond::Greater, false),
                    Uge => (Cond::GreaterEqual, false),
                };
                let i = MInst { cdst, ..MInst::new(Op::Set, dst, &[m[0].src, m[1].src]) };
                self.emit(i.with(field!(rel), rel).with(field!(sg), sg));
            }
            _ => return Err(CompileError::Internal("a comparison without relation".into())),
        }
        Ok(())
    }
    /// Whether a comparison's first operand should stand second, where c[] can be named and a constant is not in a[]'s way.
    fn belongs_second(&self, m: &[Mod; 2]) -> bool {
        match m[0].src {
            Src::C(..) if matches!(m[1].src, Src::C(..)) => self.worth(m[1].src) > self.worth(m[0].src),
            Src::C(..) => true,
            Src::Imm(_) => !matches!(m[1].src, Src::C(..) | Src::Imm(_)),
            _ => false,
        }
    }
    /// An operand without modifiers.
    pub fn plain(&mut self, v: Value) -> Result<Mod, CompileError> {
        Ok(Mod { src: self.operand(v)?, neg: false, abs: false })
    }

    // ---- control flow

    fn entry_compute(&mut self) {
        let r = self.fresh();
        self.thread_id = Some(r);
        self.emit(MInst { extra: Extra::Entry(vec![(r, 0)]), ..MInst::new(Op::Nop, Dst::None, &[]) });
    }

    fn terminator(&mut self, i: Inst, blocks: &SecondaryMap<Block, u32>) -> Result<(), CompileError> {
        let func = self.func;
        let d = &func.insts[i];
        let mut targets = Vec::new();
        for t in &d.targets {
            let mut args = Vec::new();
            for a in &t.args {
                let a = self.func.resolve(*a);
                let r = if self.func.def_if(a, Opcode::Undef).is_some() {
                    // One register for each, which becomes the parameter's own: no code.
                    let r = self.fresh();
                    self.emit(MInst { extra: Extra::Undefined, ..MInst::new(Op::Nop, Dst::Reg(r), &[]) });
                    r
                } else if self.func.ty(a).scalar == Scalar::I1 {
                    self.mask(a)?
                } else {
                    self.register(a)?
                };
                let v = r.vreg().ok_or_else(|| CompileError::Internal("a branch argument is placed already".into()))?;
                args.push(v);
            }
            targets.push(Target { block: blocks[t.block] as usize, args });
        }
        match d.op {
            Opcode::Jump => self.emit(MInst { extra: Extra::Jump, ..MInst::new(Op::Nop, Dst::None, &[]) }),
            Opcode::BrIf => {
                self.note("branch");
                let (c, code) = self.flag(d.args[0])?;
                self.emit(MInst { extra: Extra::Branch(c, code), ..MInst::new(Op::Bra, Dst::None, &[]) });
            }
            Opcode::Return | Opcode::Unreachable => {
                let mut regs = Vec::new();
                for (n, (v, lane)) in std::mem::take(&mut self.results) {
                    let r = match lane {
                        None => self.result_register(v)?,
                        Some(l) => {
                            let s = self.lane(v, l)?;
                            self.word_of(s, self.func.ty(v).scalar)
                        }
                    };
                    regs.push((r, n as u8));
                }
                self.emit(MInst { extra: Extra::Exit(regs), ..MInst::new(Op::Nop, Dst::None, &[]) });
            }
            _ => return Err(CompileError::Internal(format!("`{}` survived structurising", d.op.name()))),
        }
        self.vc.blocks[self.here.number].targets = targets;
        Ok(())
    }
    /// An operand as an interface word.
    fn word_of(&mut self, s: Src, kind: Scalar) -> Reg {
        let a = self.in_register(s);
        let keep = match kind {
            Scalar::I1 => 1,
            Scalar::F16 => 0xffff,
            _ => return a,
        };
        let r = self.fresh();
        self.emit(MInst::new(Op::Logic, Dst::Reg(r), &[Src::reg(a), Src::Imm(keep)]).with(field!(lop), LogicOp::And));
        r
    }
    /// A value as an interface word: truth values as 0 or 1, halves without their upper bits.
    pub fn result_register(&mut self, v: Value) -> Result<Reg, CompileError> {
        let keep = match self.func.ty(v).scalar {
            Scalar::I1 => 1,
            Scalar::F16 => 0xffff,
            // A value may be wanted in several registers; each needs a copy of its own.
            _ => return self.register(v),
        };
        let a = if keep == 1 { self.mask(v)? } else { self.register(v)? };
        let r = self.fresh();
        self.emit(MInst::new(Op::Logic, Dst::Reg(r), &[Src::reg(a), Src::Imm(keep)]).with(field!(lop), LogicOp::And));
        Ok(r)
    }
}

/// Adds the modifiers of two sources.
pub(crate) fn signs2(i: MInst, m: &[Mod]) -> MInst {
    i.with(field!(neg1), m[0].neg).with(field!(abs1), m[0].abs).with(field!(neg2), m[1].neg).with(field!(abs2), m[1].abs)
}
