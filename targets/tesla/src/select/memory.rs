//! Selection of memory operations: indexed constants, local, shared and global memory, atomics.

use crate::abi::SPACE_BYTES;
use crate::isa::forms::{Access, Op, field};
use crate::select::Lower;
use crate::select::mir::*;
use cranelift_entity::EntityRef;
use retroshade_ir::{AtomicOp, Imm, InstData, MemRef, Opcode, Scalar, Stage, Value};
use retroshade_lower::{CompileError, Reg};
use smallvec::SmallVec;

fn internal(what: &str) -> CompileError {
    CompileError::Internal(what.to_string())
}

/// How far the search for an index's low zero bits looks.
const DEPTH: u32 = 6;

/// Cuts the wanted lanes into words, pairs and quads that the alignment (so many low zero bits of the byte address) allows: first
/// lane, number. With `spare`, four lanes may be accessed where not all are wanted.
fn pieces(wanted: u8, aligned: u32, spare: bool) -> Vec<(u8, u8)> {
    if aligned >= 4 && (wanted == 15 || spare && wanted & 3 != 0 && wanted & 12 != 0) {
        return vec![(0, 4)];
    }
    let mut out = Vec::new();
    for half in [0, 2] {
        match wanted >> half & 3 {
            3 if aligned >= 3 => out.push((half, 2)),
            n => out.extend((0..2).filter(|l| n >> l & 1 == 1).map(|l| (half + l, 1))),
        }
    }
    out
}

/// The last word of s[] that an operand of arithmetic can name.
const OPERAND_REACH: u32 = 0x7c;

/// A place in l[] (by `$a`) or g[] (by a register).
struct At {
    index: Index,
    address: Option<Reg>,
    off: u32,
    space: u8,
}

