//! Types: four scalars and their vectors of two to four lanes.

use std::fmt;

/// A scalar kind. Signedness sits in the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// Truth value, held as 0 or 1.
    I1,
    /// 32-bit integer.
    I32,
    /// IEEE binary32.
    F32,
    /// IEEE binary16, held in the low half of a 32-bit word.
    F16,
}

impl Scalar {
    /// Whether this is a number: not a truth value.
    pub const fn is_number(self) -> bool {
        !matches!(self, Scalar::I1)
    }
    /// Whether this is `f32` or `f16`.
    pub const fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F16)
    }
    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Scalar::I1 => "i1",
            Scalar::I32 => "i32",
            Scalar::F32 => "f32",
            Scalar::F16 => "f16",
        }
    }
}

/// A scalar or a vector of 2, 3 or 4 lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    /// The lanes' kind.
    pub scalar: Scalar,
    /// 1 (a scalar) to 4.
    pub lanes: u8,
}

/// `i1`
pub const I1: Type = Type::new(Scalar::I1, 1);
/// `i32`
pub const I32: Type = Type::new(Scalar::I32, 1);
/// `f32`
pub const F32: Type = Type::new(Scalar::F32, 1);
/// `f16`
pub const F16: Type = Type::new(Scalar::F16, 1);

impl Type {
    /// A type of `lanes` lanes.
    pub const fn new(scalar: Scalar, lanes: u8) -> Type {
        Type { scalar, lanes }
    }
    /// The same scalar with another number of lanes.
    pub const fn with_lanes(self, lanes: u8) -> Type {
        Type { lanes, ..self }
    }
    /// The same lanes of another scalar.
    pub const fn with_scalar(self, scalar: Scalar) -> Type {
        Type { scalar, ..self }
    }
    /// The type of one lane.
    pub const fn lane(self) -> Type {
        self.with_lanes(1)
    }
    /// Whether there is more than one lane.
    pub const fn is_vector(self) -> bool {
        self.lanes > 1
    }
    /// Whether the lanes are floats.
    pub const fn is_float(self) -> bool {
        self.scalar.is_float()
    }
    /// Whether the lanes are numbers: not truth values.
    pub const fn is_number(self) -> bool {
        self.scalar.is_number()
    }
    /// Reads `f32`, `i32x3`, …
    pub fn parse(s: &str) -> Option<Type> {
        let (name, lanes) = match s.len() {
            5.. if s.as_bytes()[s.len() - 2] == b'x' => (&s[..s.len() - 2], s[s.len() - 1..].parse().ok()?),
            4 if s.starts_with("i1x") => ("i1", s[3..].parse().ok()?),
            _ => (s, 1),
        };
        let scalar = match name {
            "i1" => Scalar::I1,
            "i32" => Scalar::I32,
            "f32" => Scalar::F32,
            "f16" => Scalar::F16,
            _ => return None,
        };
        let written_with_lanes = name.len() != s.len();
        (if written_with_lanes { (2..=4).contains(&lanes) } else { lanes == 1 }).then_some(Type { scalar, lanes })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lanes == 1 { f.write_str(self.scalar.name()) } else { write!(f, "{}x{}", self.scalar.name(), self.lanes) }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
