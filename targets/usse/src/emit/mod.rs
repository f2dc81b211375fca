//! From placed macro-operations to words: lanes are grouped two f32 or four f16 at a time, and every candidate word is
//! proposed to the operand tables. What no table accepts is split by lanes, and at last brought into an internal register.

mod arms;
pub mod branches;
pub mod flags;
pub mod known;
pub mod layout;
pub mod literals;
mod naming;
mod ops;
pub mod pairing;
pub mod sched;

use crate::isa::constants;
use crate::isa::forms::{
    BR, DEPTHF, KILL, LIMM, NOP, PHAS, V16NMAD, V32NMAD, VBW, VCOMP, VDUAL, VMAD, VMAD2, VMOV, VPCK, VTST, WDF, field, row_of,
};
use crate::isa::immediate;
use crate::isa::names::{self, Format};
use crate::isa::operands::Role::{self, *};
use crate::isa::operands::{Encoding, Want, fits, operand};
use crate::isa::registers::{Bank, Reg};
use crate::isa::swizzle::{HALF, ONE, TWO, ZERO};
use crate::isa::word::Word;
use crate::place::{Placement, Use};
use crate::select::mir::{Base, Bit, Kind, Lane, MProgram, Mop, Pred, Rel, TestKind, Vreg};
use retroshade_emit::FieldName;
use retroshade_emit::form::FormId;
use retroshade_ir::numerics::{from_f32, to_f32};
use retroshade_ir::{Opcode, Scalar, Span};
use retroshade_lower::CompileError;
use retroshade_regalloc::Ranges;
use smallvec::{SmallVec, smallvec};

use known::{Asked, Known};
pub use literals::Literals;

/// A lane with its physical place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spot {
    /// Lane unit of a bank: the register (f32), twice the register plus the half (f16), the lane of `i` register n as 4n + lane.
    At(Bank, u16),
    /// A constant.
    C(u32),
    /// Anything.
    Any,
}

/// A physical lane with modifiers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phys {
    /// Where.
    pub spot: Spot,
    /// Negated.
    pub neg: bool,
    /// Absolute.
    pub abs: bool,
}

impl Phys {
    fn at(bank: Bank, unit: u16) -> Phys {
        Phys { spot: Spot::At(bank, unit), neg: false, abs: false }
    }
    fn plain(self) -> bool {
        !self.neg && !self.abs
    }
}

/// Where the words of a block, the literals and the internal registers of operands stand.
struct Mark {
    words: usize,
    literals: Vec<u32>,
    slots: [Option<u16>; 3],
    /// Words that were taken back.
    list: Vec<Word>,
}

/// Emits the words of a program.
pub struct Expander<'a> {
    /// The program.
    pub program: &'a MProgram,
    /// Places.
    pub places: &'a Placement,
    /// Literals.
    pub literals: &'a mut Literals,
    /// Words of each block.
    pub blocks: Vec<Vec<Word>>,
    /// Whether this is the secondary program, whose attributes are one bank.
    pub secondary: bool,
    /// The literal register of KILL and DEPTHF.
    pub kill_literal: u16,
    pending: Vec<Reg>,
    span: Span,
    at: usize,
    /// When each internal register holds a value.
    inside: [Ranges; 3],
    /// Internal registers that hold values around the current operation, and those that its operands were brought into.
    busy: [bool; 3],
    slots: [Option<u16>; 3],
    /// Whether the current operation asked which of them are taken.
    asked: bool,
    /// Words of the same program with other places.
    pub known: Option<&'a mut Known>,
}

/// Fields of an attempt.
type Try = Option<Encoding>;
/// Proposes a word for some lanes.
type Attempt<'x, 'a> = &'x mut dyn FnMut(&mut Expander<'a>, u8, &[[Option<Phys>; 4]]) -> Option<Word>;

fn internal(what: &str) -> CompileError {
    CompileError::Internal(format!("no USSE word for {what}"))
}

