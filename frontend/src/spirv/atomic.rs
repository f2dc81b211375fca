//! Atomics on storage buffers and workgroup memory.

use super::binary::{Inst, R, malformed};
use super::convert::Converter;
use super::place::{Mem, Place, Root, Slot, Step};
use super::types::{Kind, Ty};
use super::value::Val;
use retroshade_ir::inst::{AtomicOp, Imm, MemRef};
use retroshade_ir::types::{F32, I32};
use retroshade_ir::{IntCC, Opcode, Value};
use spirv::Op;

impl<'m> Converter<'m> {
    pub(crate) fn atomic(&mut self, i: &Inst<'m>) -> R<()> {
        let first = usize::from(i.op != Op::AtomicStore) * 2;
        let p = self.pointer(i.word(first)?)?;
        if p.ty.kind() == Kind::Float && !matches!(i.op, Op::AtomicLoad | Op::AtomicStore) {
            return self.float_atomic(i, &p);
        }
        if !matches!(p.ty, Ty::Scalar(n) if n.width == 32) {
            return Err(self.error("F0137", "atomics on something else than 32-bit integers exist on none of the machines"));
        }
        let value = |n: usize| i.word(first + 3 + n);
        match i.op {
            Op::AtomicStore => {
                let v = self.value(value(0)?)?;
                return self.store(&p, &v);
            }
            Op::AtomicLoad => {
                let v = self.load(&p)?;
                self.set(i.word(1)?, v);
                return Ok(());
            }
            _ => {}
        }
        // Memory of one invocation is its own: no one can come between.
        if let Root::Slot(n) = p.root
            && !matches!(self.slots[n as usize], Slot::Mem(_))
        {
            return Err(self.error("F0137", "an atomic on a variable that is not shared"));
        }
        let mut args = Vec::new();
        let op = match i.op {
            Op::AtomicIIncrement => {
                args.push(self.iconst(1));
                AtomicOp::Add
            }
            Op::AtomicIDecrement => {
                args.push(self.iconst(u32::MAX));
                AtomicOp::Add
            }
            Op::AtomicISub => {
                let v = self.value_leaf(value(0)?)?;
                args.push(self.op1(Opcode::Ineg, v));
                AtomicOp::Add
            }
            Op::AtomicCompareExchange => {
                // Pointer, scope, two semantics, new value, value to compare with.
                args.push(self.value_leaf(value(2)?)?);
                args.push(self.value_leaf(value(1)?)?);
                AtomicOp::Cas
            }
            op => {
                args.push(self.value_leaf(value(0)?)?);
                match op {
                    Op::AtomicIAdd => AtomicOp::Add,
                    Op::AtomicSMin => AtomicOp::Smin,
                    Op::AtomicUMin => AtomicOp::Umin,
                    Op::AtomicSMax => AtomicOp::Smax,
                    Op::AtomicUMax => AtomicOp::Umax,
                    Op::AtomicAnd => AtomicOp::And,
                    Op::AtomicOr => AtomicOp::Or,
                    Op::AtomicXor => AtomicOp::Xor,
                    Op::AtomicExchange => AtomicOp::Xchg,
                    op => return Err(self.refused(op)),
                }
            }
        };
        self.need_integers(i, &args)?;
        let old = self.atomic_at(&p, args, op)?;
        self.set(i.word(1)?, Val::Leaf(old));
        Ok(())
    }

