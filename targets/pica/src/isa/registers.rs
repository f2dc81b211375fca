//! Registers and operands as the assembly language names them, and their numbers in instruction fields.
//!
//! Facts: ISA sheet sections 2 (numbering) and 7 (relative addressing).

use std::fmt;

/// Number of float uniforms.
pub const FLOAT_UNIFORMS: u8 = 96;
/// Number of temporaries, inputs and outputs each.
pub const TEMPS: u8 = 16;
/// Component names.
pub const COMPONENTS: [char; 4] = ['x', 'y', 'z', 'w'];
/// The swizzle that changes nothing.
pub const IDENTITY: [u8; 4] = [0, 1, 2, 3];

/// A vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reg {
    /// Output `o0`…`o15`; only written.
    O(u8),
    /// Input `v0`…`v15`.
    V(u8),
    /// Temporary `r0`…`r15`.
    R(u8),
    /// Float uniform `c0`…`c95`.
    C(u8),
}

impl Reg {
    /// The number in a destination field.
    pub fn dst_field(self) -> Option<u64> {
        match self {
            Reg::O(n) => Some(n as u64),
            Reg::R(n) => Some(n as u64 + 16),
            _ => None,
        }
    }
    /// The register behind a destination field.
    pub fn from_dst(f: u64) -> Reg {
        if f < 16 { Reg::O(f as u8) } else { Reg::R((f & 15) as u8) }
    }
    /// The number in a wide source field.
    pub fn src_field(self) -> Option<u64> {
        match self {
            Reg::V(n) => Some(n as u64),
            Reg::R(n) => Some(n as u64 + 16),
            Reg::C(n) => Some(n as u64 + 32),
            Reg::O(_) => None,
        }
    }
    /// The register behind a source field.
    pub fn from_src(f: u64) -> Reg {
        match f {
            0..16 => Reg::V(f as u8),
            16..32 => Reg::R((f - 16) as u8),
            _ => Reg::C((f - 32) as u8),
        }
    }
    /// Whether only the wide source field reaches it.
    pub fn is_uniform(self) -> bool {
        matches!(self, Reg::C(_))
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reg::O(n) => write!(f, "o{n}"),
            Reg::V(n) => write!(f, "v{n}"),
            Reg::R(n) => write!(f, "r{n}"),
            Reg::C(n) => write!(f, "c{n}"),
        }
    }
}

/// An index register added to a float uniform's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Index {
    /// No index.
    #[default]
    None,
    /// `a0.x`
    A0x,
    /// `a0.y`
    A0y,
    /// The loop counter.
    AL,
}

impl Index {
    /// The number in an IDX field.
    pub fn field(self) -> u64 {
        self as u64
    }
    /// The index behind an IDX field.
    pub fn from_field(f: u64) -> Index {
        [Index::None, Index::A0x, Index::A0y, Index::AL][(f & 3) as usize]
    }
    /// The name.
    pub fn name(self) -> &'static str {
        ["", "a0.x", "a0.y", "aL"][self as usize]
    }
}

/// A source operand: register, index, negation, swizzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Src {
    /// Register.
    pub reg: Reg,
    /// Index register, for float uniforms.
    pub index: Index,
    /// Whether all components are negated after the swizzle.
    pub neg: bool,
    /// Which component becomes x, y, z, w.
    pub swz: [u8; 4],
}

impl Src {
    /// A whole register.
    pub const fn new(reg: Reg) -> Src {
        Src { reg, index: Index::None, neg: false, swz: IDENTITY }
    }
    /// The same operand with another swizzle.
    pub const fn swizzled(self, swz: [u8; 4]) -> Src {
        Src { swz, ..self }
    }
}

impl fmt::Display for Src {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.neg {
            f.write_str("-")?;
        }
        write!(f, "{}", self.reg)?;
        if self.index != Index::None && self.reg.is_uniform() {
            write!(f, "[{}]", self.index.name())?;
        }
        if self.swz != IDENTITY {
            let mut n = 4;
            while n > 1 && self.swz[n - 1] == self.swz[n - 2] {
                n -= 1;
            }
            f.write_str(".")?;
            for c in &self.swz[..n] {
                write!(f, "{}", COMPONENTS[*c as usize & 3])?;
            }
        }
        Ok(())
    }
}

/// The letters of a write mask (bit 0 = x), with the dot; nothing for all four.
pub fn mask_text(mask: u8) -> String {
    match mask & 15 {
        15 => String::new(),
        0 => "._".to_string(),
        m => std::iter::once('.').chain((0..4).filter(|i| m >> i & 1 == 1).map(|i| COMPONENTS[i])).collect(),
    }
}
