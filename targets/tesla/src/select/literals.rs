//! Literals: constants in constant memory, which arithmetic names as c[] operands.
//!
//! An immediate form takes eight bytes and has no room for a predicate, an output word, a flag or an attribute; a constant in a
//! register takes an instruction and the register. A word of c[] takes neither, and short forms reach the first of them. A constant
//! goes there where that saves its load, or where several immediate forms become short ones: each of them saves four bytes, the
//! word costs four.

use crate::abi::Abi;
use crate::isa::forms::{AddOp, LogicOp, Op, field};
use crate::select::combine::{SHORT_C, Uses, constant, exchange, may_be_short};
use crate::select::mir::{Extra, Index, MInst, Part, Src};
use retroshade_emit::FieldValue;
use retroshade_lower::{Reg, VCode, VReg};
use std::collections::BTreeMap;

/// The bytes of c[] that long forms reach.
const REACH: u32 = 0x200;

/// So many words of tables leave room for literals.
const TABLES: usize = 16;

/// Whether the program's literals are where short forms reach.
pub(super) fn are_near(abi: &Abi) -> bool {
    let first = abi.constants.as_ref().map_or(0, |c| c.words.len());
    first <= TABLES && abi.literal_space().is_some_and(|space| space <= SHORT_C.1)
}

/// Names constants by words of c[].
pub(super) fn run(vc: &mut VCode<MInst>, abi: &mut Abi) {
    let Some(space) = abi.literal_space() else { return };
    instead_of_registers(vc, abi, space);
    if space <= SHORT_C.1 {
        instead_of_immediates(vc, abi, space);
    }
}

/// Constants whose every user can name a word of c[] need no register.
fn instead_of_registers(vc: &mut VCode<MInst>, abi: &mut Abi, space: u8) {
    let insts = || vc.blocks.iter().enumerate().flat_map(|(b, block)| block.insts.iter().enumerate().map(move |(n, (i, _))| (b, n, i)));
    let load = |(b, n, i): (usize, usize, &MInst)| constant(i).filter(|(_, k)| *k != 0).map(|(v, k)| (v, (b, n, k)));
    let loads: BTreeMap<VReg, (usize, usize, u32)> = insts().filter_map(load).collect();
    if loads.is_empty() {
        return;
    }
    let mut users: BTreeMap<VReg, Vec<(usize, usize)>> = BTreeMap::new();
    for (b, n, i) in insts() {
        for s in &i.src {
            if let Src::Reg(Reg::Virtual(v), Part::Full) = s
                && loads.contains_key(v)
            {
                users.entry(*v).or_default().push((b, n));
            }
        }
    }
    let uses = Uses::new(vc);
    let mut gone: Vec<Vec<usize>> = vec![Vec::new(); vc.blocks.len()];
    for (v, (b, n, k)) in loads {
        let Some(at) = users.get(&v).filter(|at| at.len() == uses.count(Reg::Virtual(v)) as usize) else { continue };
        let named = |word: Src| -> Option<Vec<MInst>> { at.iter().map(|(b, n)| name(&vc.blocks[*b].insts[*n].0, v, word)).collect() };
        if named(Src::C(space, 0, false)).is_none() {
            continue;
        }
        let Some(off) = abi.literal(k, REACH) else { continue };
        let Some(new) = named(Src::C(space, off, false)) else { continue };
        for ((b, n), i) in at.iter().zip(new) {
            vc.blocks[*b].insts[*n].0 = i;
        }
        gone[b].push(n);
    }
    for (block, gone) in vc.blocks.iter_mut().zip(&gone).filter(|(_, gone)| !gone.is_empty()) {
        let mut n = 0..;
        block.insts.retain(|_| n.next().is_some_and(|n| !gone.contains(&n)));
    }
}

/// A constant result at a program's end that is read from c[] instead: immediate forms carry no `exit`, and one of its own is an
/// instruction more.
pub(crate) fn at_the_end(vc: &VCode<MInst>, abi: &mut Abi) -> Option<VCode<MInst>> {
    let space = abi.literal_space()?;
    for (b, block) in vc.blocks.iter().enumerate() {
        let ends = block.insts.iter().find_map(|(i, _)| if let Extra::Exit(results) = &i.extra { Some(results) } else { None });
        let is_result = |v: VReg| ends.is_some_and(|r| r.iter().any(|(r, _)| *r == Reg::Virtual(v)));
        let constants = block.insts.iter().enumerate().filter_map(|(n, (i, _))| Some((n, constant(i)?)));
        let results: Vec<(usize, u32)> = constants.filter(|(_, (v, k))| *k != 0 && is_result(*v)).map(|(n, (_, k))| (n, k)).collect();
        // One that has a word already is best.
        let Some((n, k)) = results.iter().find(|(_, k)| abi.literal_place(*k).is_some()).or(results.last()) else { continue };
        let off = abi.literal(*k, REACH)?;
        let mut new = vc.clone();
        let i = &mut new.blocks[b].insts[*n].0;
        *i = MInst { op: Op::LdC, src: [Src::C(space, off, false), Src::None, Src::None], ..i.clone() }.with(field!(w), true);
        return Some(new);
    }
    None
}