    /// An atomic on a float: the machines exchange words, so the result is computed and exchanged until nobody came between.
    fn float_atomic(&mut self, i: &Inst<'m>, p: &Place) -> R<()> {
        if self.ir_ty(p.ty)? != F32 {
            return Err(self.error("F0137", "atomics on floats of this kind exist on none of the machines"));
        }
        let v = self.value_leaf(i.word(5)?)?;
        if self.func().ty(v) != F32 {
            return Err(malformed(i.at, "an atomic on values of different types"));
        }
        let op = match i.op {
            Op::AtomicExchange => None,
            Op::AtomicFAddEXT => Some(Opcode::Fadd),
            Op::AtomicFMinEXT => Some(Opcode::Fmin),
            Op::AtomicFMaxEXT => Some(Opcode::Fmax),
            op => return Err(self.refused(op)),
        };
        let bits = |c: &mut Self, v: Value| c.b().typed(Opcode::Bitcast, I32, &[v], Imm::None);
        let float = |c: &mut Self, v: Value| c.b().typed(Opcode::Bitcast, F32, &[v], Imm::None);
        let Some(op) = op else {
            let v = bits(self, v);
            let old = self.atomic_at(p, vec![v], AtomicOp::Xchg)?;
            let old = float(self, old);
            self.set(i.word(1)?, Val::Leaf(old));
            return Ok(());
        };
        let first = self.load(p)?;
        let first = self.leaf(&first)?;
        let first = bits(self, first);
        let seen = self.ssa.var(I32);
        self.write_var(seen, first);
        let (again, done) = (self.new_block(), self.new_block());
        self.jump(again);
        self.start(again);
        let before = self.read_var(seen);
        let x = float(self, before);
        let new = self.op2(op, x, v);
        let new = bits(self, new);
        let old = self.atomic_at(p, vec![before, new], AtomicOp::Cas)?;
        self.write_var(seen, old);
        let same = self.b().icmp(IntCC::Eq, old, before);
        self.jump_if(same, (done, &[]), (again, &[]));
        self.seal(again);
        self.seal(done);
        self.start(done);
        let old = float(self, old);
        self.set(i.word(1)?, Val::Leaf(old));
        Ok(())
    }

    /// An atomic on a word; gives what it held before.
    fn atomic_at(&mut self, p: &Place, mut args: Vec<Value>, op: AtomicOp) -> R<Value> {
        if let Root::Texel(n) = p.root {
            return self.atomic_texel(n, &args, op);
        }
        let (var, (offset, index)) = self.atomic_address(p)?;
        args.extend(index);
        Ok(self.b().typed(Opcode::Atomic, I32, &args, Imm::Atomic { var, offset, op }))
    }

    fn atomic_address(&mut self, p: &Place) -> R<(MemRef, (u32, Option<Value>))> {
        match p.root {
            Root::Storage(_) => {
                let a = self.storage_address(p)?;
                Ok((a.memory, self.word_of(&a)))
            }
            Root::Slot(n) => {
                let Slot::Mem(m) = self.slots[n as usize].clone() else {
                    return Err(self.error("F0137", "an atomic on a variable that is not shared"));
                };
                let mut node: &Mem = &m;
                let mut at = (0u32, None);
                for s in &p.path {
                    match (node, s) {
                        (Mem::Struct(parts), Step::Const(k)) => match parts.get(*k as usize) {
                            Some(x) => node = x,
                            None => return Err(self.error("F0111", "a member that does not exist")),
                        },
                        (Mem::Array(count, elem), s) => {
                            at = self.mem_index(*count, at, *s);
                            node = elem;
                        }
                        (Mem::Lanes(count, lane), s) => {
                            at = self.mem_index((*count).into(), at, *s);
                            node = lane;
                        }
                        _ => return Err(self.error("F0137", "an atomic on a part of a vector")),
                    }
                }
                match node {
                    Mem::Leaf(var @ MemRef::Shared(_), _) => Ok((*var, at)),
                    _ => Err(self.error("F0137", "an atomic on a variable that is not shared")),
                }
            }
            _ => Err(self.error("F0113", "a uniform cannot be written")),
        }
    }
}

pub(crate) fn is_atomic(op: Op) -> bool {
    let n = op as u32;
    (Op::AtomicLoad as u32..=Op::AtomicXor as u32).contains(&n)
        || matches!(op, Op::AtomicFAddEXT | Op::AtomicFMinEXT | Op::AtomicFMaxEXT | Op::AtomicFlagTestAndSet | Op::AtomicFlagClear)
}
