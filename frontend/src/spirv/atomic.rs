//! Atomics on storage buffers and workgroup memory.

use super::binary::{Inst, R};
use super::convert::Converter;
use super::place::{Mem, Place, Root, Slot, Step};
use super::types::{Kind, Ty};
use super::value::Val;
use retroshade_ir::inst::{AtomicOp, Imm, MemRef};
use retroshade_ir::types::I32;
use retroshade_ir::{Opcode, Value};
use spirv::Op;

impl<'m> Converter<'m> {
    pub(crate) fn atomic(&mut self, i: &Inst<'m>) -> R<()> {
        let first = usize::from(i.op != Op::AtomicStore) * 2;
        let p = self.pointer(i.word(first)?)?;
        if p.ty.kind() == Kind::Float || format!("{:?}", i.op).starts_with("AtomicF") {
            return Err(self.error("F0137", "atomics on floats exist on none of the machines"));
        }
        if !matches!(p.ty, Ty::Scalar(_)) || self.ir_ty(p.ty)? != I32 {
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
        let (var, (offset, index)) = self.atomic_address(&p)?;
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
        args.extend(index);
        let old = self.b().typed(Opcode::Atomic, I32, &args, Imm::Atomic { var, offset, op });
        self.set(i.word(1)?, Val::Leaf(old));
        Ok(())
    }

    fn atomic_address(&mut self, p: &Place) -> R<(MemRef, (u32, Option<Value>))> {
        match p.root {
            Root::Storage(_) => {
                let super::place::Address { decl, at, .. } = self.storage_address(p)?;
                Ok((MemRef::Storage(decl), at))
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
