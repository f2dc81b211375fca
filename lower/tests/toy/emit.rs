//! From placed instructions to bytes: words, and jumps to the blocks that do not follow.

use crate::isa::{self, FORMS, TABLE, field, word};
use crate::select::MInst;
use retroshade_emit::layout::Filler;
use retroshade_emit::{Code, FieldName, Fixup, Layout, Rule, Word};
use retroshade_ir::Span;
use retroshade_lower::{CompileError, Placed, PlacedInst, PlacedReg, Reg, VCode};

/// Where the registers of an instruction go, the result aside.
const SOURCES: [FieldName; 3] = [field!(a), field!(b), field!(c)];

fn number(r: PlacedReg) -> Result<u64, CompileError> {
    match r {
        PlacedReg::Reg { index, .. } => Ok(index as u64),
        PlacedReg::Slot { .. } => Err(CompileError::Internal("a slot on a machine without slots".to_string())),
    }
}

fn encode(i: &MInst) -> Result<Word, CompileError> {
    let mut w = Word::new(FORMS, i.form, &i.values);
    let mut set = |name: FieldName, r: &Reg| {
        let place = r.placed().ok_or_else(|| CompileError::Internal(format!("{r} has no place")))?;
        TABLE.set(&mut w, name, number(place)?).map_err(|e| CompileError::Internal(e.to_string()))
    };
    i.result.iter().try_for_each(|r| set(field!(d), r))?;
    i.sources.iter().zip(SOURCES).try_for_each(|(r, name)| set(name, r))?;
    Ok(w)
}

/// Lays the code out.
pub fn emit(code: &VCode<MInst>, placed: &Placed<MInst>) -> Result<Code<Span>, CompileError> {
    let mut out = Layout::new(&TABLE);
    let labels: Vec<_> = placed.blocks.iter().map(|_| out.label()).collect();
    for (n, block) in placed.blocks.iter().enumerate() {
        out.bind(labels[n]);
        let targets: Vec<usize> = code.blocks[n].targets.iter().map(|t| t.block).collect();
        for i in block {
            match i {
                PlacedInst::Move { from, to, .. } => out.push(word!(isa::MOV { d: number(*to)?, a: number(*from)? }), Span::NONE),
                PlacedInst::Inst(i, span) => match (i.form, &targets[..]) {
                    // The next block needs no jump.
                    (isa::JMP, [to]) if *to == n + 1 => {}
                    (isa::JMP, [to]) => out.branch(word!(isa::JMP {}), Fixup::from_here(field!(isa::JMP.to), labels[*to], 4), *span),
                    (isa::JZ, [then, other]) => {
                        out.branch(encode(i)?, Fixup::from_here(field!(isa::JZ.to), labels[*other], 4), *span);
                        if *then != n + 1 {
                            out.branch(word!(isa::JMP {}), Fixup::from_here(field!(isa::JMP.to), labels[*then], 4), *span);
                        }
                    }
                    _ => out.push(encode(i)?, *span),
                },
            }
        }
    }
    let rule = Rule { align: |f| f.size as u32, filler: Filler::Word(word!(isa::NOP {})) };
    out.finish(&rule).map_err(|e| CompileError::layout("Y0003", e))
}