/// The instruction with a word of c[] in place of a register, if it has room for one.
fn name(i: &MInst, v: VReg, word: Src) -> Option<MInst> {
    let is = |s: &Src| matches!(s, Src::Reg(Reg::Virtual(r), Part::Full) if *r == v);
    let mut places = (0..3).filter(|k| is(&i.src[*k]));
    let (k, None) = (places.next()?, places.next()) else { return None };
    let full = i.src.iter().any(|s| matches!(s, Src::C(..) | Src::P(_) | Src::S(..)) || matches!(s, Src::Imm(k) if *k != 0));
    if full || i.extra != Extra::None || i.index != Index::None || i.carry.is_some() {
        return None;
    }
    let mut o = i.clone();
    match i.op {
        Op::Mov if i.mods.is_empty() && i.cdst.is_none() => {
            o.op = Op::LdC;
            o.src = [word, Src::None, Src::None];
            return Some(o.with(field!(w), true));
        }
        Op::Fadd | Op::Fmul | Op::Fmad | Op::Fmin | Op::Fmax | Op::Add | Op::Min | Op::Max | Op::Set | Op::Fset | Op::Logic => {}
        Op::Slct if k != 0 => {}
        _ => return None,
    }
    if k == 0 {
        swap(&mut o)?;
    }
    o.tie3 &= k != 2;
    o.src[k.max(1)] = word;
    Some(o)
}

/// Exchanges the first two operands without changing what comes out, where that is possible.
fn swap(i: &mut MInst) -> Option<()> {
    match i.op {
        Op::Add => {
            let turned = match i.modifier(field!(addop)) {
                n if n == AddOp::Add.raw() => AddOp::Add,
                n if n == AddOp::Sub.raw() => AddOp::Subr,
                n if n == AddOp::Subr.raw() => AddOp::Sub,
                _ => return None,
            };
            i.modify(field!(addop), turned);
        }
        // Less and greater change places.
        Op::Set | Op::Fset => {
            let rel = i.modifier(field!(rel));
            i.modify(field!(rel), rel & !5 | (rel & 1) << 2 | (rel & 4) >> 2);
        }
        Op::Logic if i.modifier(field!(lop)) == LogicOp::Second.raw() => return None,
        Op::Logic => {
            let (first, second) = (i.modifier(field!(not1)), i.modifier(field!(not2)));
            i.modify(field!(not1), second);
            i.modify(field!(not2), first);
        }
        _ => {}
    }
    exchange(i);
    Some(())
}

/// Immediate forms that would be short with a word of c[]: those whose constant has such a word, or that share theirs.
fn instead_of_immediates(vc: &mut VCode<MInst>, abi: &mut Abi, space: u8) {
    let mut count: BTreeMap<u32, u32> = BTreeMap::new();
    for (i, _) in vc.blocks.iter().flat_map(|b| &b.insts) {
        if let Some(k) = immediate(i) {
            *count.entry(k).or_default() += 1;
        }
    }
    for (i, _) in vc.blocks.iter_mut().flat_map(|b| &mut b.insts) {
        let Some(k) = immediate(i) else { continue };
        // A constant of the other sign serves as well where the operand has a sign of its own.
        let other = if i.op == Op::Add { None } else { abi.literal_place(k ^ SIGN).filter(|_| abi.literal_place(k).is_none()) };
        let shared = count.get(&k).is_some_and(|n| *n > 1);
        let place = match other.or_else(|| abi.literal_place(k)) {
            None if shared => abi.literal(k, SHORT_C.0 + 4),
            place => place.filter(|off| *off <= SHORT_C.0),
        };
        let Some(off) = place else { continue };
        i.src[1] = Src::C(space, off, false);
        if other.is_some() {
            let field = if i.op == Op::Fmad { field!(neg1) } else { field!(neg2) };
            let sign = i.modifier(field);
            i.modify(field, sign ^ 1);
        }
    }
}

/// The sign of a float.
const SIGN: u32 = 0x8000_0000;

/// The immediate of an instruction that would be short without it.
fn immediate(i: &MInst) -> Option<u32> {
    let [Src::Reg(_, Part::Full), Src::Imm(k), _] = i.src else { return None };
    let sum = i.op == Op::Add && i.cdst.is_none() && i.pred.is_none() && i.carry.is_none() && matches!(i.dst, super::mir::Dst::Reg(_));
    (k != 0 && (sum || may_be_short(i))).then_some(k)
}
