//! Operands: registers, halves, constants, attributes, shared, local and global memory.

use super::{Lane, Launch, REGISTERS, Step};
use crate::isa::forms::field;
use crate::isa::operand::Size;
use crate::isa::text::Source;
use retroshade_lower::SimError;

/// A little-endian load of 1, 2 or 4 bytes; bytes beyond the end read as 0.
pub(crate) fn load(mem: &[u8], at: usize, bytes: usize) -> u32 {
    (0..bytes).fold(0, |v, k| v | (mem.get(at.wrapping_add(k)).copied().unwrap_or(0) as u32) << (8 * k))
}

/// A little-endian store; bytes beyond the end are dropped.
pub(crate) fn store(mem: &mut [u8], at: usize, bytes: usize, v: u32) {
    for k in 0..bytes {
        if let Some(b) = mem.get_mut(at.wrapping_add(k)) {
            *b = (v >> (8 * k)) as u8;
        }
    }
}

impl Lane {
    pub(crate) fn read(&self, n: usize, launch: &Launch) -> u32 {
        if n < REGISTERS && (n as u32) < launch.gprs { self.r[n] } else { 0 }
    }
    pub(crate) fn write(&mut self, n: usize, v: u32, launch: &Launch) {
        if n < REGISTERS && (n as u32) < launch.gprs {
            self.r[n] = v;
        }
    }
    pub(crate) fn read_half(&self, n: usize, launch: &Launch) -> u32 {
        self.read(n >> 1, launch) >> (16 * (n & 1)) & 0xffff
    }
    pub(crate) fn write_half(&mut self, n: usize, v: u32, launch: &Launch) {
        let old = self.read(n >> 1, launch);
        let shift = 16 * (n & 1);
        self.write(n >> 1, old & !(0xffff << shift) | (v & 0xffff) << shift, launch);
    }

    /// The address of a memory operand; advances `$a` where the operand says so.
    fn address(&mut self, offset: i64, index: (u64, bool)) -> usize {
        let (a, increment) = index;
        let base = if a == 0 { 0 } else { self.a[a as usize & 7] };
        if increment {
            self.a[a as usize & 7] = (base as i64 + offset) as u32 & 0xffff;
            return base as usize;
        }
        ((base as i64 + offset) & 0xffff) as usize
    }

    /// A source operand of 16 or 32 bits.
    pub(crate) fn source(&mut self, s: Source, index: (u64, bool), size: Size, launch: &Launch, shared: &[u8]) -> u32 {
        match s {
            Source::Reg(n) if size == Size::Half => self.read_half(n as usize, launch),
            Source::Reg(n) => self.read(n as usize, launch),
            Source::C(space, offset) => {
                let at = self.address(offset, index);
                let empty = Vec::new();
                load(launch.constants.get(space as usize).unwrap_or(&empty), at, if size == Size::Half { 2 } else { 4 })
            }
            Source::A(offset) => self.input.attributes.get(offset as usize / 4).copied().unwrap_or(0),
            Source::P(offset) => {
                let at = self.vertex_address(offset as usize, index, launch);
                launch.vertex_data.get(at).copied().unwrap_or(0)
            }
            Source::S(ty, offset) => {
                let at = self.address(offset, index);
                match ty {
                    0 => load(shared, at, 1),
                    1 => load(shared, at, 2),
                    2 => load(shared, at, 2) as i16 as i32 as u32,
                    _ => load(shared, at, 4),
                }
            }
        }
    }

    /// The word of p[] that an operand names: the attribute's offset counts in steps of `$vstride`.
    fn vertex_address(&mut self, offset: usize, index: (u64, bool), launch: &Launch) -> usize {
        let base = self.address(0, index);
        (base + offset / 4 * launch.vertex_stride as usize) / 4
    }

    pub(crate) fn memory_address(&mut self, s: &Step, scale: i64) -> usize {
        let index = (s.insn.get(field!(a)), s.insn.get(field!(inc)) != 0);
        self.address(s.insn.get(field!(off)) as i64 * scale, index)
    }

    /// A result of 16 or 32 bits: a register, an output word, or nowhere.
    pub(crate) fn result(&mut self, s: &Step, size: Size, v: u32, launch: &Launch) -> Result<(), SimError> {
        if !s.f.out {
            if size == Size::Half {
                self.write_half(s.f.dst, v, launch)
            } else {
                self.write(s.f.dst, v, launch)
            }
            return Ok(());
        }
        if s.f.dst == 0x7f {
            return Ok(());
        }
        let (word, shift, mask) = if size == Size::Half { (s.f.dst / 2, 16 * (s.f.dst & 1), 0xffff) } else { (s.f.dst, 0, u32::MAX) };
        self.output(s, word, v << shift, mask << shift)
    }

    pub(crate) fn output(&mut self, s: &Step, word: usize, v: u32, mask: u32) -> Result<(), SimError> {
        let n = self.out.len();
        let o = self.out.get_mut(word).ok_or_else(|| SimError::Fault {
            at: s.pc,
            message: format!("o[{:#x}] lies beyond the {n} declared output words", word * 4),
        })?;
        *o = *o & !mask | v & mask;
        Ok(())
    }
}