impl<'a> Expander<'a> {
    /// An expander without words.
    pub fn new(program: &'a MProgram, places: &'a Placement, literals: &'a mut Literals) -> Expander<'a> {
        let mut inside: [Ranges; 3] = Default::default();
        for (n, times) in &places.inside {
            inside.get_mut(*n as usize).into_iter().for_each(|all| all.union(times));
        }
        Expander {
            program,
            places,
            literals,
            blocks: vec![Vec::new(); program.blocks.len()],
            inside,
            secondary: false,
            kill_literal: 0,
            pending: Vec::new(),
            span: Span::NONE,
            at: 0,
            busy: [false; 3],
            slots: [None; 3],
            asked: false,
            known: None,
        }
    }

    /// Expands everything.
    pub fn run(&mut self) -> Result<(), CompileError> {
        let p = self.program;
        let mut position = 0;
        for (n, b) in p.blocks.iter().enumerate() {
            self.at = n;
            self.blocks[n].reserve(2 * b.ops.len());
            for op in &b.ops {
                self.span = op.span;
                self.look_inside(position);
                position += 2;
                self.fence(op);
                self.op_once(op, position as usize / 2)?;
            }
            // A block's end has a time of its own.
            position += 2;
            if !self.pending.is_empty() {
                self.wait();
            }
        }
        Ok(())
    }

    /// Words that some operations take.
    pub fn words_at(&mut self, uses: &[Use]) -> Result<usize, CompileError> {
        let p = self.program;
        for u in uses {
            self.at = u.block as usize;
            let Some(op) = p.blocks[self.at].ops.get(u.op as usize) else { continue };
            self.span = op.span;
            self.look_inside(u.position);
            self.op_once(op, u.position as usize / 2 + 1)?;
        }
        Ok(self.blocks.iter().map(Vec::len).sum())
    }

    /// Looks which internal registers hold values around the operation at a time.
    fn look_inside(&mut self, position: u32) {
        let now = Ranges::one(position, position + 2);
        self.busy = self.inside.each_ref().map(|times| times.overlaps(&now));
    }

    /// Expands operation `n`, unless that was done before with the same places.
    fn op_once(&mut self, op: &Mop, n: usize) -> Result<(), CompileError> {
        (self.slots, self.asked, self.literals.asked) = ([None; 3], false, false);
        // What is fetched is waited for later.
        if self.known.is_none() || matches!(op.kind, Kind::Sample { .. } | Kind::Load { .. }) {
            return self.op(op);
        }
        let places = known::places(op, self.places);
        if let Some((words, literals)) = self.known.as_ref().and_then(|k| k.find(n, &places, self.busy, &self.literals.values)) {
            self.blocks[self.at].extend_from_slice(words);
            if let Some(literals) = literals {
                self.literals.values = literals.to_vec();
            }
            return Ok(());
        }
        let (first, before) = (self.blocks[self.at].len(), self.literals.values.clone());
        self.op(op)?;
        let literals = self.literals.asked.then(|| (before, self.literals.values.clone()));
        let asked = Asked { busy: self.asked.then_some(self.busy), literals };
        let words = &self.blocks[self.at][first..];
        if let Some(known) = &mut self.known {
            known.note(n, places, asked, words.to_vec());
        }
        Ok(())
    }

    /// The internal register that the `n`th operand may be brought into.
    fn scratch(&mut self, n: u16) -> Result<u16, CompileError> {
        self.asked = true;
        if let Some(r) = self.slots[n as usize % 3] {
            return Ok(r);
        }
        let free = |r: &u16| !self.busy[*r as usize] && !self.slots.contains(&Some(*r));
        let r = [n % 3, 0, 1, 2].into_iter().find(free).ok_or_else(|| internal("an operand: every internal register is taken"))?;
        self.slots[n as usize % 3] = Some(r);
        Ok(r)
    }

    fn push(&mut self, form: FormId, fields: impl IntoIterator<Item = (FieldName, u64)>) {
        self.blocks[self.at].push(Word::new(form, fields, self.span));
    }

    fn wait(&mut self) {
        self.pending.clear();
        self.push(WDF, Vec::new());
    }

    /// Waits for texture reads and loads whose registers an operation touches.
    fn fence(&mut self, op: &Mop) {
        if self.pending.is_empty() {
            return;
        }
        let regs = |v: Vreg| {
            let n = self.program.data(v).regs();
            self.places.at[v.0 as usize].into_iter().flat_map(move |r| (0..n).map(move |k| Reg::new(r.bank, r.n + k)))
        };
        let touches = op.reads().chain(op.writes()).any(|v| regs(v).any(|r| self.pending.contains(&r)));
        if touches || matches!(op.kind, Kind::Branch(..) | Kind::EndPhase) {
            self.wait();
        }
    }

    /// The physical place of lane `l`; constants with their modifiers folded.
    fn phys(&self, l: &Lane, ty: Scalar) -> Phys {
        let spot = match l.base {
            Base::Undef => Spot::Any,
            Base::C(c) => {
                let sign = if ty == Scalar::F16 { 0x8000 } else { 0x8000_0000u32 };
                let c = if l.abs { c & !sign } else { c };
                return Phys { spot: Spot::C(if l.neg { c ^ sign } else { c }), neg: false, abs: false };
            }
            Base::SaHalf(n) => Spot::At(if self.secondary { Bank::Pa } else { Bank::Sa }, n),
            Base::Sa(n) => Spot::At(if self.secondary { Bank::Pa } else { Bank::Sa }, n),
            Base::V(v, k) => match self.places.at[v.0 as usize] {
                None => Spot::Any,
                Some(r) if r.bank == Bank::I => Spot::At(r.bank, r.n * 4 + k as u16),
                Some(r) if self.program.data(v).ty == Scalar::F16 => Spot::At(r.bank, r.n * 2 + k as u16),
                Some(r) => Spot::At(r.bank, r.n + k as u16),
            },
        };
        Phys { spot, neg: l.neg, abs: l.abs }
    }

    fn units(&self, v: Vreg) -> Result<(Bank, u16, u8, Scalar), CompileError> {
        let d = self.program.data(v);
        let r = self.places.at[v.0 as usize].unwrap_or(Reg::r(0));
        let unit = match (r.bank, d.ty) {
            (Bank::I, _) => r.n * 4,
            (_, Scalar::F16) => r.n * 2,
            _ => r.n,
        };
        Ok((r.bank, unit, d.lanes, d.ty))
    }

    /// The place of an operation's result: bank, unit, lanes, type.
    fn result(&self, op: &Mop) -> Result<(Bank, u16, u8, Scalar), CompileError> {
        self.units(op.dst.ok_or_else(|| internal("an operation without a result"))?)
    }

    /// Predicate field of a form, if it can express it.
    fn predicate(form: FormId, p: Option<Pred>) -> Option<u64> {
        let Some((n, inv)) = p else { return Some(0) };
        let max = match form {
            VMAD2 | VDUAL => 2,
            _ => 8,
        };
        let digit = char::from(b'0' + n);
        let names = row_of(form).predicate.map_or(&[][..], |p| p.0.names());
        let is = |name: &str| {
            let plain = name.strip_prefix('!');
            plain.is_some() == inv && plain.unwrap_or(name).strip_prefix('p').is_some_and(|rest| rest.chars().eq([digit]))
        };
        (1..max).find(|c| names.get(*c as usize).is_some_and(|name| is(name)))
    }

    /// Tries one float word: lanes at `positions` of the destination group.
    fn float_word(&mut self, op: Opcode, ty: Scalar, dst: (Bank, u16), mask: u8, src: &[[Option<Phys>; 4]]) -> Option<Word> {
        let half = ty == Scalar::F16;
        let nmad = if half { V16NMAD } else { V32NMAD };
        let orders: &[[usize; 2]] = &[[0, 1], [1, 0]];
        let op2 = match op {
            Opcode::Fmul => Some(0),
            Opcode::Fadd => Some(1),
            Opcode::Ffract => Some(2),
            Opcode::Ddx => Some(3),
            Opcode::Ddy => Some(4),
            Opcode::Fmin => Some(5),
            Opcode::Fmax => Some(6),
            _ => None,
        };
        if let Some(op2) = op2 {
            let unary = src.len() == 1;
            for o in orders.iter().take(if unary { 1 } else { 2 }) {
                let (a, b) = if unary { (src[0], src[0]) } else { (src[o[0]], src[o[1]]) };
                let Some(mut e) = self.dest(nmad, dst.0, dst.1, ty, &[]) else { break };
                let Some(x) = self.name(nmad, Src1, &a, ty, &[]) else { continue };
                let Some(y) = self.name(nmad, Src2, &b, ty, &[]) else { continue };
                e.extend(x);
                e.extend(y);
                e.push((field!(op2), op2));
                e.push((field!(dest_mask), mask as u64));
                return Some(Word::new(nmad, e, self.span));
            }
        }
        // VMAD2: a × b + c, a × b - 0, a × 1 + b.
        let one = from_f32(ty, 1.0);
        let sign = if half { 0x8000 } else { 0x8000_0000u32 };
        let of = |c: u32, like: &[Option<Phys>; 4]| like.map(|l| l.map(|_| Phys { spot: Spot::C(c), neg: false, abs: false }));
        let three: Vec<[[Option<Phys>; 4]; 3]> = match op {
            Opcode::Fmad => vec![[src[0], src[1], src[2]], [src[1], src[0], src[2]]],
            Opcode::Fmul => vec![[src[0], src[1], of(sign, &src[0])], [src[1], src[0], of(sign, &src[0])]],
            Opcode::Fadd => vec![[src[0], of(one, &src[0]), src[1]], [src[1], of(one, &src[0]), src[0]]],
            _ => return None,
        };
        if half && dst.0 != Bank::I && (mask & 3 == 1 || mask & 3 == 2 || mask >> 2 == 1 || mask >> 2 == 2) {
            // Stored halves come in pairs; the caller says whether the other half may be overwritten by widening the mask.
            return None;
        }
        for [a, b, c] in three {
            // Source 0 cannot be negated: the sign moves to the other factor.
            let flip = |v: [Option<Phys>; 4]| {
                v.map(|l| {
                    l.map(|l| if let Spot::C(k) = l.spot { Phys { spot: Spot::C(k ^ sign), ..l } } else { Phys { neg: !l.neg, ..l } })
                })
            };
            let (a, b) = if a.iter().flatten().any(|l| l.neg) { (flip(a), flip(b)) } else { (a, b) };
            let Some(mut e) = self.dest(VMAD2, dst.0, dst.1, ty, &[]) else { break };
            let Some(x) = self.name(VMAD2, Src0, &a, ty, &[]) else { continue };
            let Some(y) = self.name(VMAD2, Src1, &b, ty, &[]) else { continue };
            let Some(z) = self.name(VMAD2, Src2, &c, ty, &[]) else { continue };
            e.extend(x);
            e.extend(y);
            e.extend(z);
            let m = if half && dst.0 != Bank::I { (mask & 1) | (mask >> 2 & 1) << 2 } else { mask };
            e.push((field!(dest_mask), m as u64));
            e.push((field!(dat_fmt), half as u64));
            return Some(Word::new(VMAD2, e, self.span));
        }
        if half || op != Opcode::Fmad {
            return None;
        }
        // VMAD: a factor and the addend in internal registers, every operand with a larger set of swizzles.
        for [a, b, c] in [[src[0], src[1], src[2]], [src[1], src[0], src[2]]] {
            for lanes in [3u64, 4] {
                let ctx = &[(field!(opcode2), lanes - 3)];
                if lanes == 3 && mask & 8 != 0 {
                    continue;
                }
                let Some(mut e) = self.dest(VMAD, dst.0, dst.1, ty, ctx) else { continue };
                let (Some(x), Some(z)) = (self.name(VMAD, Src0, &a, ty, ctx), self.name(VMAD, Src2, &c, ty, ctx)) else { continue };
                let Some(y) = self.name(VMAD, Src1, &b, ty, ctx) else { continue };
                e.extend(x);
                e.extend(y);
                e.extend(z);
                e.extend([(field!(write_mask), mask as u64), (field!(repeat_mode), 3), ctx[0]]);
                return Some(Word::new(VMAD, e, self.span));
            }
        }
        None
    }

    /// Copies lanes within one destination group, if one word can.
    fn copy_word(&mut self, ty: Scalar, dst: (Bank, u16), mask: u8, src: &[Option<Phys>; 4], pred: Option<Pred>) -> Option<Word> {
        let half = ty == Scalar::F16;
        let plain = src.iter().flatten().all(|l| l.plain());
        if ty == Scalar::I32 {
            return self.bit_copy(dst, mask, src, pred);
        }
        let ctx: &[(FieldName, u64)] = &[(field!(move_data_type), if half { 4 } else { 5 })];
        let pairs_only = half && dst.0 != Bank::I && (mask & 3 == 1 || mask & 3 == 2 || mask >> 2 == 1 || mask >> 2 == 2);
        if plain
            && !pairs_only
            && let (Some(p), Some(mut e), Some(x)) =
                (Self::predicate(VMOV, pred), self.dest(VMOV, dst.0, dst.1, ty, ctx), self.name(VMOV, Src1, src, ty, ctx))
        {
            e.extend(x);
            let m = if half && dst.0 != Bank::I { (mask & 1) | (mask >> 2 & 1) << 2 } else { mask };
            e.extend([(field!(pred), p), (field!(dest_mask), m as u64), ctx[0]]);
            return Some(Word::new(VMOV, e, self.span));
        }
        if plain
            && let Some(p) = Self::predicate(VPCK, pred)
            && let Some(mut w) =
                self.pack_word(if half { Format::F16 } else { Format::F32 }, if half { Format::F16 } else { Format::F32 }, dst, mask, src)
        {
            w.set(field!(pred), p);
            return Some(w);
        }
        let nmad = if half { V16NMAD } else { V32NMAD };
        let one = src.map(|l| l.map(|_| Phys { spot: Spot::C(from_f32(ty, 1.0)), neg: false, abs: false }));
        let p = Self::predicate(nmad, pred)?;
        let mut e = self.dest(nmad, dst.0, dst.1, ty, &[])?;
        let x = self.name(nmad, Src1, src, ty, &[])?;
        let y = self.name(nmad, Src2, &one, ty, &[])?;
        e.extend(x);
        e.extend(y);
        e.extend([(field!(pred), p), (field!(dest_mask), mask as u64)]);
        Some(Word::new(nmad, e, self.span))
    }

    /// VPCK: each lane takes one of four lanes of two pairs.
    fn pack_word(&mut self, from: Format, to: Format, dst: (Bank, u16), mask: u8, src: &[Option<Phys>; 4]) -> Option<Word> {
        let ctx: &[(FieldName, u64)] = &[(field!(src_fmt), from as u64)];
        let mut pairs: Vec<(Bank, u16)> = Vec::new();
        let mut sel = [0u8; 4];
        for (k, l) in src.iter().enumerate() {
            let Some(l) = l else { continue };
            if !l.plain() {
                return None;
            }
            match l.spot {
                Spot::Any => {}
                Spot::C(_) => return None,
                Spot::At(b, u) => {
                    let (key, lane) = match (b, from) {
                        (Bank::I, _) => ((b, u / 4), (u & 3) as u8),
                        (_, Format::F16) => ((b, u / 4 * 2), (u & 3) as u8),
                        (_, Format::F32) => ((b, u & !1), (u & 1) as u8),
                        _ => ((b, u), 0),
                    };
                    let at = pairs.iter().position(|p| *p == key).unwrap_or_else(|| {
                        pairs.push(key);
                        pairs.len() - 1
                    });
                    sel[k] = if from == Format::F32 && b != Bank::I { lane + 2 * at as u8 } else { lane };
                }
            }
        }
        let internal = pairs.iter().any(|p| p.0 == Bank::I);
        if pairs.len() > if from == Format::F32 && !internal { 2 } else { 1 } {
            return None;
        }
        let first = *pairs.first()?;
        let o = operand(VPCK, Src1)?;
        let want = |p: (Bank, u16)| Want { reg: Reg::new(p.0, p.1), lanes: [None; 4], neg: false, abs: false };
        let mut e = fits(o, &want(first), ctx)?;
        let n = match (dst.0, to) {
            (Bank::I, _) => dst.1 / 4,
            (_, Format::F16) => dst.1 / 2,
            _ => dst.1,
        };
        e.extend(fits(operand(VPCK, Dest)?, &Want { reg: Reg::new(dst.0, n), lanes: [None; 4], neg: false, abs: false }, ctx)?);
        if from == Format::F32 && !internal {
            let second = pairs.get(1).copied().unwrap_or((first.0, first.1));
            e.extend(fits(operand(VPCK, Src2)?, &want(second), ctx)?);
        } else {
            e.extend([(field!(src2_bank_sel), 2), (field!(src2_bank_ext), 1), (field!(src2_n), 0)]);
        }
        // Selector fields: by lane for float to float, else in order of the enabled lanes.
        let by_lane = from.is_float() && to.is_float();
        let mut order = [0u8; 4];
        let mut next = 0;
        for k in 0..4 {
            if by_lane {
                order[k] = sel[k];
            } else if mask >> k & 1 == 1 {
                order[next] = sel[k];
                next += 1;
            }
        }
        e.push((field!(comp_sel_0_bit0), (order[0] & 1) as u64));
        if from == Format::F32 {
            e.push((field!(comp0_sel_bit1), (order[0] >> 1) as u64));
        } else if order[0] > 1 {
            match e.iter_mut().find(|f| f.0 == field!(src2_n)) {
                Some(f) => f.1 |= 1,
                None => e.push((field!(src2_n), 1)),
            }
        }
        e.extend([
            (field!(comp_sel_1), order[1] as u64),
            (field!(comp_sel_2), order[2] as u64),
            (field!(comp_sel_3), order[3] as u64),
            (field!(src_fmt), from as u64),
            (field!(dest_fmt), to as u64),
            (field!(dest_mask), mask as u64),
        ]);
        Some(Word::new(VPCK, e, self.span))
    }

    /// One register, bit by bit.
    fn bit_copy(&mut self, dst: (Bank, u16), mask: u8, src: &[Option<Phys>; 4], pred: Option<Pred>) -> Option<Word> {
        if mask.count_ones() != 1 {
            return None;
        }
        let k = mask.trailing_zeros() as usize;
        let unit = if dst.0 == Bank::I { dst.1 } else { (dst.1 & !1) + k as u16 };
        let l = src[k].unwrap_or(Phys { spot: Spot::Any, neg: false, abs: false });
        let mut w = self.bitwise(Bit::Or, (dst.0, unit), l, Phys { spot: Spot::C(0), neg: false, abs: false })?;
        w.set(field!(pred), Self::predicate(VBW, pred)?);
        Some(w)
    }

    /// LIMM: a register takes 32 bits out of the word.
    fn immediate(&self, dst: (Bank, u16), c: u32) -> Option<Word> {
        let mut e = self.dest_single(LIMM, dst)?;
        e.extend(immediate::limm_fields(c));
        Some(Word::new(LIMM, e, self.span))
    }

    /// A bitwise word on one register.
    fn bitwise(&mut self, bit: Bit, dst: (Bank, u16), a: Phys, b: Phys) -> Option<Word> {
        let commutes = matches!(bit, Bit::And | Bit::Or | Bit::Xor);
        let (a, b) = if commutes && matches!(a.spot, Spot::C(_)) { (b, a) } else { (a, b) };
        let code = names::bitwise_code(match bit {
            Bit::And => "AND",
            Bit::Or => "OR",
            Bit::Xor => "XOR",
            Bit::Shl => "SHL",
            Bit::Shr => "SHR",
            Bit::Asr => "ASR",
        })?;
        let mut e = self.dest_single(VBW, dst)?;
        e.extend(self.single(VBW, Src1, a)?);
        let immediate = if let Spot::C(c) = b.spot { immediate::bitwise_fields(c, false).next() } else { None };
        e.extend(match immediate {
            Some(fields) => fields,
            None => self.single(VBW, Src2, b)?,
        });
        e.extend(code);
        Some(Word::new(VBW, e, self.span))
    }

    /// Destination groups of a value: (group's first unit, lanes as (position, index)).
    fn groups(bank: Bank, unit: u16, lanes: u8, ty: Scalar) -> Vec<(u16, Vec<(usize, usize)>)> {
        let size = match (bank, ty) {
            (Bank::I, _) | (_, Scalar::F16) => 4,
            _ => 2,
        };
        let mut out: Vec<(u16, Vec<(usize, usize)>)> = Vec::new();
        for k in 0..lanes as usize {
            let u = unit + k as u16;
            let first = u / size * size;
            let entry = ((u - first) as usize, k);
            match out.last_mut() {
                Some((f, l)) if *f == first => l.push(entry),
                _ => out.push((first, vec![entry])),
            }
        }
        out
    }

    /// Emits words for lanes of one group, splitting where no single word exists.
    fn cover(&mut self, lanes: &[(usize, usize)], src: &[Vec<Phys>], half: bool, attempt: Attempt<'_, 'a>) -> Result<(), CompileError> {
        let pick = |lanes: &[(usize, usize)]| {
            let mask = lanes.iter().fold(0u8, |m, (p, _)| m | 1 << p);
            let src: Vec<[Option<Phys>; 4]> = src
                .iter()
                .map(|s| {
                    let mut out = [None; 4];
                    for (p, k) in lanes {
                        out[*p] = s.get(*k).copied();
                    }
                    out
                })
                .collect();
            (mask, src)
        };
        let (mask, now) = pick(lanes);
        if let Some(w) = attempt(self, mask, &now) {
            self.blocks[self.at].push(w);
            return Ok(());
        }
        if !half && lanes.len() > 2 && self.all_but_one(lanes, &pick, attempt) {
            return Ok(());
        }
        let by_pair = half && lanes.iter().any(|(p, _)| *p >= 2) && lanes.iter().any(|(p, _)| *p < 2);
        if lanes.len() < 2 || half && !by_pair {
            return self.cover_inside(mask, now, half, attempt);
        }
        let at = if by_pair { lanes.iter().position(|(p, _)| *p >= 2).unwrap_or(1) } else { lanes.len() / 2 };
        let before = self.mark();
        self.cover(&lanes[..at], src, half, attempt)?;
        self.cover(&lanes[at..], src, half, attempt)?;
        let words = self.blocks[self.at].len() - before.words;
        if words < 3 || half {
            return Ok(());
        }
        // Lanes from all over the place may be fewer words when they are brought together first.
        let split = self.take_back(&before);
        let found = self.cover_inside(mask, now, half, attempt);
        if found.is_err() || self.blocks[self.at].len() - before.words >= words {
            self.take_back(&before);
            (self.literals.values, self.slots) = (split.literals, split.slots);
            self.blocks[self.at].extend(split.list);
        }
        Ok(())
    }

    /// Covers lanes with one word for all but one of them and another for that one, where both exist.
    fn all_but_one(
        &mut self,
        lanes: &[(usize, usize)],
        pick: &dyn Fn(&[(usize, usize)]) -> (u8, Vec<[Option<Phys>; 4]>),
        attempt: Attempt<'_, 'a>,
    ) -> bool {
        for alone in (0..lanes.len()).rev() {
            let most: Vec<(usize, usize)> = lanes.iter().enumerate().filter(|(n, _)| *n != alone).map(|(_, l)| *l).collect();
            let before = self.mark();
            let (mask, now) = pick(&most);
            if let Some(first) = attempt(self, mask, &now) {
                let (mask, now) = pick(&lanes[alone..=alone]);
                if let Some(second) = attempt(self, mask, &now) {
                    self.blocks[self.at].extend([first, second]);
                    return true;
                }
            }
            self.take_back(&before);
        }
        false
    }

    /// The state before some words are tried.
    fn mark(&self) -> Mark {
        Mark { words: self.blocks[self.at].len(), literals: self.literals.values.clone(), slots: self.slots, list: Vec::new() }
    }

    /// Takes back what was tried; what it was.
    fn take_back(&mut self, to: &Mark) -> Mark {
        let tried = Mark { list: self.blocks[self.at].split_off(to.words), ..self.mark() };
        (self.literals.values, self.slots) = (to.literals.clone(), to.slots);
        tried
    }

    /// One word for some lanes, whose operands are brought into internal registers, one more at a time.
    fn cover_inside(
        &mut self,
        mask: u8,
        mut now: Vec<[Option<Phys>; 4]>,
        half: bool,
        attempt: Attempt<'_, 'a>,
    ) -> Result<(), CompileError> {
        for n in 0..now.len() {
            self.bring_inside(n as u16, &mut now[n], if half { Scalar::F16 } else { Scalar::F32 })?;
            if let Some(w) = attempt(self, mask, &now) {
                self.blocks[self.at].push(w);
                return Ok(());
            }
        }
        Err(internal(&format!("lanes {mask:04b} of {now:?}")))
    }

    /// Copies the lanes of operand `n` into an internal register, each at its own position.
    fn bring_inside(&mut self, n: u16, lanes: &mut [Option<Phys>; 4], ty: Scalar) -> Result<(), CompileError> {
        let n = self.scratch(n)?;
        let group = (Bank::I, n * 4);
        let all = lanes.iter().enumerate().fold(0u8, |m, (k, l)| m | (l.is_some() as u8) << k);
        let words = match self.copy_word(ty, group, all, lanes, None) {
            Some(w) => vec![w],
            None => self.copy_parts(group, lanes, ty)?,
        };
        self.blocks[self.at].extend(words);
        for (k, l) in lanes.iter_mut().enumerate() {
            if l.is_some() {
                *l = Some(Phys::at(Bank::I, n * 4 + k as u16));
            }
        }
        Ok(())
    }

    /// Copies lanes into an internal register with several words, those of one source together.
    fn copy_parts(&mut self, group: (Bank, u16), lanes: &[Option<Phys>; 4], ty: Scalar) -> Result<Vec<Word>, CompileError> {
        let mut words = Vec::new();
        let mut rest: Vec<usize> = (0..4).rev().filter(|k| lanes[*k].is_some()).collect();
        let only = |set: &[usize]| std::array::from_fn(|k| lanes[k].filter(|_| set.contains(&k)));
        // Constants that only an instruction can carry come first: they pass through lane x, which is written last of them.
        for k in rest.clone() {
            let Some(Phys { spot: Spot::C(c), .. }) = lanes[k] else { continue };
            if self.copy_word(ty, group, 1 << k, &only(&[k]), None).is_some() {
                continue;
            }
            let c = if ty == Scalar::F16 { to_f32(ty, c).to_bits() } else { c };
            words.push(self.immediate(group, c).ok_or_else(|| internal("an immediate"))?);
            if k > 0 {
                let mut one = [None; 4];
                one[k] = Some(Phys::at(Bank::I, group.1));
                words.push(self.copy_word(ty, group, 1 << k, &one, None).ok_or_else(|| internal("an immediate"))?);
            }
            rest.retain(|r| *r != k);
        }
        let near = |a: Option<Phys>, b: Option<Phys>| match (a, b) {
            (Some(a), Some(b)) => {
                let same = match (a.spot, b.spot) {
                    (Spot::At(x, _), Spot::At(y, _)) => x == y,
                    (Spot::C(_), Spot::C(_)) => true,
                    _ => false,
                };
                same && a.neg == b.neg && a.abs == b.abs
            }
            _ => false,
        };
        while let Some(k) = rest.first().copied() {
            // The largest set of lanes with this one that one word copies.
            let alike: Vec<usize> = rest.iter().copied().filter(|j| near(lanes[k], lanes[*j])).collect();
            let mut sets: Vec<Vec<usize>> =
                (0..1u32 << alike.len()).map(|m| (0..alike.len()).filter(|n| m >> n & 1 == 1).map(|n| alike[n]).collect()).collect();
            sets.retain(|s: &Vec<usize>| s.contains(&k));
            sets.sort_by_key(|s| std::cmp::Reverse(s.len()));
            let found = sets.into_iter().find_map(|s| {
                let mask = s.iter().fold(0u8, |m, j| m | 1 << j);
                self.copy_word(ty, group, mask, &only(&s), None).map(|w| (s, w))
            });
            let (set, w) = found.ok_or_else(|| internal(&format!("a copy of {:?} {ty:?} into an internal register", lanes[k])))?;
            words.push(w);
            rest.retain(|r| !set.contains(r));
        }
        Ok(words)
    }

    fn sources(&self, op: &Mop, ty: Scalar) -> Vec<Vec<Phys>> {
        op.src.iter().map(|s| s.iter().map(|l| self.phys(l, ty)).collect()).collect()
    }

    fn op(&mut self, op: &Mop) -> Result<(), CompileError> {
        if let Some(d) = op.dst
            && self.places.at[d.0 as usize].is_none()
        {
            return Ok(());
        }
        match &op.kind {
            Kind::Float(code) => {
                let (bank, unit, lanes, ty) = self.result(op)?;
                let src = self.sources(op, ty);
                for (first, group) in Self::groups(bank, unit, lanes, ty) {
                    let whole = self.spare_half(op.dst, ty);
                    self.cover(&group, &src, ty == Scalar::F16, &mut |s, mask, now| {
                        let (mask, now) = if whole { widen(mask, now) } else { (mask, now.to_vec()) };
                        s.float_word(*code, ty, (bank, first), mask, &now)
                    })?;
                }
                Ok(())
            }
            Kind::Complex(code) => {
                let (bank, unit, lanes, ty) = self.result(op)?;
                let src = self.sources(op, ty);
                for (first, group) in Self::groups(bank, unit, lanes, ty) {
                    for one in group.chunks(1) {
                        self.cover(one, &src, false, &mut |s, mask, now| s.complex_word(*code, ty, (bank, first), mask, &now[0]))?;
                    }
                }
                Ok(())
            }
            Kind::Dot => self.dot(op),
            Kind::Rows => self.rows(op),
            Kind::Copy => {
                let (bank, unit, lanes, ty) = self.result(op)?;
                let src = self.sources(op, ty);
                let moves = (0..lanes as usize).map(|k| (bank, unit + k as u16, src[0][k], ty)).collect();
                self.moves(moves, op.pred)
            }
            Kind::Parallel(dsts) => {
                let mut moves = Vec::new();
                for (d, s) in dsts.iter().zip(&op.src) {
                    let (bank, unit, lanes, ty) = self.units(*d)?;
                    if self.places.at[d.0 as usize].is_none() {
                        continue;
                    }
                    for k in 0..lanes as usize {
                        moves.push((bank, unit + k as u16, self.phys(&s[k], ty), ty));
                    }
                }
                self.moves(moves, None)
            }
            Kind::Select(p) => {
                let (bank, unit, lanes, ty) = self.result(op)?;
                let src = self.sources(op, ty);
                let side = |n: usize| (0..lanes as usize).map(|k| (bank, unit + k as u16, src[n][k], ty)).collect::<Vec<_>>();
                self.moves(side(1), None)?;
                self.moves(side(0), Some(*p))
            }
            Kind::SelectZero(rel) => self.conditional(op, Some(*rel)),
            Kind::SelectBool => self.conditional(op, None),
            Kind::Bit(bit) => {
                let (bank, unit, lanes, _) = self.result(op)?;
                let src = self.sources(op, Scalar::I32);
                for k in 0..lanes as usize {
                    let (a, b) = (src[0][k], src[1][k]);
                    let w = self
                        .bitwise(*bit, (bank, unit + k as u16), a, b)
                        .ok_or_else(|| internal(&format!("{bit:?} of {a:?} and {b:?} in {bank:?}{unit}+{k}")))?;
                    self.blocks[self.at].push(w);
                }
                Ok(())
            }
            Kind::Mad => self.mad(op),
            Kind::Convert(from, to, scaled) => self.convert(op, *from, *to, *scaled),
            Kind::Test(kind, rel, p) => self.test(op, *kind, *rel, *p),
            Kind::SetPred(p, on) => {
                // and of the immediates 0 and 0, tested equal (or not) to 0.
                let mut e: Encoding = smallvec![
                    (field!(alu_sel), 3),
                    (field!(src1_bank), 2),
                    (field!(src1_ext), 1),
                    (field!(src2_bank), 2),
                    (field!(src2_ext), 1),
                ];
                let (s, z, a) = if *on { Rel::Eq } else { Rel::Ne }.fields();
                e.extend([
                    (field!(sign_test), s),
                    (field!(zero_test), z),
                    (field!(test_crcomb_and), a),
                    (field!(pdst_n), *p as u64),
                    (field!(dest_ext), 1),
                    (field!(dest_bank), 1),
                ]);
                e.push((field!(pred), Self::predicate(VTST, op.pred).ok_or_else(|| internal("a predicate"))?));
                self.push(VTST, e);
                Ok(())
            }
            Kind::Sample { state, dims, lod, has_lod } => self.sample(op, *state, *dims, *lod, *has_lod),
            Kind::Load { offset, .. } => self.load(op, *offset),
            Kind::Kill(p) => {
                let code = match p {
                    None => 0,
                    Some((0, true)) => 1,
                    Some((1, true)) => 2,
                    Some((0, false)) => 3,
                    _ => return Err(internal("a kill under this predicate")),
                };
                let n = self.kill_literal as u64;
                self.push(KILL, vec![(field!(pred), code), (field!(src1_n), n), (field!(src2_n), n)]);
                Ok(())
            }
            Kind::Depth => {
                let n = self.kill_literal as u64;
                self.push(DEPTHF, vec![(field!(src1_bank), 3), (field!(src2_bank), 3), (field!(src1_n), n), (field!(src2_n), n)]);
                Ok(())
            }
            Kind::Branch(to, pred) => {
                let p = Self::predicate(BR, *pred).ok_or_else(|| internal("a branch predicate"))?;
                let mut w = Word::new(BR, vec![(field!(pred), p), (field!(br_type), 1)], self.span);
                w.target = Some(*to);
                self.blocks[self.at].push(w);
                Ok(())
            }
            Kind::EndPhase => {
                self.push(NOP, vec![(field!(end), 1)]);
                self.push(PHAS, vec![(field!(imm), 1), (field!(wait_cond), 7)]);
                Ok(())
            }
            Kind::Keep => Ok(()),
        }
    }

    /// Whether a half-precision group may write lanes beyond the value: its last register belongs to nobody else.
    fn spare_half(&self, dst: Option<Vreg>, ty: Scalar) -> bool {
        ty == Scalar::F16 && dst.is_some_and(|d| self.program.data(d).lanes % 2 == 1)
    }

    fn complex_word(&mut self, op: Opcode, ty: Scalar, dst: (Bank, u16), mask: u8, src: &[Option<Phys>; 4]) -> Option<Word> {
        let code = match op {
            Opcode::Frcp => 0,
            Opcode::Frsqrt => 1,
            Opcode::Flog2 => 2,
            Opcode::Fexp2 => 3,
            _ => return None,
        };
        let k = mask.trailing_zeros() as usize;
        let mut e = self.dest(VCOMP, dst.0, dst.1, ty, &[])?;
        let mut one = [None; 4];
        one[0] = src[k];
        // The constant table is not named for this operand; constants come from literals.
        let x = match src[k].map(|l| l.spot) {
            Some(Spot::C(c)) => {
                let at = self.literals.place(&[c])?;
                one[0] = Some(Phys::at(if self.secondary { Bank::Pa } else { Bank::Sa }, at));
                self.name(VCOMP, Src1, &one, Scalar::F32, &[])?
            }
            _ => self.name(VCOMP, Src1, &one, ty, &[])?,
        };
        e.extend(x);
        let t = (ty == Scalar::F16) as u64;
        e.extend([(field!(op2), code), (field!(write_mask), mask as u64), (field!(dest_type), t), (field!(src_type), t)]);
        Some(Word::new(VCOMP, e, self.span))
    }
}

/// Half-precision stores in pairs: the unused half of the last register may be overwritten.
fn widen(mask: u8, src: &[[Option<Phys>; 4]]) -> (u8, Vec<[Option<Phys>; 4]>) {
    let wide = mask | if mask & 3 == 1 { 2 } else { 0 } | if mask >> 2 == 1 { 8 } else { 0 };
    (wide, src.to_vec())
}
