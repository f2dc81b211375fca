//! Constants and specialisation constants, computed.

use super::binary::{Binary, Id, Inst, R, malformed};
use super::small::reading;
use super::types::{Kind, Num, Ty, Types};
use retroshade_ir::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use spirv::{Decoration, Op};
use std::rc::Rc;

/// Constants that are computed from each other.
const MAX_DEPTH: u32 = 200;
/// Parts of all constants together.
const MAX_PARTS: usize = 1 << 18;

/// A constant without its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Const {
    /// A number's bits, a truth value as 0 or 1.
    Bits(u32),
    /// Lanes, columns, elements, members.
    Agg(Rc<[Const]>),
    /// Zero in any shape.
    Null,
    /// Anything in any shape.
    Undef,
}

impl Const {
    /// A part.
    pub(crate) fn part(&self, n: usize) -> Option<Const> {
        match self {
            Const::Agg(parts) => parts.get(n).cloned(),
            Const::Bits(_) => None,
            whole => Some(whole.clone()),
        }
    }

    /// The bits of a number.
    pub(crate) fn bits(&self) -> Option<u32> {
        match self {
            Const::Bits(b) => Some(*b),
            Const::Null | Const::Undef => Some(0),
            Const::Agg(_) => None,
        }
    }
}

/// Computes constants, each once.
pub(crate) struct Consts<'a, 'w> {
    b: &'a Binary<'w>,
    types: &'a Types,
    defines: &'a [(String, String)],
    known: FxHashMap<Id, Const>,
    parts: usize,
}

impl<'a, 'w> Consts<'a, 'w> {
    /// Nothing is computed yet.
    pub(crate) fn new(b: &'a Binary<'w>, types: &'a Types, defines: &'a [(String, String)]) -> Consts<'a, 'w> {
        Consts { b, types, defines, known: Default::default(), parts: 0 }
    }

    /// A constant's value.
    pub(crate) fn get(&mut self, id: Id) -> R<Const> {
        self.at_depth(id, 0)
    }

    fn at_depth(&mut self, id: Id, depth: u32) -> R<Const> {
        if let Some(c) = self.known.get(&id) {
            return Ok(c.clone());
        }
        let Some(c) = self.b.constants.get(&id) else { return Err(malformed(0, format_args!("%{id} is no constant"))) };
        if depth > MAX_DEPTH {
            return Err(Diagnostic::error(
                "L0102",
                Span::NONE,
                format!("constants nested more than {MAX_DEPTH} deep (word {})", c.inst.at),
            ));
        }
        let (i, ty) = (c.inst, c.ty);
        let value = match i.op {
            Op::ConstantTrue => Const::Bits(1),
            Op::ConstantFalse => Const::Bits(0),
            Op::ConstantNull => Const::Null,
            Op::Undef => Const::Undef,
            Op::Constant => Const::Bits(self.literal(i, ty)?),
            Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse => match self.given(id, ty)? {
                Some(bits) => Const::Bits(bits),
                None if i.op == Op::SpecConstant => Const::Bits(self.literal(i, ty)?),
                None => Const::Bits((i.op == Op::SpecConstantTrue).into()),
            },
            Op::ConstantComposite | Op::SpecConstantComposite => {
                let mut parts = Vec::new();
                for part in i.rest(2) {
                    parts.push(self.at_depth(*part, depth + 1)?);
                }
                self.agg(parts, i)?
            }
            Op::ConstantCompositeReplicateEXT | Op::SpecConstantCompositeReplicateEXT => {
                let part = self.at_depth(i.word(2)?, depth + 1)?;
                let n = self.types.shape(ty).map_or(0, |t| t.len(self.types));
                self.agg(vec![part; (n as usize).min(MAX_PARTS)], i)?
            }
            Op::SpecConstantOp => self.operation(i, depth)?,
            _ => return Err(malformed(i.at, "this is no constant")),
        };
        let value = match self.types.shape(ty).and_then(Ty::num).filter(|n| n.is_small()) {
            Some(n) => in_range(value, n),
            None => value,
        };
        self.known.insert(id, value.clone());
        Ok(value)
    }

