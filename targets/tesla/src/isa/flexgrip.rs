//! What FlexGripPlus 4.4, an open VHDL model of a G80, executes right: an allow-list of forms, and what their fields may hold.
//!
//! Found by running each form on the model under GHDL with 32 triples of operands, and by reading its decoder
//! (`pipeline_decode.vhd`), its operand stage (`pipeline_read.vhd`) and its units (`ScalarProcessor/`, `FPU/`,
//! `branch_exec_unit.vhd`). What is not in the list is wrong there, has no effect, or was not tried; `docs/targets/flexgrip.md`
//! says what for each. This is the only place that knows: decoding, form choice and selection ask [`lacks`] and [`has`].

use crate::abi::{Abi, GRID_Z, STORAGE_LENGTHS};
use crate::isa::decode::Insn;
use crate::isa::forms::{Access, AddOp, Cond, End, FORMS, LogicOp, Op, Shape, field};
use retroshade_emit::{FieldValue, FormId, form_id};
use retroshade_ir::Span;
use retroshade_lower::CompileError;

/// A form, and what its fields must not hold beside what [`common`] forbids.
struct Right {
    form: FormId,
    but: fn(&Insn) -> Option<&'static str>,
}

const fn right(form: &str) -> Right {
    but(form, |_| None)
}
const fn but(form: &str, but: fn(&Insn) -> Option<&'static str>) -> Right {
    Right { form: form_id(&FORMS, form), but }
}

/// The forms that give the right result.
const RIGHT: &[Right] = &[
    right("s.mov.h"),
    right("s.mov"),
    but("s.add", carry),
    but("s.mul16", mixed_signs),
    but("s.mad.u16", carry),
    right("i.mov"),
    but("i.add", carry),
    but("i.mul16", mixed_signs),
    but("i.mul24", high),
    but("i.mad.u16", carry),
    right("mov.h"),
    right("mov"),
    but("add", carry),
    right("set"),
    right("shl"),
    right("shl.count"),
    right("shr"),
    right("shr.count"),
    but("mul16", mixed_signs),
    but("mul24", high),
    but("mad.u16", difference),
    but("mad.s16", difference),
    but("logic", complement),
    but("s.fmul", changed),
    but("i.fmul", changed),
    but("fmul", changed),
    but("cvt.int.w", conversion),
    but("shl.a", memory),
    right("add.a"),
    right("mov.from.a"),
    but("ld.c", far),
    but("ld.g", words),
    but("st.g", words),
    right("st.s"),
    right("nop"),
    right("bra"),
    right("ret"),
    right("joinat"),
    right("bar"),
];

/// The entries of the divergence stack of a warp (`stack.vhd`): 32 places, of which the last is never taken.
pub const STACK: u32 = 31;
/// Words that the launch can put behind the header of s[] (`BENCH_KERNEL_PARAM_SIZE`).
pub const PARAMETERS: u32 = 15;
/// The first register number that is special: 124 reads as 0, 127 is not written. Numbers of halves are taken for the same.
const SPECIAL: u64 = 124;
/// The first register that the third slot cannot name: its bit 6 makes the number itself the operand.
const THIRD: u64 = 64;
/// The first byte of c[] that operands of arithmetic cannot name.
pub const OPERAND_REACH: u32 = 4 * THIRD as u32;
/// Registers that programs may use, so that the numbers of their halves are not special.
pub const REGISTERS: u32 = SPECIAL as u32 / 2;
/// Registers of the multiprocessor: 512 for each of 32 lanes (`gpgpu_package.vhd`).
pub const REGISTER_FILE: u32 = 512 * 32;
/// Bytes of constant memory that a load can name: one space, whatever an instruction names, and seven bits of a word's number.
pub const CONSTANT_BYTES: u32 = 512;
/// Bytes of global memory: one space, whatever an instruction names.
pub const GLOBAL_BYTES: u32 = 0x4_0000;

