//! Register banks: how bank codes and numbers name registers, and back.
//!
//! Facts: the ISA sheet's section 3.

use std::fmt;

/// A register bank or another kind of operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bank {
    /// Temporaries.
    R,
    /// Outputs.
    O,
    /// Primary attributes.
    Pa,
    /// Secondary attributes.
    Sa,
    /// Internal registers (128 bits).
    I,
    /// The hardware constant table.
    Const,
    /// Global hardware registers.
    Global,
    /// An unsigned number.
    Imm,
    /// The index registers as a destination.
    Index,
    /// Indexed by `idx1` or `idx2`.
    Indexed(u8),
}

/// A register: its bank and number (32-bit registers; whole registers for `I`, entries for `Const`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg {
    /// Bank.
    pub bank: Bank,
    /// Number.
    pub n: u16,
}

impl Reg {
    /// A register.
    pub const fn new(bank: Bank, n: u16) -> Reg {
        Reg { bank, n }
    }
    /// A temporary.
    pub const fn r(n: u16) -> Reg {
        Reg::new(Bank::R, n)
    }
    /// An internal register.
    pub const fn i(n: u16) -> Reg {
        Reg::new(Bank::I, n)
    }
    /// An immediate.
    pub const fn imm(n: u16) -> Reg {
        Reg::new(Bank::Imm, n)
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.n;
        match self.bank {
            Bank::R => write!(f, "r{n}"),
            Bank::O => write!(f, "o{n}"),
            Bank::Pa => write!(f, "pa{n}"),
            Bank::Sa => write!(f, "sa{n}"),
            Bank::I => write!(f, "i{n}"),
            Bank::Const => write!(f, "c{n}"),
            Bank::Global => write!(f, "g{n}"),
            Bank::Imm => write!(f, "{n}"),
            Bank::Index => write!(f, "idx{n}"),
            Bank::Indexed(k) => {
                // The number keeps the field's split: the bank in bits 15:14, the offset below.
                let bank = ["r", "o", "pa", "sa"][(n >> 14) as usize & 3];
                write!(f, "{bank}[idx{k} * 2 + {}]", n & 0x3fff)
            }
        }
    }
}

/// Which code table an operand's bank fields use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankTable {
    /// Destinations.
    Dest,
    /// Source 0: one bit.
    Src0,
    /// Sources 1 and 2.
    Src,
    /// Internal registers only; no bank field.
    Gpi,
    /// VDUAL's unified source: r, o, pa, sa.
    Plain,
}

const DEST: [Bank; 8] = [Bank::R, Bank::O, Bank::Pa, Bank::Indexed(1), Bank::Sa, Bank::Const, Bank::Index, Bank::Indexed(2)];
const SRC0: [Bank; 4] = [Bank::R, Bank::Pa, Bank::O, Bank::Sa];
const SRC: [Bank; 8] = [Bank::R, Bank::O, Bank::Pa, Bank::Sa, Bank::Indexed(1), Bank::Const, Bank::Imm, Bank::Indexed(2)];

impl BankTable {
    fn banks(self) -> &'static [Bank] {
        match self {
            BankTable::Dest => &DEST,
            BankTable::Src0 => &SRC0,
            BankTable::Src => &SRC,
            BankTable::Plain => &SRC[..4],
            BankTable::Gpi => &[],
        }
    }
    /// Number of codes that one value of the extension bit covers.
    fn half(self) -> usize {
        if self == BankTable::Src0 { 2 } else { 4 }
    }
}

/// Reads a register: bank code, extension bit, number field of `bits` bits that counts pairs if `doubled`.
pub fn read(table: BankTable, code: u64, ext: u64, field: u64, bits: u32, doubled: bool) -> Reg {
    if table == BankTable::Gpi {
        return Reg::new(Bank::I, field as u16);
    }
    let bank = table.banks()[(code as usize + ext as usize * table.half()).min(table.banks().len() - 1)];
    let n = field as u16;
    let first_i = (1u16 << bits) - 4;
    let scaled = if doubled { n * 2 } else { n };
    match bank {
        Bank::R if n >= first_i => Reg::new(Bank::I, n - first_i),
        Bank::R | Bank::O | Bank::Pa | Bank::Sa => Reg::new(bank, scaled),
        Bank::Const if n & 0x40 != 0 => Reg::new(Bank::Global, n & 0x3f),
        Bank::Indexed(_) => {
            let low = bits - 2;
            let offset = n & ((1 << low) - 1);
            Reg::new(bank, (n >> low) << 14 | if doubled { offset * 2 } else { offset })
        }
        _ => Reg::new(bank, n),
    }
}

/// Bank code, extension bit and number field of a register, if the operand can name it.
pub fn write(table: BankTable, has_ext: bool, reg: Reg, bits: u32, doubled: bool) -> Option<(u64, u64, u64)> {
    if table == BankTable::Gpi {
        return (reg.bank == Bank::I && reg.n < 3).then_some((0, 0, reg.n as u64));
    }
    let first_i = (1u64 << bits) - 4;
    let (bank, field) = match reg.bank {
        Bank::I => (Bank::R, first_i + reg.n as u64),
        Bank::Global => (Bank::Const, reg.n as u64 | 0x40),
        Bank::Indexed(_) => {
            let offset = (reg.n & 0x3fff) as u64;
            (reg.bank, (reg.n as u64 >> 14) << (bits - 2) | if doubled { offset / 2 } else { offset })
        }
        Bank::R | Bank::O | Bank::Pa | Bank::Sa if doubled => {
            if !reg.n.is_multiple_of(2) {
                return None;
            }
            (reg.bank, reg.n as u64 / 2)
        }
        b => (b, reg.n as u64),
    };
    if field >> bits != 0 || (reg.bank == Bank::R && field >= first_i) || (reg.bank == Bank::I && reg.n > 2) {
        return None;
    }
    let at = table.banks().iter().position(|b| *b == bank)?;
    let (code, ext) = (at % table.half(), at / table.half());
    (has_ext || ext == 0).then_some((code as u64, ext as u64, field))
}