    /// A composite with another part at the end of a path.
    fn inserted(&mut self, whole: &Const, path: &[u32], part: Const, i: Inst<'_>) -> R<Const> {
        let Some((n, path)) = path.split_first() else { return Ok(part) };
        let mut parts = match whole {
            Const::Agg(parts) => parts.to_vec(),
            Const::Bits(_) => return Err(malformed(i.at, "a part of something that has none")),
            Const::Null | Const::Undef => {
                let m = format!("a part of a null constant is set by none of these compilers (word {})", i.at);
                return Err(Diagnostic::error("F0134", Span::NONE, m));
            }
        };
        let Some(old) = parts.get_mut(*n as usize) else { return Err(malformed(i.at, "a part that does not exist")) };
        *old = self.inserted(&old.clone(), path, part, i)?;
        self.agg(parts, i)
    }

    fn agg(&mut self, parts: Vec<Const>, i: Inst<'_>) -> R<Const> {
        self.parts += parts.len();
        if self.parts > MAX_PARTS {
            return Err(Diagnostic::error("L0101", Span::NONE, format!("constants of more than {MAX_PARTS} parts (word {})", i.at)));
        }
        Ok(Const::Agg(parts.into()))
    }

    fn literal(&self, i: Inst<'_>, ty: Id) -> R<u32> {
        match self.types.shape(ty) {
            // Wider ones are refused where they are used.
            Some(Ty::Scalar(_)) => i.word(2),
            _ => Err(malformed(i.at, "a constant that is no number")),
        }
    }

    /// The value that the user gives a specialisation constant.
    fn given(&self, id: Id, ty: Id) -> R<Option<u32>> {
        let Some((name, value)) = self.defines.iter().find(|(k, _)| names(self.b, id, k)) else { return Ok(None) };
        let kind = self.types.shape(ty).map_or(Kind::Float, Ty::kind);
        let wrong = || Diagnostic::error("F0014", Span::NONE, format!("--define {name}: `{value}` is no number or truth value"));
        let number = number_of(value).ok_or_else(wrong)?;
        Ok(Some(match kind {
            Kind::Bool => (number != 0.0).into(),
            Kind::Float => match self.types.shape(ty).and_then(Ty::num).map(|n| n.width) {
                Some(16) => retroshade_ir::numerics::from_f32(retroshade_ir::Scalar::F16, number as f32),
                _ => (number as f32).to_bits(),
            },
            Kind::Signed | Kind::Unsigned if number < 0.0 => number as i64 as i32 as u32,
            Kind::Signed | Kind::Unsigned => number as u32,
        }))
    }