fn carry(i: &Insn) -> Option<&'static str> {
    (i.get(field!(addop)) == AddOp::Addc.raw()).then_some("a carry as an operand")
}
fn difference(i: &Insn) -> Option<&'static str> {
    if (i.get(field!(k2)) | i.get(field!(k3))) != 0 {
        return Some("a product and a sum with an operand from c[]");
    }
    (i.get(field!(addop)) != AddOp::Add.raw()).then_some("anything but a sum of product and addend")
}
fn mixed_signs(i: &Insn) -> Option<&'static str> {
    (i.get(field!(sg1)) != i.get(field!(sg2))).then_some("a product of a signed and an unsigned half")
}
fn high(i: &Insn) -> Option<&'static str> {
    match () {
        _ if i.get(field!(high)) != 0 => Some("the upper half of a product"),
        // Not tried.
        _ if (i.get(field!(m1)) | i.get(field!(k2))) != 0 => Some("a product of 24 bits with an operand from memory"),
        _ => None,
    }
}
fn complement(i: &Insn) -> Option<&'static str> {
    let inverts = i.get(field!(lop)) == LogicOp::Second.raw();
    let same = i.get(field!(src1)) == i.get(field!(src2)) && i.get(field!(m1)) == 0 && i.get(field!(k2)) == 0;
    match (inverts, i.get(field!(not1)), i.get(field!(not2))) {
        (false, 0, 0) => None,
        // The unit inverts its first operand, whatever the bits ask for.
        (true, 0, 1) if same => None,
        (true, ..) => Some("a copy of the second operand"),
        _ => Some("a complemented operand"),
    }
}
fn changed(i: &Insn) -> Option<&'static str> {
    let shape = i.form().ext.shape;
    match () {
        _ if i.get(field!(rnd)) != 0 => Some("a product that is rounded towards zero"),
        _ if shape == Shape::Imm && (i.get(field!(neg1)) | i.get(field!(neg2))) != 0 => {
            Some("a product with a sign change and an immediate")
        }
        _ if shape == Shape::Long && i.get(field!(k2)) != 0 => Some("a long product with an operand from c[]"),
        _ => None,
    }
}
fn conversion(i: &Insn) -> Option<&'static str> {
    ((i.get(field!(neg1)) | i.get(field!(abs1))) != 0).then_some("a sign change in a conversion")
}
fn far(i: &Insn) -> Option<&'static str> {
    (i.get(field!(off)) >= u64::from(CONSTANT_BYTES / 4)).then_some("a load from c[] beyond 512 bytes")
}
fn memory(i: &Insn) -> Option<&'static str> {
    (i.get(field!(m1)) != 0).then_some("an address from s[]")
}
fn words(i: &Insn) -> Option<&'static str> {
    (i.get(field!(ty)) != Access::B32.raw()).then_some("an access to anything but words")
}

/// What no form may have.
fn common(i: &Insn) -> Option<&'static str> {
    let flag = |f| i.get(f) != 0;
    let conditional = i.has(field!(pred)) && i.get(field!(pred)) != Cond::Always.raw();
    // A subtraction's sign flag ignores its overflow; all other flags are right.
    let signed = [Cond::Less, Cond::LessEqual, Cond::Greater, Cond::GreaterEqual, Cond::Ordered, Cond::Unordered];
    let special = |f| i.has(f) && i.get(f) >= SPECIAL;
    let memory = flag(field!(m1));
    match () {
        _ if i.get(field!(end)) == End::Exit.raw() => Some("the `exit` bit"),
        _ if flag(field!(sat)) => Some("saturation"),
        _ if flag(field!(inc)) => Some("post-increment"),
        _ if conditional && signed.iter().any(|c| i.get(field!(pred)) == c.raw()) => Some("a condition on sign and overflow"),
        _ if flag(field!(cw)) && !sets_flags(i.op()) => Some("the flags of this operation"),
        _ if (flag(field!(k2)) || flag(field!(k3)) || i.op() == Op::LdC) && flag(field!(a)) => Some("c[] through an address register"),
        _ if memory && flag(field!(a)) && i.op() != Op::Mov => Some("s[] through an address register in arithmetic"),
        _ if !memory && special(field!(src1)) || !flag(field!(k2)) && special(field!(src2)) => {
            Some("a register beyond `$r123`, or a half beyond `$r61`,")
        }
        _ if i.has(field!(src3)) && i.get(field!(src3)) >= THIRD => Some("a third operand beyond `$r63`"),
        _ if i.get(field!(do)) == 0 && special(field!(dst)) => Some("a result in one of the last registers"),
        _ if i.get(field!(do)) != 0 && i.get(field!(dst)) != 0x7f => Some("output words"),
        _ if i.has(field!(lanes)) && i.get(field!(lanes)) != 15 => Some("a mask of lanes"),
        _ => None,
    }
}

/// Operations whose flags are those of their results.
pub fn sets_flags(op: Op) -> bool {
    matches!(op, Op::Set | Op::Logic | Op::Add)
}

/// What the model lacks of an instruction; `None` where it executes it right.
pub fn lacks(i: &Insn) -> Option<&'static str> {
    match RIGHT.iter().find(|r| r.form == i.d.form) {
        Some(r) => common(i).or_else(|| (r.but)(i)),
        None => Some("this form"),
    }
}

/// Whether the model has some form of an operation.
pub fn has(op: Op) -> bool {
    RIGHT.iter().any(|r| FORMS[r.form.0 as usize].ext.op == op)
}

/// The program must fit into system memory.
pub(crate) fn program_fits(bytes: usize) -> Result<(), CompileError> {
    const AVAILABLE: u64 = 4 * 65536;
    match bytes as u64 > AVAILABLE {
        true => Err(CompileError::limit("T0113", Span::NONE, "too many bytes of code", bytes as u64, AVAILABLE)),
        false => Ok(()),
    }
}

/// What of an interface the model has no room for.
pub(crate) fn within_reach(abi: &Abi) -> Result<(), CompileError> {
    let limit = |what: &str, needed: u32, available: u32| match needed > available {
        true => Err(CompileError::limit("T0113", Span::NONE, what, needed.into(), available.into())),
        false => Ok(()),
    };
    let end = abi.storage_bases.map_or(STORAGE_LENGTHS, |at| at + 4 * abi.storage.len() as u32);
    limit("too many words behind the header of s[]", (end - GRID_Z) / 4, PARAMETERS)?;
    limit("too many bytes of constant memory", abi.uniform_bytes(), CONSTANT_BYTES)
}
