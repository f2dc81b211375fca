//! The chips of the family and what each has. Source: the ISA description, section 11.

use crate::isa::decode::Insn;
use crate::isa::flexgrip;
use crate::isa::forms::{Feature, Op};
use crate::place::{REGISTERS, Room};
use retroshade_lower::{CompileError, Options, TextError, TextOptions};

/// A chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// The name on the command line.
    pub name: &'static str,
    /// Compute capability 1.1.
    pub sm11: bool,
    /// Compute capability 1.2.
    pub sm12: bool,
    /// Double precision.
    pub fp64: bool,
    /// Direct3D 10.1 instructions.
    pub d3d101: bool,
    /// 32-bit registers of a multiprocessor.
    pub register_file: u32,
    /// The open VHDL model of a G80, which executes only what [`flexgrip`] says.
    pub flexgrip: bool,
}

const fn chip(name: &'static str, sm11: bool, sm12: bool, fp64: bool, d3d101: bool) -> Chip {
    Chip { name, sm11, sm12, fp64, d3d101, register_file: if sm12 { 16384 } else { 8192 }, flexgrip: false }
}

/// All chips, the default first.
pub const CHIPS: &[Chip] = &[
    chip("g84", true, false, false, false),
    chip("g80", false, false, false, false),
    chip("g86", true, false, false, false),
    chip("g92", true, false, false, false),
    chip("g94", true, false, false, false),
    chip("g96", true, false, false, false),
    chip("g98", true, false, false, false),
    chip("g200", true, true, true, false),
    chip("mcp77", true, true, false, false),
    chip("mcp79", true, true, false, false),
    chip("gt215", true, true, false, true),
    chip("gt216", true, true, false, true),
    chip("gt218", true, true, false, true),
    chip("mcp89", true, true, false, true),
    Chip { register_file: flexgrip::REGISTER_FILE, flexgrip: true, ..chip("flexgripplus", false, false, false, false) },
];

/// The names, for the command line.
pub const NAMES: &[&str] =
    &["g84", "g80", "g86", "g92", "g94", "g96", "g98", "g200", "mcp77", "mcp79", "gt215", "gt216", "gt218", "mcp89", "flexgripplus"];

/// Arguments that a texture instruction takes at most.
pub const MOST_ARGUMENTS: usize = 4;
/// Layers that a texture may have.
pub const MOST_LAYERS: u32 = 512;

/// Every instruction that any chip has.
pub const EVERYTHING: Chip = Chip { name: "any", sm11: true, sm12: true, fp64: true, d3d101: true, register_file: 16384, flexgrip: false };

/// Finds a chip by name.
pub fn by_name(name: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|c| c.name == name)
}

/// The chip of a compilation.
pub(crate) fn of_options(options: &Options) -> Result<&'static Chip, CompileError> {
    let name = options.chip.as_deref().unwrap_or("g84");
    by_name(name).ok_or_else(|| CompileError::Internal(format!("the chip `{name}` was not looked up")))
}

/// The chip whose instructions a text is made of: every chip's where none is named.
pub(crate) fn of_text(options: &TextOptions) -> Result<Chip, TextError> {
    match &options.chip {
        None => Ok(EVERYTHING),
        Some(name) => by_name(name).copied().ok_or_else(|| TextError::new(format!("unknown chip `{name}`"))),
    }
}

impl Chip {
    /// What of an instruction the chip does not execute right, beside what its features say.
    pub fn lacks(&self, i: &Insn) -> Option<&'static str> {
        if self.flexgrip { flexgrip::lacks(i) } else { None }
    }
    /// Whether the chip executes some form of an operation right.
    pub fn has_op(&self, op: Op) -> bool {
        !self.flexgrip || flexgrip::has(op)
    }
    /// What placement has at first.
    pub(crate) const fn room(&self) -> Room {
        if self.flexgrip { Room { registers: flexgrip::REGISTERS, spill: false, behind: flexgrip::REGISTERS } } else { Room::WHOLE }
    }
    /// The registers that a program may take.
    pub const fn registers(&self) -> u32 {
        // One more than placement has: a `$c` passes through it.
        if self.flexgrip { flexgrip::REGISTERS + 1 } else { REGISTERS }
    }
    /// Whether the chip has a feature.
    pub const fn has(&self, f: Feature) -> bool {
        match f {
            Feature::Base => true,
            Feature::Sm11 => self.sm11,
            Feature::Sm12 => self.sm12,
            Feature::Fp64 => self.fp64,
            Feature::D3d101 => self.d3d101,
        }
    }
}
