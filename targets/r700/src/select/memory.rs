//! Inputs, uniforms, storage buffers and local arrays.

use super::{Lower, fetch};
use crate::abi::{Platform, Role, STORAGE_RESOURCE, VERTEX_RESOURCE};
use crate::compile::MAX_SCRATCH;
use crate::isa::forms::{DataFormat, exp_buf, field, op2, op3, vtx};
use crate::select::mir::*;
use cranelift_entity::EntityRef;
use retroshade_emit::Word;
use retroshade_ir::{Function, Imm, InstData, MemRef, Opcode, Scalar, Span, Value};
use retroshade_lower::CompileError;
use std::collections::BTreeSet;

/// Registers kept for local arrays.
const ARRAY_REGISTERS: u32 = 64;

/// Which local arrays live in scratch memory: the longest ones, where the registers kept for arrays do not hold all. Those that are
/// `elsewhere` need none.
pub fn in_scratch(func: &Function, elsewhere: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut order: Vec<(u32, usize)> = func.locals.values().enumerate().map(|(k, l)| (l.count, k)).filter(|l| !elsewhere(l.1)).collect();
    order.sort_unstable();
    let mut out = vec![false; func.locals.len()];
    let mut total = 0u32;
    for (count, k) in order {
        total = total.saturating_add(count);
        out[k] = total > ARRAY_REGISTERS;
    }
    out
}