impl Lower<'_> {
    /// Loads, stores and atomics.
    pub(crate) fn memory(&mut self, d: &InstData) -> Result<(), CompileError> {
        let (var, offset) = match &d.imm {
            Imm::Mem { var, offset } | Imm::Atomic { var, offset, .. } => (*var, *offset),
            _ => return Err(internal("a memory operation without a variable")),
        };
        match (d.op, var) {
            (Opcode::Uniform, MemRef::Uniform(u)) => {
                self.note("uniform.indexed");
                let p = self.abi.uniforms[u.as_u32() as usize].clone();
                let index = self.address(d.args[0], p.unit)?;
                let base = p.offset + offset * p.unit;
                for l in self.lanes_wanted(d) {
                    let r = self.result_lane(d, l);
                    let src = Src::C(p.space, base + 4 * l as u32, true);
                    if self.func.ty(d.results[0]).scalar == Scalar::I1 {
                        let t = self.fresh();
                        self.emit(MInst { index, ..MInst::new(Op::LdC, Dst::Reg(t), &[src]).with(field!(w), true) });
                        self.mask_of(Src::reg(t), r);
                        continue;
                    }
                    self.emit(MInst { index, ..MInst::new(Op::LdC, Dst::Reg(r), &[src]).with(field!(w), true) });
                }
                Ok(())
            }
            (Opcode::LocalLoad, MemRef::Local(x)) if self.tables[x].is_some() => {
                self.note("table.load");
                let unit = self.func.locals[x].ty.lanes as u32 * 4;
                let index = self.optional_address(d.args.first().copied(), unit)?;
                let (Some(start), Some(space)) = (self.tables[x], self.abi.constants.as_ref().map(|c| c.space)) else {
                    return Err(internal("a table without a place"));
                };
                let read = self.lanes_read(d);
                for l in self.lanes_wanted(d).into_iter().filter(|l| read >> l & 1 == 1) {
                    let r = self.result_lane(d, l);
                    let src = Src::C(space, start + offset * unit + 4 * l as u32, index != Index::None);
                    self.emit(MInst { index, ..MInst::new(Op::LdC, Dst::Reg(r), &[src]).with(field!(w), true) });
                }
                Ok(())
            }
            // Its constants are there already.
            (Opcode::LocalStore, MemRef::Local(x)) if self.tables[x].is_some() => Ok(()),
            (Opcode::LocalLoad, MemRef::Local(x)) => {
                self.note("local.load");
                let lanes = self.func.locals[x].ty.lanes as u32;
                let base = self.local_base[x.as_u32() as usize] + offset * lanes * 4;
                let index = self.optional_address(d.args.first().copied(), lanes * 4)?;
                let aligned = (base | (lanes * 4)).trailing_zeros();
                for (first, n) in pieces(self.lanes_read(d), aligned, self.func.ty(d.results[0]).lanes == 4) {
                    let regs = (first..first + n).map(|l| self.result_lane(d, l)).collect();
                    self.transfer(Op::LdL, At { index, address: None, off: base + 4 * first as u32, space: 0 }, regs);
                }
                Ok(())
            }
            (Opcode::LocalStore, MemRef::Local(x)) => {
                self.note("local.store");
                let lanes = self.func.locals[x].ty.lanes as u32;
                let base = self.local_base[x.as_u32() as usize] + offset * lanes * 4;
                let index = self.optional_address(d.args.get(1).copied(), lanes * 4)?;
                let aligned = (base | (lanes * 4)).trailing_zeros();
                let regs = self.stored(d.args[0])?;
                for (first, n) in pieces(!(!0 << regs.len()), aligned, false) {
                    let part = regs[first as usize..(first + n) as usize].into();
                    self.transfer(Op::StL, At { index, address: None, off: base + 4 * first as u32, space: 0 }, part);
                }
                Ok(())
            }
            (Opcode::SharedLoad, MemRef::Shared(x)) => {
                self.note("shared.load");
                let lanes = self.module.shared[x].ty.lanes as u32;
                let base = self.abi.shared[x.as_u32() as usize] + offset * lanes * 4;
                if !self.chip.sm11 {
                    // The first chip reads s[] only as an operand of arithmetic, which reaches so far; beyond, the whole address goes
                    // through `$a`.
                    self.note("shared.load.g80");
                    let (index, base) = if base + 4 * (lanes - 1) <= OPERAND_REACH {
                        (self.optional_address(d.args.first().copied(), lanes * 4)?, base)
                    } else {
                        (Index::Reg(self.shared_address(d.args.first().copied(), lanes * 4, base)?, 0), 0)
                    };
                    for l in self.lanes_wanted(d) {
                        let r = self.result_lane(d, l);
                        self.emit(MInst { index, ..MInst::new(Op::Mov, Dst::Reg(r), &[Src::S(3, base + 4 * l as u32)]) });
                    }
                    return Ok(());
                }
                let index = self.optional_address(d.args.first().copied(), lanes * 4)?;
                for l in self.lanes_wanted(d) {
                    let r = self.result_lane(d, l);
                    let extra = Extra::Mem { off: base + 4 * l as u32, ty: Access::B32, space: 0 };
                    self.emit(MInst { index, extra, ..MInst::new(Op::LdS, Dst::Reg(r), &[]).with(field!(w), true) });
                }
                Ok(())
            }
            (Opcode::SharedStore, MemRef::Shared(x)) => {
                self.note("shared.store");
                let lanes = self.module.shared[x].ty.lanes as u32;
                let base = self.abi.shared[x.as_u32() as usize] + offset * lanes * 4;
                let index = self.optional_address(d.args.get(1).copied(), lanes * 4)?;
                for (l, r) in self.stored(d.args[0])?.into_iter().enumerate() {
                    let extra = Extra::Mem { off: base + 4 * l as u32, ty: Access::B32, space: 0 };
                    self.emit(MInst { index, extra, ..MInst::new(Op::StS, Dst::None, &[Src::None, Src::None, Src::reg(r)]) });
                }
                Ok(())
            }
            (Opcode::StorageLen, MemRef::Storage(s)) if self.module.stage == Stage::Compute => {
                self.note("storage.length");
                let r = self.result_lane(d, 0);
                let off = crate::abi::STORAGE_LENGTHS + 4 * s.as_u32();
                self.emit(MInst::new(Op::Mov, Dst::Reg(r), &[Src::S(3, off)]));
                Ok(())
            }
            (_, MemRef::Storage(s)) if self.module.stage != Stage::Compute => self.constant_buffer(d, s.index(), offset),
            (_, MemRef::Storage(s)) => self.global(d, s.as_u32() as u8, offset),
            (Opcode::Atomic, MemRef::Shared(x)) => self.shared_atomic(d, x.index(), offset),
            _ => Err(internal("a memory operation on the wrong kind of variable")),
        }
    }
    /// Words from memory to registers or back: one by itself, two or four at once in the next block of registers.
    fn transfer(&mut self, op: Op, at: At, regs: SmallVec<[Reg; 4]>) {
        let load = matches!(op, Op::LdL | Op::LdG);
        let mut src: SmallVec<[Src; 2]> = at.address.map(Src::reg).into_iter().collect();
        let (dst, extra) = match regs[..] {
            [r] if load => (Dst::Reg(r), Extra::Mem { off: at.off, ty: Access::B32, space: at.space }),
            [r] => {
                src.push(Src::reg(r));
                (Dst::None, Extra::Mem { off: at.off, ty: Access::B32, space: at.space })
            }
            _ => (Dst::None, Extra::Wide(Box::new(Wide { off: at.off, space: at.space, base: 0, regs, load }))),
        };
        self.emit(MInst { index: at.index, extra, ..MInst::new(op, dst, &src) });
    }
    /// How many low bits of a whole number are known to be zero.
    fn zeros(&self, v: Value, depth: u32) -> u32 {
        if let Some(k) = self.bits(v) {
            return k.trailing_zeros();
        }
        let (Some(d), Some(rest)) = (self.def(v), depth.checked_sub(1)) else { return 0 };
        let of = |n: usize| self.zeros(d.args[n], rest);
        let n = match d.op {
            Opcode::Iadd | Opcode::Isub | Opcode::Ior | Opcode::Ixor => of(0).min(of(1)),
            Opcode::Iand => of(0).max(of(1)),
            Opcode::Imul => of(0) + of(1),
            Opcode::Ishl => self.bits(d.args[1]).map_or(0, |k| of(0) + (k & 31)),
            Opcode::Select => of(1).min(of(2)),
            _ => 0,
        };
        n.min(31)
    }
    fn optional_address(&mut self, index: Option<Value>, unit: u32) -> Result<Index, CompileError> {
        index.map_or(Ok(Index::None), |v| self.address(v, unit))
    }
    fn lanes_wanted(&self, d: &InstData) -> Vec<u8> {
        (0..self.func.ty(d.results[0]).lanes).collect()
    }
    fn lanes_read(&self, d: &InstData) -> u8 {
        let v = d.results[0];
        self.used_lanes(v) & !(!0 << self.func.ty(v).lanes)
    }
    fn result_lane(&mut self, d: &InstData, lane: u8) -> Reg {
        let v = d.results[0];
        if self.func.ty(v).is_vector() {
            let r = self.fresh();
            self.lanes.insert((v, lane), r);
            return r;
        }
        Reg::Virtual(self.new_value(v))
    }
    /// The lanes of a value to store; zero needs a register here. Truth values are stored as 0 / -1 in private memory.
    fn stored(&mut self, v: Value) -> Result<SmallVec<[Reg; 4]>, CompileError> {
        let v = self.func.resolve(v);
        let ty = self.func.ty(v);
        let mut out = SmallVec::new();
        for l in 0..ty.lanes {
            let s = if ty.lanes == 1 && ty.scalar == Scalar::I1 {
                Src::reg(self.mask(v)?)
            } else if ty.lanes == 1 {
                self.operand(v)?
            } else {
                self.lane(v, l)?
            };
            out.push(self.in_register(s));
        }
        Ok(out)
    }
    fn global(&mut self, d: &InstData, space: u8, offset: u32) -> Result<(), CompileError> {
        if space > 14 {
            return Err(CompileError::limit("T0102", self.span, "too many storage buffers", space as u64 + 1, 15));
        }
        let values = match (d.op, &d.imm) {
            (Opcode::Atomic, Imm::Atomic { op: AtomicOp::Cas, .. }) => 2,
            (Opcode::StorageStore | Opcode::Atomic, _) => 1,
            _ => 0,
        };
        let index = d.args.get(values).copied();
        let aligned = match self.chip.flexgrip {
            true => 2,
            false => 2 + index.map_or(16, |v| self.zeros(v, DEPTH)).min(offset.trailing_zeros()),
        };
        let (buffer, space) = (space, if self.abi.storage_bases.is_some() { 0 } else { space });
        match d.op {
            Opcode::StorageLoad => {
                for (first, n) in pieces(self.lanes_read(d), aligned, self.func.ty(d.results[0]).lanes == 4) {
                    let a = self.global_address(index, 4 * (offset + first as u32), buffer)?;
                    self.note(if n > 1 { "global.load.wide" } else { "global.load" });
                    let regs = (first..first + n).map(|l| self.result_lane(d, l)).collect();
                    self.transfer(Op::LdG, At { index: Index::None, address: Some(a), off: 0, space }, regs);
                }
                Ok(())
            }
            Opcode::StorageStore => {
                let v = self.func.resolve(d.args[0]);
                let regs = if matches!(self.func.ty(v).scalar, Scalar::I1 | Scalar::F16) && !self.func.ty(v).is_vector() {
                    [self.result_register(v)?].into_iter().collect()
                } else {
                    self.stored(v)?
                };
                for (first, n) in pieces(!(!0 << regs.len()), aligned, false) {
                    let a = self.global_address(index, 4 * (offset + first as u32), buffer)?;
                    self.note(if n > 1 { "global.store.wide" } else { "global.store" });
                    let part = regs[first as usize..(first + n) as usize].into();
                    self.transfer(Op::StG, At { index: Index::None, address: Some(a), off: 0, space }, part);
                }
                Ok(())
            }
            _ => {
                let Imm::Atomic { op, .. } = d.imm else { return Err(internal("an atomic without operation")) };
                if !self.chip.sm11 {
                    return Err(CompileError::unsupported("T0043", self.span, format!("{} has no atomics", self.chip.name)));
                }
                let (op, ty) = match op {
                    AtomicOp::Add => (Op::AtomAdd, Access::B32),
                    AtomicOp::Umin => (Op::AtomMin, Access::B32),
                    AtomicOp::Smin => (Op::AtomMin, Access::S32),
                    AtomicOp::Umax => (Op::AtomMax, Access::B32),
                    AtomicOp::Smax => (Op::AtomMax, Access::S32),
                    AtomicOp::And => (Op::AtomAnd, Access::B32),
                    AtomicOp::Or => (Op::AtomOr, Access::B32),
                    AtomicOp::Xor => (Op::AtomXor, Access::B32),
                    AtomicOp::Xchg => (Op::Exch, Access::B32),
                    AtomicOp::Cas => (Op::Cas, Access::B32),
                };
                let x = self.operand(d.args[0])?;
                let x = self.in_register(x);
                let address = self.byte_address(index, offset * 4)?;
                let mut src = vec![Src::reg(address), Src::reg(x)];
                if values == 2 {
                    let y = self.operand(d.args[1])?;
                    src.push(Src::reg(self.in_register(y)));
                }
                let unused = d.results.first().is_none_or(|r| self.facts.uses[*r] == 0);
                let reduction = match op {
                    Op::AtomAdd => Some(Op::RedAdd),
                    Op::AtomMin => Some(Op::RedMin),
                    Op::AtomMax => Some(Op::RedMax),
                    Op::AtomAnd => Some(Op::RedAnd),
                    Op::AtomOr => Some(Op::RedOr),
                    Op::AtomXor => Some(Op::RedXor),
                    _ => None,
                };
                let extra = Extra::Mem { off: 0, ty, space };
                match reduction.filter(|_| unused) {
                    Some(op) => {
                        self.note("global.reduce");
                        self.emit(MInst { extra, ..MInst::new(op, Dst::None, &src) });
                    }
                    None => {
                        self.note("global.atomic");
                        let r = if d.results.is_empty() { self.fresh() } else { self.result_lane(d, 0) };
                        self.emit(MInst { extra, ..MInst::new(op, Dst::Reg(r), &src) });
                    }
                }
                Ok(())
            }
        }
    }
    /// Outside compute programs there is no g[]: buffers that are only read stand in c[], behind a header with their length.
    fn constant_buffer(&mut self, d: &InstData, buffer: usize, offset: u32) -> Result<(), CompileError> {
        if !matches!(d.op, Opcode::StorageLoad | Opcode::StorageLen) {
            let message = "storage buffers can only be read outside compute programs on this machine";
            return Err(CompileError::unsupported("T0042", self.span, message));
        }
        let Some(space) = self.abi.storage_spaces.get(buffer).copied().flatten() else {
            return Err(CompileError::limit("T0102", self.span, "too many uniform blocks and storage buffers", buffer as u64 + 1, 16));
        };
        self.note("buffer.constant");
        let (base, index) = match d.op {
            Opcode::StorageLen => (0, Index::None),
            _ => (crate::abi::BUFFER_HEADER.saturating_add(offset.saturating_mul(4)), self.optional_address(d.args.first().copied(), 4)?),
        };
        for l in self.lanes_wanted(d) {
            let end = u64::from(base) + 4 * l as u64 + 4;
            if end > SPACE_BYTES {
                let m = "a read beyond the end of a constant space, in which storage buffers lie outside compute programs";
                return Err(CompileError::limit("T0112", self.span, m, end, SPACE_BYTES));
            }
            let r = self.result_lane(d, l);
            let src = Src::C(space, base + 4 * l as u32, index != Index::None);
            self.emit(MInst { index, ..MInst::new(Op::LdC, Dst::Reg(r), &[src]).with(field!(w), true) });
        }
        Ok(())
    }
    /// Atomics on s[] take the lock of a word, which the later chips have.
    fn shared_atomic(&mut self, d: &InstData, variable: usize, offset: u32) -> Result<(), CompileError> {
        let Imm::Atomic { op, .. } = d.imm else { return Err(internal("an atomic without operation")) };
        if !self.chip.sm12 {
            let message = format!("{} has no atomics on workgroup memory (they need the locks of g200 and later)", self.chip.name);
            return Err(CompileError::unsupported("T0041", self.span, message));
        }
        self.note("shared.atomic");
        let values = if op == AtomicOp::Cas { 2 } else { 1 };
        let unit = self.module.shared.values().nth(variable).map_or(4, |s| s.ty.lanes as u32 * 4);
        let off = self.abi.shared[variable] + offset * unit;
        let index = self.optional_address(d.args.get(values).copied(), unit)?;
        let mut src = Vec::new();
        for v in &d.args[..values] {
            let x = self.operand(*v)?;
            src.push(Src::reg(self.in_register(x)));
        }
        let lock = Lock { op, off, temp: self.fresh(), taken: self.fresh_flag(), equal: self.fresh_flag() };
        let r = if d.results.is_empty() { self.fresh() } else { self.result_lane(d, 0) };
        self.emit(MInst { index, extra: Extra::Lock(Box::new(lock)), ..MInst::new(Op::LdLock, Dst::Reg(r), &src) });
        Ok(())
    }
    /// A shared variable's byte address in a register.
    fn shared_address(&mut self, index: Option<Value>, unit: u32, base: u32) -> Result<Reg, CompileError> {
        let Some(v) = index else { return Ok(self.in_register(Src::Imm(base))) };
        let r = self.register(v)?;
        let t = self.fresh();
        self.emit(MInst::new(Op::Mul24, Dst::Reg(t), &[Src::reg(r), Src::Imm(unit)]));
        Ok(self.plus(t, base))
    }
    /// Four times a word index plus an offset in bytes; computed at most once per block.
    fn byte_address(&mut self, index: Option<Value>, offset: u32) -> Result<Reg, CompileError> {
        let Some(v) = index else { return Ok(self.in_register(Src::Imm(offset))) };
        if let Some(k) = self.bits(v) {
            return Ok(self.in_register(Src::Imm(k.wrapping_mul(4).wrapping_add(offset))));
        }
        let key = (self.func.resolve(v), offset);
        if let Some(r) = self.here.addresses.get(&key) {
            return Ok(*r);
        }
        let r = if offset != 0 {
            let start = self.byte_address(index, 0)?;
            self.plus(start, offset)
        } else {
            // A shift before this one is part of it.
            let (from, shift) = match self.def(v) {
                Some(d) if d.op == Opcode::Ishl => match self.bits(d.args[1]) {
                    Some(k) if k < 30 => (d.args[0], k + 2),
                    _ => (v, 2),
                },
                _ => (v, 2),
            };
            let r = self.register(from)?;
            let t = self.fresh();
            self.emit(MInst::new(Op::Shl, Dst::Reg(t), &[Src::reg(r), Src::Imm(shift)]));
            t
        };
        self.here.addresses.insert(key, r);
        Ok(r)
    }
    /// The address of a word of a buffer: in its own space, or behind its address in the only one.
    fn global_address(&mut self, index: Option<Value>, offset: u32, buffer: u8) -> Result<Reg, CompileError> {
        let a = self.byte_address(index, offset)?;
        let (Some(bases), Some(v)) = (self.abi.storage_bases, a.vreg()) else { return Ok(a) };
        if let Some(r) = self.here.placed.get(&(v, buffer)) {
            return Ok(*r);
        }
        let (base, r) = (self.fresh(), self.fresh());
        self.emit(MInst::new(Op::Mov, Dst::Reg(base), &[Src::S(3, bases + 4 * u32::from(buffer))]));
        self.emit(MInst::new(Op::Add, Dst::Reg(r), &[Src::reg(base), Src::reg(a)]));
        self.here.placed.insert((v, buffer), r);
        Ok(r)
    }
    fn plus(&mut self, r: Reg, k: u32) -> Reg {
        if k == 0 {
            return r;
        }
        let t = self.fresh();
        self.emit(MInst::new(Op::Add, Dst::Reg(t), &[Src::reg(r), Src::Imm(k)]));
        t
    }
}