    /// An operation on specialisation constants.
    fn operation(&mut self, i: Inst<'_>, depth: u32) -> R<Const> {
        let Some(op) = Op::from_u32(i.word(2)?) else { return Err(malformed(i.at, "an unknown operation")) };
        let unknown = || {
            Diagnostic::error(
                "F0134",
                Span::NONE,
                format!("{op:?} on specialisation constants is computed by none of these compilers (word {})", i.at),
            )
        };
        match op {
            Op::CompositeExtract => {
                let mut c = self.at_depth(i.word(3)?, depth + 1)?;
                for n in i.rest(4) {
                    c = c.part(*n as usize).ok_or_else(|| malformed(i.at, "a part that does not exist"))?;
                }
                return Ok(c);
            }
            Op::CompositeInsert => {
                let part = self.at_depth(i.word(3)?, depth + 1)?;
                let whole = self.at_depth(i.word(4)?, depth + 1)?;
                return self.inserted(&whole, i.rest(5), part, i);
            }
            Op::VectorShuffle => {
                let (a, b) = (self.at_depth(i.word(3)?, depth + 1)?, self.at_depth(i.word(4)?, depth + 1)?);
                let lanes = |c: &Const| if let Const::Agg(p) = c { p.to_vec() } else { vec![c.clone(); 4] };
                let mut all = lanes(&a);
                all.extend(lanes(&b));
                let picked = i.rest(5).iter().map(|n| all.get(*n as usize).cloned().unwrap_or(Const::Undef)).collect();
                return self.agg(picked, i);
            }
            _ => {}
        }
        let mut args = Vec::new();
        let mut numbers = Vec::new();
        for id in i.rest(3) {
            args.push(self.at_depth(*id, depth + 1)?);
            numbers.push(self.b.constants.get(id).and_then(|c| self.types.shape(c.ty)).and_then(Ty::num));
        }
        let result = self.types.shape(i.word(0)?).and_then(Ty::num);
        let lanes = args.iter().filter_map(|a| if let Const::Agg(p) = a { Some(p.len()) } else { None }).max();
        let one = |n: usize| -> Option<Const> {
            let mut bits = Vec::new();
            for (a, num) in args.iter().zip(&numbers) {
                let lane = if let Const::Agg(p) = a { p.get(n)?.bits()? } else { a.bits()? };
                bits.push(operand(op, lane, *num));
            }
            match op {
                Op::FConvert | Op::QuantizeToF16 => {
                    let half = |n: &Option<Num>| n.is_some_and(Num::is_half);
                    Some(rounded(*bits.first()?, half(numbers.first()?), op == Op::QuantizeToF16 || half(&result), half(&result)))
                }
                // Floats of half a word are no operands of anything else here.
                _ if numbers.iter().flatten().any(|n| n.is_half()) && op != Op::Bitcast && op != Op::CopyObject && op != Op::Select => None,
                _ => fold(op, &bits),
            }
            .map(Const::Bits)
        };
        match lanes {
            None => one(0).ok_or_else(unknown),
            Some(n) => {
                let parts = (0..n).map(one).collect::<Option<Vec<_>>>().ok_or_else(unknown)?;
                self.agg(parts, i)
            }
        }
    }
}

/// What an operation takes a number for: those of less than a word are extended by the operation's sign, whatever their type's is.
fn operand(op: Op, bits: u32, num: Option<Num>) -> u32 {
    match (num.filter(|n| n.is_small()), reading(op)) {
        (Some(num), Some(kind)) => Num { kind, ..num }.in_range(bits),
        _ => bits,
    }
}

/// A float from half a word or a whole one, rounded to half a word, as half a word or a whole one.
fn rounded(bits: u32, from_half: bool, round: bool, to_half: bool) -> u32 {
    use retroshade_ir::{Scalar, numerics};
    let whole = if from_half { numerics::to_f32(Scalar::F16, bits) } else { f32::from_bits(bits) };
    let half = || numerics::from_f32(Scalar::F16, whole);
    match (round, to_half) {
        (_, true) => half(),
        (true, false) => numerics::to_f32(Scalar::F16, half()).to_bits(),
        (false, false) => whole.to_bits(),
    }
}

/// A constant of a type of smaller integers as the type has it.
fn in_range(c: Const, n: Num) -> Const {
    match c {
        Const::Bits(b) => Const::Bits(n.in_range(b)),
        Const::Agg(lanes) => Const::Agg(lanes.iter().map(|l| in_range(l.clone(), n)).collect()),
        c => c,
    }
}

/// Whether a specialisation constant goes by this name or number.
pub(crate) fn names(b: &Binary<'_>, id: Id, key: &str) -> bool {
    b.name(id) == Some(key) || b.literal(id, Decoration::SpecId).is_some_and(|n| n.to_string() == key)
}