impl Lower<'_> {
    pub(super) fn input(&mut self, d: &InstData) {
        let Imm::Mem { var: MemRef::Input(n), offset } = d.imm else { return };
        let count = self.module.inputs[n].count;
        if let Some(slot) = self.abi.ring_input(n.index()) {
            return self.ring_input(d, slot, offset, count);
        }
        if let (Role::OwnFetches, Some(first)) = (self.abi.role, self.abi.attributes[n.index()]) {
            return self.attribute(d, first, offset, count);
        }
        let place = self.abi.inputs[n.index()];
        let r = d.results[0];
        let ty = self.func.ty(r);
        for lane in 0..ty.lanes {
            if !self.used(r, lane) {
                continue;
            }
            let (gpr, chan) = (place.gpr + offset as u8, place.chan + lane);
            let o = match d.args.first() {
                Some(index) => self.chosen_input(*index, gpr, chan, count.saturating_sub(offset)),
                None => Opnd::web(self.input_web(gpr, chan)),
            };
            // Truth values arrive as the sign of a float, which most readers compare by themselves.
            if ty.scalar == Scalar::I1 {
                self.signs.insert((r, lane), o);
                if self.needs_mask((r, lane)) {
                    self.mask(r, lane);
                }
                continue;
            }
            self.set(r, lane, o);
        }
    }

    /// An attribute by a vertex fetch of the program's own.
    fn attribute(&mut self, d: &InstData, first: u32, offset: u32, count: u32) {
        let r = d.results[0];
        let ty = self.func.ty(r);
        let fetch = |l: &mut Self, e: u32| -> Vec<Opnd> {
            let index = Opnd::web(l.input_web(0, 0));
            fetch::buffer(l, r, index, fetch::attribute(VERTEX_RESOURCE + (first + e) as u64, ty), 0);
            (0..ty.lanes).map(|k| if l.used(r, k) { l.lane(r, k) } else { Opnd::bits(0) }).collect()
        };
        let Some(index) = d.args.first() else {
            fetch(self, offset);
            return self.truth(r);
        };
        let index = self.lane(*index, 0);
        let last = count.saturating_sub(1).saturating_sub(offset);
        let mut value = fetch(self, offset + last);
        for e in (0..last).rev() {
            let t = self.emit(op2::SUB_INT, &[index, Opnd::bits(e)]);
            let own = fetch(self, offset + e);
            value = own.into_iter().zip(value).map(|(x, o)| self.emit(op3::CNDE_INT, &[t, x, o])).collect();
        }
        for (lane, o) in value.into_iter().enumerate() {
            self.set(r, lane as u8, o);
        }
        self.truth(r);
    }

    /// Truth values are the sign of a float outside.
    fn truth(&mut self, r: Value) {
        if self.func.ty(r).scalar == Scalar::I1 {
            for lane in 0..self.func.ty(r).lanes {
                if self.used(r, lane) {
                    let o = self.lane(r, lane);
                    let o = self.emit(op2::SETGT_DX10, &[o, Opnd::bits(0)]);
                    self.set(r, lane, o);
                }
            }
        }
    }

    /// The web of a channel that holds an input on entry.
    pub(super) fn input_web(&mut self, gpr: u8, chan: u8) -> Web {
        if let Some(w) = self.inputs.get(&(gpr, chan)) {
            return *w;
        }
        let w = self.mir.web();
        let q = match self.input_quads.get(&gpr) {
            Some(q) => *q,
            None => {
                self.mir.quads.push(Vec::new());
                let q = Quad(self.mir.quads.len() as u32 - 1);
                self.input_quads.insert(gpr, q);
                q
            }
        };
        self.mir.quads[q.0 as usize].push(w);
        self.mir.webs[w.0 as usize] = WebInfo { chan: Some(chan), fixed: Some(gpr), quad: Some(q), settled: true, lane: None };
        self.inputs.insert((gpr, chan), w);
        w
    }

    pub(super) fn uniform(&mut self, d: &InstData) {
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
                let o = if ty.scalar == Scalar::I1 && self.used(r, lane) { self.emit(op2::SETNE_INT, &[o, Opnd::bits(0)]) } else { o };
                self.set(r, lane, o);
            }
            return;
        }
        let index = self.lane(d.args[0], 0);
        if !decl.unit.is_multiple_of(16) {
            let fits = matches!((decl.unit, ty.lanes), (4 | 8 | 12, 1) | (8, 2)) && at.is_multiple_of(if ty.lanes == 2 { 8 } else { 4 });
            if !fits || ty.scalar == Scalar::I1 {
                let message = "an indexed uniform whose elements lie across the 16 bytes that a fetch brings";
                return self.fail(CompileError::unsupported("R0106", self.span, message));
            }
            return self.narrow_uniform(r, bank, at, decl.unit, index);
        }
        let index = match decl.unit / 16 {
            1 => index,
            k if k.is_power_of_two() => self.emit(op2::LSHL_INT, &[index, Opnd::bits(k.trailing_zeros())]),
            k => self.emit(op2::MULLO_INT, &[index, Opnd::bits(k)]),
        };
        let shift = at % 16 / 4;
        let resource = self.abi.buffer_resource() + bank as u64;
        let (index, offset) = match self.abi.platform {
            Platform::WiiU if at >= 16 => (self.emit(op2::ADD_INT, &[index, Opnd::bits(at / 16)]), 0),
            _ => (index, at - at % 16),
        };
        fetch::buffer(self, r, index, self.rows(resource, offset), shift as u8);
    }

    /// A fetch of 16 bytes of a constant buffer. GX2's resources have their format, and emulators read it from there.
    fn rows(&self, resource: u64, offset: u32) -> Word {
        let word = fetch::from_buffer(resource, offset, 15, DataFormat::Words4);
        word.with(field!(vtx::FETCH.USE_CONST_FIELDS), self.abi.platform == Platform::WiiU)
    }

    /// An element of an array whose stride is less than the 16 bytes of a fetch: the fetch brings those that hold it.
    fn narrow_uniform(&mut self, r: Value, bank: u8, at: u32, unit: u32, index: Opnd) {
        let lanes = self.func.ty(r).lanes;
        let words = match unit / 4 {
            1 => index,
            2 => self.emit(op2::LSHL_INT, &[index, Opnd::bits(1)]),
            k => self.emit(op2::MULLO_INT, &[index, Opnd::bits(k)]),
        };
        let word = self.emit(op2::ADD_INT, &[words, Opnd::bits(at / 4)]);
        let element = self.emit(op2::LSHR_INT, &[word, Opnd::bits(2)]);
        let all = fetch::whole(self, element, self.rows(self.abi.buffer_resource() + bank as u64, 0));
        let high = self.emit(op2::AND_INT, &[word, Opnd::bits(2)]);
        let half = |l: &mut Self, c: usize| l.emit(op3::CNDE_INT, &[high, Opnd::web(all[c]), Opnd::web(all[c + 2])]);
        let (x, y) = (half(self, 0), half(self, 1));
        if lanes == 2 {
            self.set(r, 0, x);
            self.set(r, 1, y);
            return;
        }
        let odd = self.emit(op2::AND_INT, &[word, Opnd::bits(1)]);
        let o = self.emit(op3::CNDE_INT, &[odd, x, y]);
        self.set(r, 0, o);
    }

    pub(super) fn storage(&mut self, d: &InstData) {
        let Imm::Mem { var: MemRef::Storage(n), offset } = d.imm else { return };
        let r = d.results[0];
        let index = match d.args.first() {
            Some(v) => self.lane(*v, 0),
            None => Opnd::bits(0),
        };
        let lanes = self.func.ty(r).lanes;
        let word = fetch::from_buffer(STORAGE_RESOURCE + n.index() as u64, offset * 4, lanes as u64 * 4 - 1, fetch::format(lanes));
        fetch::buffer(self, r, index, word, 0);
    }

    pub(super) fn declare_locals(&mut self) -> Result<(), CompileError> {
        let read = self.func.ordered().filter_map(|(_, i)| match (self.data(i).op, &self.data(i).imm) {
            (Opcode::LocalLoad, Imm::Mem { var: MemRef::Local(l), .. }) => Some(l.index()),
            _ => None,
        });
        let read: BTreeSet<usize> = read.collect();
        // Tables lie in a constant buffer; what nobody reads lies nowhere.
        let elsewhere = |k: usize| self.abi.table(k).is_some() || !read.contains(&k);
        let scratch = in_scratch(self.func, elsewhere);
        for (k, (l, scratch)) in self.func.locals.values().zip(scratch).enumerate() {
            self.mir.locals.push(if scratch || elsewhere(k) { 0 } else { l.count as u8 });
            self.memory.push(scratch.then_some(self.mir.scratch));
            if scratch {
                self.mir.scratch = self.mir.scratch.saturating_add(l.count);
                if self.mir.scratch > MAX_SCRATCH {
                    return Err(CompileError::limit(
                        "R0304",
                        Span::NONE,
                        format!("local array `{}` does not fit scratch memory", l.name),
                        self.mir.scratch as u64,
                        MAX_SCRATCH as u64,
                    ));
                }
            }
        }
        Ok(())
    }

    /// An access to an array in scratch memory, an element of 16 bytes for each of its own.
    fn scratch(&mut self, d: &InstData, element: u32, index: Option<Opnd>) {
        let index = index.map(|o| {
            let o = self.plain(o);
            let w = self.mir.web();
            self.emit_to(op2::MOV, &[o], w);
            w
        });
        if d.op == Opcode::LocalLoad {
            let r = d.results[0];
            let quad = index.and_then(|w| self.quad(vec![w]));
            let src = index.map(Coord::Web).into_iter().collect();
            return fetch::memory(self, r, crate::place::spill::read_word(element, index.is_some()), src, quad);
        }
        let (mut src, mut members) = ([None; 4], Vec::new());
        for lane in 0..self.func.ty(d.args[0]).lanes {
            let o = self.lane(d.args[0], lane);
            let w = self.mir.web();
            self.mir.webs[w.0 as usize].chan = Some(lane);
            self.emit_to(op2::MOV, &[o], w);
            src[lane as usize & 3] = Some(w);
            members.push(w);
        }
        // The index stands in X.
        if let Some(w) = index {
            self.mir.webs[w.0 as usize].chan = Some(0);
        }
        let quad = self.quad(members);
        let kind = 2 + index.is_some() as u8;
        let write = Write { form: exp_buf::MEM_SCRATCH, kind, base: element as u16, src, quad, index };
        self.push(Op::other(Kind::Write(Box::new(write))));
        self.end_piece();
    }

    pub(super) fn local(&mut self, d: &InstData) {
        let Imm::Mem { var: MemRef::Local(n), offset } = d.imm else { return };
        let local = n.index() as u8;
        let store = d.op == Opcode::LocalStore;
        let index = d.args.get(store as usize).copied();
        if let Some((bank, row)) = self.abi.table(n.index()) {
            if !store {
                self.table(d, bank, row, offset, index);
            }
            return;
        }
        if let Some(base) = self.memory.get(n.index()).copied().flatten() {
            let index = index.map(|v| self.lane(v, 0));
            return self.scratch(d, base + offset, index);
        }
        if self.mir.locals[n.index()] == 0 {
            return;
        }
        let rel = index.is_some();
        let offset = offset.min(127) as u8;
        if store {
            let mut stored = Vec::new();
            for lane in 0..self.func.ty(d.args[0]).lanes {
                let o = self.lane(d.args[0], lane);
                let o = if matches!(o.place, Place::Const(..)) { self.emit(op2::MOV, &[o]) } else { o };
                stored.push((lane, o));
            }
            self.mova(index);
            for (lane, o) in stored {
                let mut op = Op::alu(op2::MOV, &[o], None);
                op.store = Some((local, offset, lane, rel));
                self.push(op);
            }
        } else {
            self.mova(index);
            let r = d.results[0];
            for lane in 0..self.func.ty(r).lanes {
                if self.used(r, lane) {
                    let place = Place::Array { local, offset, chan: lane, rel };
                    let o = self.emit(op2::MOV, &[Opnd { place, neg: false, abs: false }]);
                    self.set(r, lane, o);
                }
            }
        }
    }

    /// An element of a table in a constant buffer.
    fn table(&mut self, d: &InstData, bank: u8, row: u32, offset: u32, index: Option<Value>) {
        let r = d.results[0];
        if let Some(index) = index {
            // The index alone may be negative, and a fetch takes it as unsigned.
            let mut index = self.lane(index, 0);
            if offset > 0 {
                index = self.emit(op2::ADD_INT, &[index, Opnd::bits(offset)]);
            }
            return fetch::buffer(self, r, index, self.rows(self.abi.buffer_resource() + bank as u64, row * 16), 0);
        }
        for lane in 0..self.func.ty(r).lanes {
            let o = Opnd { place: Place::Const(bank, (row + offset) as u16, lane), neg: false, abs: false };
            self.set(r, lane, o);
        }
    }

    pub(super) fn mova(&mut self, index: Option<Value>) {
        if let Some(v) = index {
            let o = self.lane(v, 0);
            let o = self.plain(o);
            let mut op = Op::alu(op2::MOVA_INT, &[o], None);
            op.kind = Kind::Mova;
            self.push(op);
        }
    }
}
