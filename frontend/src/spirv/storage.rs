//! Memory by words: storage buffers, arrays of them, and workgroup memory that is laid out as a block.
//!
//! The machines address memory by 32-bit words. Smaller numbers are taken out of their word; one that is written alone is exchanged within
//! its word by an atomic operation, so that its neighbours keep what others write there at the same time.

use super::binary::{Global, R, malformed};
use super::convert::Converter;
use super::place::{Place, Root, Step};
use super::types::{Kind, Num, Ty};
use super::value::Val;
use retroshade_ir::inst::{AtomicOp, Imm, MemRef};
use retroshade_ir::module::{Access, SharedDecl, StorageDecl};
use retroshade_ir::types::{F32, I32, Scalar, Type};
use retroshade_ir::{Opcode, Storage, Value};
use spirv::Decoration;

/// Leading words of a storage buffer that are listed one by one.
const MAX_HEAD_WORDS: u64 = 1 << 16;
/// Buffers of an array of them.
const MAX_BUFFERS: u32 = 64;

/// A storage buffer, an array of them, or a block of workgroup memory.
#[derive(Clone, Debug)]
pub(crate) struct StorageBuffer {
    /// Its memory; of an array, one for each element.
    memory: Vec<MemRef>,
    /// Its shape.
    ty: Ty,
    /// Whether the program only reads it, so that loads can wait.
    pub(crate) read_only: bool,
    /// Bytes that an address counts: 4, or 2 where there are smaller numbers.
    grain: u32,
}

/// A place in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    /// The memory.
    pub(crate) memory: MemRef,
    /// Constant and computed part, in grains.
    at: (u32, Option<Value>),
    /// The shape of what stands there.
    ty: Ty,
    /// Bytes from one element to the next, if it is an array.
    stride: u32,
    /// Bytes from one lane to the next.
    apart: u32,
    grain: u32,
    /// Whether the computed part is a whole number of words.
    whole: bool,
}

/// How the matrices of a member stand.
#[derive(Clone, Copy, Debug, Default)]
struct Layout {
    row_major: bool,
    matrix_stride: Option<u32>,
}

/// Bytes of a number.
fn bytes(n: Num) -> u32 {
    n.width / 8
}

fn pad(words: &mut Vec<Scalar>, to: usize) {
    while words.len() < to {
        words.push(Scalar::I32);
    }
}