/// The number that a user writes.
pub(crate) fn number_of(v: &str) -> Option<f64> {
    match v {
        "true" => Some(1.0),
        "false" => Some(0.0),
        _ => match v.strip_prefix("0x") {
            Some(h) => u32::from_str_radix(h, 16).ok().map(f64::from),
            None => v.trim_end_matches(['f', 'u', 'i']).parse().ok(),
        },
    }
}

/// The bits of a constant number.
pub(crate) fn number(b: &Binary<'_>, types: &Types, id: Id, defines: &[(String, String)]) -> Option<u32> {
    Consts::new(b, types, defines).get(id).ok()?.bits()
}

/// An operation on one lane.
fn fold(op: Op, a: &[u32]) -> Option<u32> {
    let at = |n: usize| a.get(n).copied();
    let x = at(0)?;
    if let Op::SConvert | Op::UConvert | Op::Bitcast | Op::CopyObject = op {
        return Some(x);
    }
    match op {
        Op::SNegate => return Some(x.wrapping_neg()),
        Op::Not => return Some(!x),
        Op::LogicalNot => return Some(1 - (x & 1)),
        Op::ConvertFToS => return Some(f32::from_bits(x) as i32 as u32),
        Op::ConvertFToU => return Some(f32::from_bits(x) as u32),
        Op::ConvertSToF => return Some((x as i32 as f32).to_bits()),
        Op::ConvertUToF => return Some((x as f32).to_bits()),
        Op::FNegate => return Some(x ^ 1 << 31),
        _ => {}
    }
    let y = at(1)?;
    let (s, t) = (x as i32, y as i32);
    let (f, g) = (f32::from_bits(x), f32::from_bits(y));
    Some(match op {
        Op::IAdd => x.wrapping_add(y),
        Op::ISub => x.wrapping_sub(y),
        Op::IMul => x.wrapping_mul(y),
        Op::UDiv => x.checked_div(y).unwrap_or(0),
        Op::UMod => x.checked_rem(y).unwrap_or(0),
        Op::SDiv => s.checked_div(t).unwrap_or(0) as u32,
        Op::SRem => s.checked_rem(t).unwrap_or(0) as u32,
        Op::SMod => s.checked_rem(t).map_or(0, |r| if r != 0 && (r < 0) != (t < 0) { r.wrapping_add(t) } else { r }) as u32,
        Op::ShiftLeftLogical => x.wrapping_shl(y),
        Op::ShiftRightLogical => x.wrapping_shr(y),
        Op::ShiftRightArithmetic => s.wrapping_shr(y) as u32,
        Op::BitwiseAnd | Op::LogicalAnd => x & y,
        Op::BitwiseOr | Op::LogicalOr => x | y,
        Op::BitwiseXor => x ^ y,
        Op::IEqual | Op::LogicalEqual => (x == y).into(),
        Op::INotEqual | Op::LogicalNotEqual => (x != y).into(),
        Op::ULessThan => (x < y).into(),
        Op::ULessThanEqual => (x <= y).into(),
        Op::UGreaterThan => (x > y).into(),
        Op::UGreaterThanEqual => (x >= y).into(),
        Op::SLessThan => (s < t).into(),
        Op::SLessThanEqual => (s <= t).into(),
        Op::SGreaterThan => (s > t).into(),
        Op::SGreaterThanEqual => (s >= t).into(),
        Op::Select => {
            if x != 0 {
                y
            } else {
                at(2)?
            }
        }
        Op::FAdd => (f + g).to_bits(),
        Op::FSub => (f - g).to_bits(),
        Op::FMul => (f * g).to_bits(),
        Op::FDiv => (f / g).to_bits(),
        Op::FOrdEqual => (f == g).into(),
        Op::FUnordNotEqual => (f != g).into(),
        Op::FOrdLessThan => (f < g).into(),
        Op::FOrdGreaterThan => (f > g).into(),
        Op::FOrdLessThanEqual => (f <= g).into(),
        Op::FOrdGreaterThanEqual => (f >= g).into(),
        _ => return None,
    })
}
