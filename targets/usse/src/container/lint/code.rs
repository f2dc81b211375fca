//! Rules that look at the words of the programs.

use super::*;

/// The byte of an instruction.
pub(super) fn at(line: &Line) -> Option<u64> {
    Some(8 * line.n as u64)
}

pub(super) fn headers(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    for (k, start) in g.phases.iter().enumerate() {
        let wait = if k + 1 == g.phases.len() { 7 } else { 1 };
        match primary.get(*start as usize) {
            Some(l) if l.form == PHAS && value(&l.word, field!(wait_cond)) == wait => {}
            _ => say(Some(8 * *start as u64), format!("phase {k} begins at instruction {start}")),
        }
    }
    for l in primary.iter().filter(|l| l.form == PHAS && !g.phases.contains(&(l.n as u32))) {
        say(at(l), "a phase that the table does not have".to_string());
    }
}

pub(super) fn vertex_end(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    let emits = primary.iter().filter(|l| l.form == EMIT).count();
    let last = primary.last().is_some_and(|l| l.form == EMIT);
    if emits != (!g.is_fragment()) as usize || last == g.is_fragment() {
        say(None, format!("{emits} EMIT"));
    }
}

pub(super) fn secondary_end(_: &Gxp, _: &[Line], secondary: &[Line], say: Say) {
    for l in secondary.iter().filter(|l| matches!(l.form, PHAS | EMIT | SMP | KILL | DEPTHF | BR)) {
        say(at(l), format!("{} in the secondary program", l.name()));
    }
    if secondary.last().is_some_and(|l| !l.ends()) {
        say(None, "no end".to_string());
    }
}

pub(super) fn kill(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    let data = g.base(DATA);
    let literal = g.literals.contains(&(0, 0xe000));
    for (form, bit) in [(KILL, flag::KILL), (DEPTHF, flag::DEPTH)] {
        let all: Vec<&Line> = primary.iter().filter(|l| l.form == form).collect();
        let name = TABLE.form(form).name;
        if all.is_empty() != (g.flags & bit == 0) {
            say(None, format!("flags {:#x} with {} {name}", g.flags, all.len()));
        }
        for l in all {
            let names = |f| Some(value(&l.word, f) as u16) == data;
            if !names(field!(src1_n)) || !names(field!(src2_n)) || !literal {
                say(at(l), format!("{name} does not name the first register of DATA with 0xe000 in it"));
            }
            if g.phases.get(1).is_none_or(|second| l.n as u32 >= *second) {
                say(at(l), format!("{name} behind the first of two phases"));
            }
        }
    }
}

pub(super) fn texture_read(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    let data = g.base(DATA).unwrap_or(0);
    for l in primary.iter().filter(|l| l.form == SMP) {
        let state = operand(SMP, Role::Src1).map(|o| read_operand(&l.word, o).reg);
        let known = |n: u16| g.dependent_samplers.iter().any(|d| d.0.is_multiple_of(4) && data.wrapping_add(d.1) == n);
        if !state.is_some_and(|s| s.bank == Bank::Sa && known(s.n)) {
            say(at(l), "the texture's state is not in the container".to_string());
        }
    }
}

pub(super) fn registers(g: &Gxp, primary: &[Line], secondary: &[Line], say: Say) {
    let sa = g.secondary_regs as u32;
    for (program, limits) in [
        (primary, [(Bank::R, g.temps), (Bank::Pa, g.primary_regs as u32), (Bank::Sa, sa)]),
        // The secondary program has one attribute bank.
        (secondary, [(Bank::R, 0), (Bank::Pa, sa), (Bank::Sa, sa)]),
    ] {
        for l in program {
            let touched = l.access.reads.iter().chain(&l.access.writes);
            for (bank, n) in touched.filter(|p| limits.iter().any(|(b, most)| *b == p.0 && p.1 as u32 >= *most)) {
                say(at(l), format!("{}: {bank:?}{n} is beyond what the header counts", l.name()));
            }
        }
    }
}

pub(super) fn phase_end(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    for start in g.phases.iter().skip(1) {
        let closed = primary.iter().any(|l| l.n as u32 + 1 == *start && l.form == NOP && l.ends());
        if !closed {
            say(Some(8 * u64::from(*start)), "the phase before is not closed".to_string());
        }
    }
    for l in primary.iter().filter(|l| l.ends() && l.form != EMIT && !g.phases.contains(&(l.n as u32 + 1))) {
        say(at(l), format!("{} ends the program", l.name()));
    }
}

pub(super) fn position(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    let written = |n: u16| primary.iter().any(|l| l.access.writes.iter().any(|p| p.0 == Bank::O && p.1 == n));
    let missing: Vec<u16> = (0..4).filter(|n| !written(*n)).collect();
    if !g.is_fragment() && !missing.is_empty() {
        say(None, format!("nothing is written to o{missing:?}"));
    }
}

pub(super) fn index_read(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    if g.is_fragment() {
        return;
    }
    let indices = super::interface::index_registers(g);
    let mut written: Vec<u16> = Vec::new();
    for l in primary {
        for (_, n) in l.access.reads.iter().filter(|p| p.0 == Bank::Pa) {
            if !written.contains(n) && !indices.contains(n) && !super::interface::is_attribute(g, u32::from(*n)) {
                say(at(l), format!("{} reads pa{n}, which is no attribute and no index", l.name()));
            }
        }
        written.extend(l.access.writes.iter().filter(|p| p.0 == Bank::Pa).map(|p| p.1));
    }
}

/// Whether a word of a program writes registers of a bank.
fn writes(program: &[Line], bank: Bank) -> bool {
    program.iter().any(|l| l.access.writes.iter().any(|p| p.0 == bank))
}

pub(super) fn native(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    let marked = g.flags & flag::NATIVE_COLOUR != 0;
    if g.is_fragment() && marked != writes(primary, Bank::O) {
        say(None, format!("flags {:#x}; output registers are written: {}", g.flags, !marked));
    }
}

pub(super) fn colour(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    if !g.is_fragment() || g.flags & flag::NATIVE_COLOUR != 0 {
        return;
    }
    let last = g.phases.last().map_or(0, |p| *p as usize);
    let in_last = writes(&primary[primary.partition_point(|l| l.n < last)..], Bank::Pa);
    let there = writes(primary, Bank::Pa) || !super::interface::inputs_of(g).is_empty();
    match g.flags & flag::NO_COLOUR != 0 {
        true if in_last => say(None, format!("flags {:#x}, and attribute registers are written behind all else", g.flags)),
        false if !there => say(None, "nothing is in the first attribute registers".to_string()),
        _ => {}
    }
}

pub(super) fn stores(g: &Gxp, primary: &[Line], _: &[Line], say: Say) {
    let all = primary.iter().filter(|l| l.form == VLDST && value(&l.word, field!(op1)) == 2).count();
    if (g.flags >> 14 & 1 == 1) != (all > 0) {
        say(None, format!("flags {:#x} with {all} stores", g.flags));
    }
}