impl Converter<'_> {
    /// Declares a storage buffer, or an array of them at consecutive bindings.
    pub(crate) fn storage_buffer(&mut self, g: &Global, ty: Ty) -> R<()> {
        let (group, binding) = self.bindings.get(&g.id).copied().unwrap_or_default();
        let (block, count) = match ty {
            Ty::Struct(block) => (block, None),
            Ty::Array(id) => match (self.types.array(id).elem, self.types.array(id).count) {
                (Ty::Struct(block), Some(n)) if n <= MAX_BUFFERS => (block, Some(n)),
                (Ty::Struct(_), Some(n)) => {
                    return Err(self.limit(format!("an array of {n} storage buffers; no machine has room for them")));
                }
                _ => return Err(self.error("F0135", "arrays of storage buffers without a length exist on none of the machines")),
            },
            _ => return Err(self.error("F0121", "a storage buffer of a type without layout")),
        };
        let members = self.types.struct_members(block);
        // A buffer without instance name is known by its only member, or by its own name.
        let inner = if let [one] = members { one.name.clone() } else { None };
        let name = self.b.name(g.id).map(str::to_string).or(inner).or(self.b.name(block).map(str::to_string));
        let name = name.unwrap_or_else(|| format!("storage{binding}"));
        let all = |d: Decoration| {
            self.b.has(g.id, d)
                || !members.is_empty() && (0u32..).zip(members).all(|(n, _)| self.b.of_member(block, n).iter().any(|(x, _)| *x == d))
        };
        let access = match (all(Decoration::NonWritable), all(Decoration::NonReadable)) {
            (true, _) => Access::Read,
            (false, true) => Access::Write,
            _ => Access::ReadWrite,
        };
        let (mut head, mut repeat) = (Vec::new(), Vec::new());
        self.uniform_limits(&name, ty)?;
        let grain = self.grain(ty);
        if grain < 4 {
            self.small_words(Ty::Struct(block), &mut head, &mut repeat)?;
        } else {
            self.storage_words(Ty::Struct(block), Layout::default(), &mut head, &mut repeat)?;
        }
        let mut memory = Vec::new();
        for k in 0..count.unwrap_or(1) {
            let name = count.map_or_else(|| name.clone(), |_| format!("{name}[{k}]"));
            let binding = binding.saturating_add(k);
            let view = StorageDecl {
                name,
                head: head.clone(),
                repeat: repeat.clone(),
                source_type: self.spell(Ty::Struct(block)),
                access,
                group,
                binding,
                span: self.span,
            };
            memory.push(MemRef::Storage(self.view(view)));
        }
        let read_only = access == Access::Read && count.is_none();
        self.storage.insert(g.id, StorageBuffer { memory, ty, read_only, grain });
        self.globals.insert(g.id, (Root::Storage(g.id), ty));
        Ok(())
    }

    /// The buffer of a variable: all at one binding are views of the same words. Those of HLSL with other names are of another kind.
    fn view(&mut self, mut view: StorageDecl) -> Storage {
        let place = (view.group, view.binding);
        let known = self.buffers.get(&place).copied().filter(|s| !self.b.hlsl || self.out.storage[*s].name == view.name);
        let Some(known) = known else {
            if self.out.storage.values().any(|s| s.name == view.name) {
                view.name = format!("{}_{}", view.name, view.binding);
            }
            let own = self.out.storage.push(view);
            self.buffers.insert(place, own);
            return own;
        };
        let decl = &mut self.out.storage[known];
        if decl.access != view.access {
            decl.access = Access::ReadWrite;
        }
        // The longer one says how many words there are.
        let length = |d: &StorageDecl| (!d.repeat.is_empty(), d.head.len());
        if length(decl) < length(&view) {
            (decl.head, decl.repeat, decl.source_type) = (view.head, view.repeat, view.source_type);
        }
        known
    }

    /// Whether a variable of workgroup memory says where its parts stand.
    pub(crate) fn is_laid_out(&self, ty: Ty) -> bool {
        matches!(ty, Ty::Struct(id) if self.b.has(id, Decoration::Block))
    }

    /// A block of workgroup memory. Several of them are the same memory.
    pub(crate) fn shared_block(&mut self, g: &Global, ty: Ty) -> R<()> {
        let name = self.global_name(g);
        self.uniform_limits(&name, ty)?;
        let (mut head, mut repeat) = (Vec::new(), Vec::new());
        let grain = self.grain(ty);
        if grain < 4 {
            self.small_words(ty, &mut head, &mut repeat)?;
        } else {
            self.storage_words(ty, Layout::default(), &mut head, &mut repeat)?;
        }
        if !repeat.is_empty() {
            return Err(self.limit(format!("the workgroup variable `{name}` is too large for any machine")));
        }
        let words = head.len().max(1) as u32;
        let shared = match self.shared_block {
            Some(s) => s,
            None => self.out.shared.push(SharedDecl { name, ty: I32, count: words, span: self.span }),
        };
        let decl = &mut self.out.shared[shared];
        decl.count = decl.count.max(words);
        self.shared_block = Some(shared);
        self.storage.insert(g.id, StorageBuffer { memory: vec![MemRef::Shared(shared)], ty, read_only: false, grain });
        self.globals.insert(g.id, (Root::Storage(g.id), ty));
        Ok(())
    }

    /// Bytes of the smallest number in a type, at most 4.
    fn grain(&self, ty: Ty) -> u32 {
        match ty {
            Ty::Array(id) => self.grain(self.types.array(id).elem),
            Ty::Struct(id) => self.types.struct_members(id).iter().map(|m| self.grain(m.ty)).min().unwrap_or(4),
            t => t.num().filter(|n| n.kind != Kind::Bool && n.width >= 8).map_or(4, |n| bytes(n).min(4)),
        }
    }

    /// Bytes from the start of a type to the end of its last part, as the module lays it out; an array without a length counts as nothing.
    fn extent(&self, ty: Ty, at: Layout) -> u64 {
        match ty {
            Ty::Scalar(n) => bytes(n).into(),
            Ty::Vector(k, n) => u64::from(k) * u64::from(bytes(n)),
            Ty::Matrix(c, r, n) => {
                let (vectors, lanes) = if at.row_major { (r, c) } else { (c, r) };
                u64::from(at.matrix_stride.unwrap_or(16)) * u64::from(vectors - 1) + u64::from(lanes) * u64::from(bytes(n))
            }
            Ty::Array(id) => {
                let a = self.types.array(id);
                let before = u64::from(a.count.unwrap_or(0).saturating_sub(1)) * u64::from(self.types.array_stride(id));
                if a.count.is_some() { before.saturating_add(self.extent(a.elem, at)) } else { 0 }
            }
            Ty::Struct(id) => {
                let members = self.types.struct_members(id).iter().zip(self.types.offsets(id));
                let end = members.map(|(m, offset)| {
                    let at = Layout { row_major: m.row_major, matrix_stride: m.matrix_stride };
                    u64::from(offset).saturating_add(self.extent(m.ty, at))
                });
                end.max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Whether a type ends in an array without a length.
    fn is_open(&self, ty: Ty) -> bool {
        match ty {
            Ty::Array(id) => self.types.array(id).count.is_none(),
            Ty::Struct(id) => self.types.struct_members(id).last().is_some_and(|m| self.is_open(m.ty)),
            _ => false,
        }
    }

    /// The words of a buffer with smaller numbers: nothing is said of what each holds.
    fn small_words(&self, ty: Ty, head: &mut Vec<Scalar>, repeat: &mut Vec<Scalar>) -> R<()> {
        let words = self.extent(ty, Layout::default()).div_ceil(4);
        if words > MAX_HEAD_WORDS {
            return Err(self.limit(format!("a part {words} words into a storage buffer is too far from its start")));
        }
        pad(head, words as usize);
        if self.is_open(ty) {
            repeat.push(Scalar::I32);
        }
        Ok(())
    }

    /// Lists what the words of a buffer hold; an array of unknown or enormous length at its end repeats.
    fn storage_words(&self, ty: Ty, at: Layout, head: &mut Vec<Scalar>, repeat: &mut Vec<Scalar>) -> R<()> {
        let far = |n: u64| self.limit(format!("a part {n} words into a storage buffer is too far from its start"));
        if head.len() as u64 > 2 * MAX_HEAD_WORDS {
            return Err(far(head.len() as u64));
        }
        match ty {
            Ty::Struct(id) => {
                let start = head.len();
                let offsets = self.types.offsets(id);
                for (m, offset) in self.types.struct_members(id).iter().zip(offsets) {
                    if u64::from(offset / 4) > MAX_HEAD_WORDS {
                        return Err(far(u64::from(offset / 4)));
                    }
                    if !offset.is_multiple_of(4) {
                        return Err(self.error("F0122", "a member of a storage buffer that does not stand at a multiple of four bytes"));
                    }
                    pad(head, start + offset as usize / 4);
                    self.storage_words(m.ty, Layout { row_major: m.row_major, matrix_stride: m.matrix_stride }, head, repeat)?;
                }
                Ok(())
            }
            Ty::Array(id) => {
                let a = self.types.array(id);
                let mut one = Vec::new();
                self.storage_words(a.elem, at, &mut one, &mut Vec::new())?;
                let stride = self.types.array_stride(id);
                if u64::from(stride / 4) > MAX_HEAD_WORDS {
                    return Err(far(u64::from(stride / 4)));
                }
                if !stride.is_multiple_of(4) || stride == 0 {
                    return Err(self.error("F0122", "elements of a storage buffer that do not stand at multiples of four bytes"));
                }
                pad(&mut one, stride as usize / 4);
                match a.count {
                    Some(n) if u64::from(n) * one.len() as u64 + (head.len() as u64) < MAX_HEAD_WORDS => {
                        for _ in 0..n {
                            head.extend_from_slice(&one);
                        }
                    }
                    _ => *repeat = one,
                }
                Ok(())
            }
            Ty::Matrix(columns, rows, num) => {
                let s = self.word_scalar(num)?;
                let (count, lanes) = if at.row_major { (rows, columns) } else { (columns, rows) };
                let stride = at.matrix_stride.unwrap_or(16);
                if stride > 1 << 12 || !stride.is_multiple_of(4) {
                    return Err(self.error("F0122", "a matrix whose columns do not stand at small multiples of four bytes"));
                }
                for _ in 0..count {
                    let start = head.len();
                    head.extend(std::iter::repeat_n(s, lanes.into()));
                    pad(head, start + stride as usize / 4);
                }
                Ok(())
            }
            Ty::Vector(n, num) => {
                head.extend(std::iter::repeat_n(self.word_scalar(num)?, n.into()));
                Ok(())
            }
            Ty::Scalar(num) => {
                head.push(self.word_scalar(num)?);
                Ok(())
            }
            _ => Err(self.error("F0121", "a storage buffer of a type without layout")),
        }
    }

    fn word_scalar(&self, num: Num) -> R<Scalar> {
        match self.ir_ty(Ty::Scalar(num))?.scalar {
            Scalar::I1 => Err(self.error("F0122", "truth values in a storage buffer have no layout")),
            other => Ok(other),
        }
    }

    /// Follows a path into memory: constant and computed part of the address, shape of what stands there.
    pub(crate) fn storage_address(&mut self, place: &Place) -> R<Address> {
        let Root::Storage(g) = place.root else { return Err(self.error("F0111", "not a storage buffer")) };
        let Some(buffer) = self.storage.get(&g) else { return Err(self.error("F0125", "a variable that was not declared")) };
        let (grain, mut ty, mut memory) = (buffer.grain, buffer.ty, buffer.memory[0]);
        let mut path = &place.path[..];
        if let (Ty::Array(id), Some((Step::Const(k), rest))) = (ty, path.split_first()) {
            memory = buffer.memory[(*k as usize).min(buffer.memory.len() - 1)];
            (ty, path) = (self.types.array(id).elem, rest);
        }
        let mut a = Address { memory, at: (0, None), ty, stride: 0, apart: 4, grain, whole: true };
        let mut layout = Layout::default();
        // Lanes of a matrix's column may stand apart.
        let mut apart = None;
        for s in path {
            let step = match a.ty {
                Ty::Struct(id) => {
                    let Step::Const(k) = s else { return Err(self.error("F0111", "a struct indexed by a computed value")) };
                    let Some(m) = self.types.struct_members(id).get(*k as usize) else {
                        return Err(self.error("F0111", "a member that does not exist"));
                    };
                    a.at.0 = a.at.0.wrapping_add(self.types.offsets(id).get(*k as usize).copied().unwrap_or(0) / grain);
                    layout = Layout { row_major: m.row_major, matrix_stride: m.matrix_stride };
                    a.ty = m.ty;
                    continue;
                }
                Ty::Array(id) => self.types.array_stride(id),
                Ty::Matrix(_, _, num) => {
                    let stride = layout.matrix_stride.unwrap_or(16);
                    // Row by row, the lanes of a column are as far apart as the rows.
                    let (step, gap) = if layout.row_major { (bytes(num), stride) } else { (stride, bytes(num)) };
                    apart = Some(gap);
                    step
                }
                Ty::Vector(_, num) => apart.unwrap_or(bytes(num)),
                _ => break,
            };
            if !step.is_multiple_of(grain) {
                return Err(self.error("F0122", "numbers in a buffer that do not stand at a multiple of their size"));
            }
            let count = match a.ty {
                Ty::Array(id) => self.types.array(id).count.unwrap_or(u32::MAX),
                ty => ty.len(self.types),
            };
            let s = &self.reachable(*s, count);
            a.at = self.add_index(a.at, *s, step / grain);
            a.whole &= matches!(s, Step::Const(_)) || step.is_multiple_of(4);
            a.ty = a.ty.child(self.types, 0);
        }
        a.apart = apart.or(a.ty.num().map(bytes)).unwrap_or(4);
        a.stride = match a.ty {
            Ty::Array(id) => self.types.array_stride(id),
            _ => 0,
        };
        Ok(a)
    }

    /// The word that an address names, as constant and computed part.
    pub(crate) fn word_of(&mut self, a: &Address) -> (u32, Option<Value>) {
        let each = 4 / a.grain;
        if each == 1 {
            return a.at;
        }
        let shift = self.iconst(each.trailing_zeros());
        (a.at.0 / each, a.at.1.map(|v| self.op2(Opcode::Ushr, v, shift)))
    }

    /// The buffers of an array that a computed index chooses among: the index, and the place in each.
    fn choice(&self, place: &Place) -> Option<(Value, Vec<Place>)> {
        let Root::Storage(g) = place.root else { return None };
        let buffer = self.storage.get(&g)?;
        let (Ty::Array(_), Some(Step::Dyn(index))) = (buffer.ty, place.path.first()) else { return None };
        let one = |k: u32| {
            let mut p = place.clone();
            p.path[0] = Step::Const(k);
            p
        };
        Some((*index, (0..buffer.memory.len() as u32).map(one).collect()))
    }

    /// Loads what stands at a place.
    pub(crate) fn load_storage(&mut self, place: &Place) -> R<Val> {
        if let Some((index, places)) = self.choice(place) {
            let mut all = Vec::new();
            for p in places {
                all.push(self.load_storage(&p)?);
            }
            return self.pick(&all, index);
        }
        if place.ty.is_leaf() {
            let a = self.storage_address(place)?;
            return Ok(Val::Leaf(self.load_leaf(&a)?));
        }
        self.value_limit(place.ty.leaves(self.types))?;
        let mut out = Vec::new();
        for i in 0..place.ty.len(self.types) {
            let part = self.step(place, Step::Const(i))?;
            out.push(self.load_storage(&part)?);
        }
        Ok(Val::agg(out))
    }

    /// Stores a value at a place.
    pub(crate) fn store_storage(&mut self, place: &Place, v: &Val) -> R<()> {
        if let Some((index, places)) = self.choice(place) {
            for (n, p) in (0u32..).zip(places) {
                let is = self.index_is(index, n);
                self.when(is, &mut |c| c.store_storage(&p, v))?;
            }
            return Ok(());
        }
        if place.ty.is_leaf() {
            let a = self.storage_address(place)?;
            let x = self.leaf(v)?;
            return self.store_leaf(&a, x);
        }
        let Val::Agg(values) = self.force(v)? else { return Err(self.error("F0112", "a store of something that is no composite")) };
        for (i, x) in values.iter().enumerate() {
            let part = self.step(place, Step::Const(i as u32))?;
            self.store_storage(&part, x)?;
        }
        Ok(())
    }

    /// The address of a lane.
    fn lane_address(&self, a: &Address, n: u32) -> Address {
        Address { at: (a.at.0.wrapping_add(n.wrapping_mul(a.apart / a.grain)), a.at.1), ..*a }
    }

    fn load_leaf(&mut self, a: &Address) -> R<Value> {
        let t = self.ir_ty(a.ty)?;
        let storage = matches!(a.memory, MemRef::Storage(_));
        let num = a.ty.num().filter(|n| n.width < 32 && n.kind != Kind::Bool);
        if storage && num.is_none() && (a.apart == 4 || t.lanes == 1) {
            let (offset, index) = self.word_of(a);
            return Ok(self.b().load(t, a.memory, offset, index));
        }
        let mut lanes = Vec::new();
        for n in 0..u32::from(t.lanes) {
            let a = self.lane_address(a, n);
            lanes.push(self.load_lane(&a, t.lane(), num));
        }
        let v = self.vector(&lanes);
        if t.scalar == Scalar::F16 {
            return Ok(self.b().typed(Opcode::Fcvt, t, &[v], Imm::None));
        }
        Ok(v)
    }

    /// A number of one word, or a smaller one (`num`): a half as a float.
    fn load_lane(&mut self, a: &Address, t: Type, num: Option<Num>) -> Value {
        let (offset, index) = self.word_of_lane(a);
        if let Some(num) = num {
            let word = self.load_word(a.memory, offset, index);
            return match self.shift_in_word(a) {
                Shift::Known(s) => self.number_at(word, s, num),
                Shift::Computed(s) => self.number_in_word(word, s, num),
            };
        }
        if matches!(a.memory, MemRef::Storage(_)) {
            return self.b().load(t, a.memory, offset, index);
        }
        let word = self.load_word(a.memory, offset, index);
        if t == I32 { word } else { self.b().typed(Opcode::Bitcast, t, &[word], Imm::None) }
    }

    fn load_word(&mut self, memory: MemRef, offset: u32, index: Option<Value>) -> Value {
        self.b().load(I32, memory, offset, index)
    }

    /// As [`Converter::word_of`], also where the computed part is no whole number of words.
    fn word_of_lane(&mut self, a: &Address) -> (u32, Option<Value>) {
        match a.at.1 {
            Some(v) if !a.whole => {
                let k = self.iconst(a.at.0);
                let sum = self.op2(Opcode::Iadd, v, k);
                self.word_of(&Address { at: (0, Some(sum)), ..*a })
            }
            _ => self.word_of(a),
        }
    }

    /// How far up in its word a number stands.
    fn shift_in_word(&mut self, a: &Address) -> Shift {
        match a.at.1 {
            Some(v) if !a.whole => {
                let k = self.iconst(a.at.0);
                let sum = self.op2(Opcode::Iadd, v, k);
                let low = self.iconst(4 / a.grain - 1);
                let part = self.op2(Opcode::Iand, sum, low);
                let up = self.iconst((8 * a.grain).trailing_zeros());
                Shift::Computed(self.op2(Opcode::Ishl, part, up))
            }
            _ => Shift::Known(a.at.0 % (4 / a.grain) * a.grain * 8),
        }
    }

    fn store_leaf(&mut self, a: &Address, x: Value) -> R<()> {
        let t = self.func().ty(x);
        if let Some(num) = a.ty.num().filter(|n| n.width < 32 && n.kind != Kind::Bool) {
            return self.store_small(a, x, num.width);
        }
        if a.apart == 4 && matches!(a.memory, MemRef::Storage(_)) {
            let (offset, index) = self.word_of(a);
            self.b().store(a.memory, offset, x, index);
            return Ok(());
        }
        for (n, lane) in (0u32..).zip(self.lanes(x)) {
            let (offset, index) = {
                let a = self.lane_address(a, n);
                self.word_of(&a)
            };
            let shared = !matches!(a.memory, MemRef::Storage(_)) && t.lane() != I32;
            let word = if shared { self.b().typed(Opcode::Bitcast, I32, &[lane], Imm::None) } else { lane };
            self.b().store(a.memory, offset, word, index);
        }
        Ok(())
    }

    /// Numbers smaller than a word: those of a whole word at once, others exchanged in their words.
    fn store_small(&mut self, a: &Address, x: Value, width: u32) -> R<()> {
        let t = self.func().ty(x);
        let half = t.scalar == Scalar::F16;
        let wide = if half { self.b().typed(Opcode::Fcvt, t.with_scalar(Scalar::F32), &[x], Imm::None) } else { x };
        let lanes = if half { self.lanes(wide) } else { self.raw(x, width) };
        let zero = self.fconst(F32, 0.0);
        let each = (32 / width) as usize;
        let mut n = 0;
        while n < lanes.len() {
            let at = self.lane_address(a, n as u32);
            let (offset, index) = self.word_of_lane(&at);
            let shift = self.shift_in_word(&at);
            let whole = a.apart * 8 == width && matches!(shift, Shift::Known(0)) && n + each <= lanes.len();
            let taken = if whole { &lanes[n..n + each] } else { &lanes[n..=n] };
            let bits = if half {
                let both = self.vector(&[taken[0], taken.get(1).copied().unwrap_or(zero)]);
                self.b().typed(Opcode::PackHalf2x16, I32, &[both], Imm::None)
            } else {
                self.side_by_side(taken, width)
            };
            n += taken.len();
            if whole {
                self.b().store(a.memory, offset, bits, index);
                continue;
            }
            // What stands there and what is to stand there, exclusive or, changes only these bits.
            let shift = match shift {
                Shift::Known(s) => self.iconst(s),
                Shift::Computed(s) => s,
            };
            let old = self.load_word(a.memory, offset, index);
            let old = self.op2(Opcode::Ushr, old, shift);
            let differ = self.op2(Opcode::Ixor, old, bits);
            let mask = self.iconst(u32::MAX >> (32 - width));
            let differ = self.op2(Opcode::Iand, differ, mask);
            let differ = self.op2(Opcode::Ishl, differ, shift);
            let mut args = vec![differ];
            args.extend(index);
            self.b().typed(Opcode::Atomic, I32, &args, Imm::Atomic { var: a.memory, offset, op: AtomicOp::Xor });
        }
        Ok(())
    }

    /// Elements of the array at the end of a storage buffer.
    pub(crate) fn array_length(&mut self, p: &Place) -> R<Val> {
        if let Some((index, places)) = self.choice(p) {
            let mut all = Vec::new();
            for p in places {
                all.push(self.array_length(&p)?);
            }
            return self.pick(&all, index);
        }
        let a = self.storage_address(p)?;
        if !matches!(a.ty, Ty::Array(_)) || !matches!(a.memory, MemRef::Storage(_)) {
            return Err(malformed(self.at, "the length of something that is no array"));
        }
        let words = self.b().typed(Opcode::StorageLen, I32, &[], Imm::Mem { var: a.memory, offset: 0 });
        // In grains, as far as they are behind what stands in front.
        let each = 4 / a.grain;
        let all = if each == 1 {
            words
        } else {
            let up = self.iconst(each.trailing_zeros());
            self.op2(Opcode::Ishl, words, up)
        };
        let behind = if a.at.0 == 0 {
            all
        } else {
            let k = self.iconst(a.at.0);
            self.op2(Opcode::Isub, all, k)
        };
        let stride = a.stride / a.grain;
        if stride <= 1 {
            return Ok(Val::Leaf(behind));
        }
        let k = self.iconst(stride);
        Ok(Val::Leaf(self.op2(Opcode::Udiv, behind, k)))
    }
}

/// Bits below a number in its word.
#[derive(Clone, Copy, Debug)]
enum Shift {
    Known(u32),
    Computed(Value),
}
