//! What a row of the table says of its instruction beside the bits: operands and what each may be, predicates, repeats, and
//! what scheduling has to know.
//!
//! Facts: the ISA sheet's sections 3 to 5, 7 to 14, 16 and 17.4.

use crate::isa::registers::BankTable;
use crate::isa::swizzle::Swizzle;
use retroshade_emit::FieldName;

/// An operand's place in its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Destination.
    Dest,
    /// Source 0 (also `gpi0`).
    Src0,
    /// Source 1.
    Src1,
    /// Source 2 (also `gpi1`).
    Src2,
}

/// Fields that together hold one number: (field, shift).
pub type Pieces = &'static [(FieldName, u8)];

/// How an operand's lanes are chosen.
#[derive(Clone, Copy, Debug)]
pub enum Lanes {
    /// One entry of a table. A second table applies where the named field is 1 (three or four lanes).
    Set(&'static [Swizzle], Pieces),
    /// One of two tables by a field: 0 the first, 1 the second.
    SetBy(FieldName, &'static [Swizzle], &'static [Swizzle], Pieces),
    /// Any selector per lane: one number, three bits a lane.
    Free(Pieces),
    /// No choice: lanes in order.
    Fixed,
}

/// How an operand is negated or made absolute.
#[derive(Clone, Copy, Debug)]
pub enum Mods {
    /// Not at all.
    None,
    /// Two bits: negate, absolute.
    Two(FieldName),
    /// Absolute only.
    Abs(FieldName),
    /// Negate only.
    Neg(FieldName),
    /// A bit each: negate, absolute.
    Both(FieldName, FieldName),
}

/// Whether an operand's number counts pairs of registers.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// Pairs.
    Pairs,
    /// Single registers.
    Single,
    /// Pairs where the field's value is in the mask.
    PairsIf(FieldName, u32),
}

/// An operand of a form.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Which one.
    pub role: Role,
    /// Bank codes.
    pub table: BankTable,
    /// Bank field, where there is one.
    pub bank: Option<FieldName>,
    /// Extension field, where there is one.
    pub ext: Option<FieldName>,
    /// Number field.
    pub num: FieldName,
    /// Bits of the number.
    pub bits: u32,
    /// Scaling.
    pub scale: Scale,
    /// Lanes.
    pub lanes: Lanes,
    /// Modifiers.
    pub mods: Mods,
}

/// An operand whose number counts pairs, without swizzles and modifiers.
pub const fn op(role: Role, table: BankTable, bank: Option<FieldName>, ext: Option<FieldName>, num: FieldName, bits: u32) -> Operand {
    Operand { role, table, bank, ext, num, bits, scale: Scale::Pairs, lanes: Lanes::Fixed, mods: Mods::None }
}
impl Operand {
    /// The same operand with this choice of lanes.
    pub const fn lanes(self, lanes: Lanes) -> Operand {
        Operand { lanes, ..self }
    }
    /// The same operand with these modifiers.
    pub const fn mods(self, mods: Mods) -> Operand {
        Operand { mods, ..self }
    }
    /// The same operand with a number that counts single registers.
    pub const fn single(self) -> Operand {
        Operand { scale: Scale::Single, ..self }
    }
    /// The same operand with this scaling.
    pub const fn scale(self, scale: Scale) -> Operand {
        Operand { scale, ..self }
    }
}

/// What a predicate field's values mean (section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predicates {
    /// Four predicates, two of them inverted too.
    P3,
    /// As P3 with other inversions.
    P3V,
    /// Two bits.
    P2,
    /// Two bits of the vector forms.
    P2V,
    /// KILL's.
    PK,
}

impl Predicates {
    /// The text of each value; an empty one is no predicate.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Predicates::P3 => &["", "p0", "p1", "p2", "p3", "!p0", "!p1", "pN"],
            Predicates::P3V => &["", "p0", "p1", "p2", "!p0", "!p1", "!p2", "pN"],
            Predicates::P2 => &["", "p0", "p1", "!p0"],
            Predicates::P2V => &["", "p0", "!p0", "pN"],
            Predicates::PK => &["", "!p0", "!p1", "p0"],
        }
    }
}

/// What executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Vector floats.
    Float,
    /// Reciprocals and the like.
    Scalar,
    /// Moves and conversions.
    Move,
    /// Tests.
    Test,
    /// Integers.
    Integer,
    /// Fixed-point blends.
    Blend,
    /// Textures and memory.
    Fetch,
    /// Control.
    Flow,
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Operands, destination first. VDUAL's depend on each other and are described in `dual.rs`.
    pub operands: &'static [Operand],
    /// What executes it.
    pub unit: Unit,
    /// Its predicate: what the values mean, and the field.
    pub predicate: Option<(Predicates, FieldName)>,
    /// The field that counts further iterations.
    pub repeat: Option<FieldName>,
    /// The highest count, and the number fields that advance by one, where equal words may become one that repeats.
    pub advances: Option<(u64, &'static [FieldName])>,
    /// Whether `nosched` protects the boundary behind the next word.
    pub protects: bool,
    /// Whether internal registers are lost behind it whatever the flags say.
    pub loses: bool,
    /// Whether it may carry the end of the secondary program.
    pub closes: bool,
}

/// A row with these operands.
pub const fn row(operands: &'static [Operand]) -> Row {
    Row { operands, unit: Unit::Flow, predicate: None, repeat: None, advances: None, protects: false, loses: false, closes: false }
}

impl Row {
    /// Executed by `unit`.
    pub const fn unit(self, unit: Unit) -> Row {
        Row { unit, ..self }
    }
    /// With a predicate.
    pub const fn predicated(self, which: Predicates, field: FieldName) -> Row {
        Row { predicate: Some((which, field)), ..self }
    }
    /// Repeats as often as a field says.
    pub const fn repeats(self, field: FieldName) -> Row {
        Row { repeat: Some(field), ..self }
    }
    /// Takes in equal words whose numbers advance.
    pub const fn advances(self, most: u64, fields: &'static [FieldName]) -> Row {
        Row { advances: Some((most, fields)), ..self }
    }
    /// Its `nosched` protects.
    pub const fn protects(self) -> Row {
        Row { protects: true, ..self }
    }
    /// Loses internal registers.
    pub const fn loses(self) -> Row {
        Row { loses: true, ..self }
    }
    /// May close the secondary program.
    pub const fn closes(self) -> Row {
        Row { closes: true, ..self }
    }
}
