//! Words to decoded instructions: finds the format, the form, and refuses bits that mean nothing.

use crate::isa::chip::Chip;
use crate::isa::forms::*;
use retroshade_emit::{FieldName, FormId, Word};
use retroshade_ir::Stage;

/// The decode space of a stage.
pub const fn space(stage: Stage) -> u32 {
    match stage {
        Stage::Vertex => VP,
        Stage::Geometry => GP,
        Stage::Fragment => FP,
        Stage::Compute => CP,
    }
}

/// A decoded instruction with named access to its fields.
#[derive(Clone, Debug)]
pub struct Insn {
    /// Form and values.
    pub d: Word,
    /// One bit: the stage.
    pub space: u32,
}

impl Insn {
    /// The form.
    pub fn form(&self) -> &'static TForm {
        TABLE.form(self.d.form)
    }
    /// A field's value; 0 where the form has none.
    pub fn get(&self, field: FieldName) -> u64 {
        TABLE.get(&self.d, field).unwrap_or(0)
    }
    /// A field's signed value.
    pub fn signed(&self, field: FieldName) -> i64 {
        let f = self.form();
        TABLE.position(self.d.form, field).map_or(0, |i| f.fields().nth(i.0 as usize).map_or(0, |x| x.signed_value(self.d[i])))
    }
    /// Whether the form has a field.
    pub fn has(&self, field: FieldName) -> bool {
        TABLE.position(self.d.form, field).is_some()
    }
    /// Size in bytes.
    pub fn size(&self) -> u32 {
        self.form().size as u32
    }
    /// The operation.
    pub fn op(&self) -> Op {
        self.form().ext.op
    }
}

/// Size of the instruction that begins with this word.
pub const fn size_of(word0: u32) -> u8 {
    if word0 & 1 == 0 { 4 } else { 8 }
}

/// Decodes one instruction.
pub fn decode(word: u64, stage_space: u32, chip: &Chip) -> Result<Insn, String> {
    let size = size_of(word as u32);
    let immediate = word & 3 == 1 && word >> 32 & 3 == 3;
    let space = if immediate { stage_space << IMM_SHIFT } else { stage_space };
    let d = TABLE.decode(space, size, word as u128).ok_or_else(|| {
        if TABLE.decode(if immediate { ANY << IMM_SHIFT } else { ANY }, size, word as u128).is_some() {
            "this instruction does not exist in this stage".to_string()
        } else {
            "not an instruction".to_string()
        }
    })?;
    let form = TABLE.form(d.form);
    let stray = d.residue & !form.ext.ignore;
    if stray != 0 {
        return Err(format!("`{}`: bits {stray:#x} have no meaning", form.name));
    }
    let insn = Insn { d, space: stage_space };
    available(&insn, chip)?;
    Ok(insn)
}

/// Whether the chip has the instruction.
pub fn available(insn: &Insn, chip: &Chip) -> Result<(), String> {
    let syn = &insn.form().ext;
    let more = syn.more.filter(|(field, value, _)| insn.d[*field] == *value).map(|m| m.2);
    match [Some(syn.feature), more].into_iter().flatten().find(|f| !chip.has(*f)) {
        None => match chip.lacks(insn) {
            None => Ok(()),
            Some(what) => Err(format!("`{}`: {} does not execute {what} right", insn.form().name, chip.name)),
        },
        Some(f) => Err(format!("`{}` needs {}, which {} lacks", insn.form().name, need(f), chip.name)),
    }
}

const fn need(f: Feature) -> &'static str {
    match f {
        Feature::Base => "nothing",
        Feature::Sm11 => "compute capability 1.1",
        Feature::Sm12 => "compute capability 1.2",
        Feature::Fp64 => "double precision",
        Feature::D3d101 => "the Direct3D 10.1 instructions",
    }
}

/// Encodes a decoded instruction.
pub fn encode(form: FormId, values: &[u64]) -> Result<u64, String> {
    TABLE.encode_values(form, values).map(|w| w as u64).map_err(|e| e.to_string())
}
