//! What the hardware forbids in code, as data: rules of one word, and of words that follow each other.
//!
//! Facts: the ISA sheet's sections 3.2, 4, 5, 14, 15 and 17. The rules of containers are `container/lint.rs`.

use crate::container;
use crate::emit::pairing;
use crate::isa::access::{self, Access};
use crate::isa::forms::{
    BR, EMIT, NOP, PHAS, SMP, TABLE, V32NMAD, VCOMP, VDUAL, VLDST, VMAD, VMAD2, VMOV, VPCK, WDF, branch_offset, decode, field,
};
use crate::isa::operands::{Role, operand, read_operand, value};
use crate::isa::registers::Bank;
use retroshade_emit::FieldName;
use retroshade_emit::form::Decoded;
use retroshade_emit::form::FormId;
use retroshade_lower::TextError;

/// A decoded instruction of a program.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its index.
    pub n: usize,
    /// Its form.
    pub form: FormId,
    /// Its fields.
    pub word: Decoded,
    /// What it touches.
    pub access: Access,
}

impl Line {
    /// Whether it carries an end flag.
    pub fn ends(&self) -> bool {
        let f = |n: FieldName| value(&self.word, n);
        let plain_move = self.form == VMOV && f(field!(move_type)) == 0;
        self.form == EMIT || (self.form != PHAS && f(field!(end)) == 1) || (plain_move && f(field!(end_or_src0_bank_ext)) == 1)
    }
    /// Its form's name.
    pub fn name(&self) -> &'static str {
        TABLE.form(self.form).name
    }
    fn is_branch(&self) -> bool {
        self.form == BR
    }
    fn target(&self) -> i64 {
        self.n as i64 + branch_offset(&self.word)
    }
}

/// The instructions of a program; what is none is left out.
pub fn lines(words: &[u64]) -> Vec<Line> {
    let line = |(n, w): (usize, &u64)| {
        let word = decode(*w)?;
        Some(Line { n, form: word.form, access: access::of(&word), word })
    };
    words.iter().enumerate().filter_map(line).collect()
}

/// What must hold of a word.
pub struct Rule {
    /// Its name, which findings begin with.
    pub name: &'static str,
    /// What must hold, and where that is said.
    pub doc: &'static str,
    /// What is wrong with instruction `n` of a program.
    check: fn(&[Line], usize) -> Option<String>,
}

/// Every rule.
pub static RULES: &[Rule] = &[
    Rule { name: "named-bits", doc: "2: bits without a name are 0", check: named },
    Rule { name: "lanes", doc: "5: an f32 result outside internal registers has lanes x and y only", check: lanes },
    Rule { name: "internal-number", doc: "3.2: there are three internal registers", check: internal },
    Rule { name: "predicate", doc: "4: pN is not used", check: predicate },
    Rule { name: "invalid", doc: "14.1: texture reads also run for invalid instances", check: invalid },
    Rule { name: "branch-target", doc: "15.1: a branch stays inside the program", check: target },
    Rule { name: "branch-over-branch", doc: "19.9: one branch with the inverted predicate instead of two", check: over },
    Rule { name: "fence", doc: "14.1: what a texture read or a load brings is read behind a WDF", check: fence },
    Rule { name: "nosched", doc: "17.4: internal registers live across a boundary are protected", check: protected },
];

/// Findings of a container or of bare code words.
pub fn lint(bytes: &[u8]) -> Result<Vec<TextError>, TextError> {
    if bytes.starts_with(b"GXP\0") {
        return container::lint::lint(bytes);
    }
    let mut out = Vec::new();
    let code: Vec<u64> = bytes.chunks_exact(8).filter_map(|c| c.try_into().ok().map(u64::from_le_bytes)).collect();
    if !bytes.len().is_multiple_of(8) {
        out.push(TextError::new("the code is not a whole number of words"));
    }
    words(&code, &mut out);
    Ok(out)
}

/// Findings of a program's words.
pub fn words(code: &[u64], out: &mut Vec<TextError>) {
    let mut say = |n: usize, message: String| out.push(TextError { offset: Some(8 * n as u64), ..TextError::new(message) });
    for (n, w) in code.iter().enumerate().filter(|(_, w)| decode(**w).is_none()) {
        say(n, format!("{w:016x} is no instruction"));
    }
    let all = lines(code);
    if all.len() < code.len() {
        return;
    }
    for n in 0..all.len() {
        for rule in RULES {
            if let Some(what) = (rule.check)(&all, n) {
                say(n, format!("{}: {}: {what}", rule.name, all[n].name()));
            }
        }
    }
}

fn named(all: &[Line], n: usize) -> Option<String> {
    (all[n].word.residue != 0).then(|| format!("unnamed bits are set ({:#x})", all[n].word.residue))
}

fn lanes(all: &[Line], n: usize) -> Option<String> {
    let l = &all[n];
    let f = |name: FieldName| value(&l.word, name);
    let mask = match l.form {
        VMAD2 if f(field!(dat_fmt)) == 0 => f(field!(dest_mask)),
        V32NMAD => f(field!(dest_mask)),
        VMOV if f(field!(move_data_type)) == 5 => f(field!(dest_mask)),
        VPCK if f(field!(dest_fmt)) == 6 => f(field!(dest_mask)),
        VCOMP if f(field!(dest_type)) == 0 => f(field!(write_mask)),
        VMAD => f(field!(write_mask)),
        _ => return None,
    };
    let to = operand(l.form, Role::Dest).map(|o| read_operand(&l.word, o).reg.bank)?;
    (to != Bank::I && mask & 12 != 0).then(|| format!("lanes {mask:#b} of a register outside"))
}

fn internal(all: &[Line], n: usize) -> Option<String> {
    let a = &all[n].access;
    a.reads.iter().chain(&a.writes).any(|p| p.0 == Bank::I && p.1 >= 12).then(|| "i3 does not exist".to_string())
}

fn predicate(all: &[Line], n: usize) -> Option<String> {
    let l = &all[n];
    let code = value(&l.word, if l.form == VDUAL { field!(sv_pred) } else { field!(pred) });
    (crate::isa::text::predicate(l.form, code) == "pN" && l.form != NOP).then(|| "the predicate pN".to_string())
}

fn invalid(all: &[Line], n: usize) -> Option<String> {
    (all[n].form == SMP && value(&all[n].word, field!(skipinv)) == 1).then(|| "skipinv is set".to_string())
}

fn target(all: &[Line], n: usize) -> Option<String> {
    let to = all[n].target();
    (all[n].is_branch() && !(0..=all.len() as i64).contains(&to)).then(|| format!("to instruction {to} of {}", all.len()))
}

fn over(all: &[Line], n: usize) -> Option<String> {
    let always = |l: &Line| value(&l.word, field!(pred)) == 0;
    let next = all.get(n + 1)?;
    let pair = all[n].is_branch() && !always(&all[n]) && next.is_branch() && always(next);
    // A branch that is gone to as well, such as an endless loop, has to stand there.
    let entered = || all.iter().any(|l| l.is_branch() && l.target() == next.n as i64);
    // One that goes back stands so: under a predicate none does.
    let ahead = next.target() > n as i64;
    (pair && ahead && all[n].target() == n as i64 + 2 && !entered()).then(|| "goes around a branch".to_string())
}

/// Registers that a texture read or a load brings, and its fence.
fn fetched(l: &Line) -> Option<(Bank, std::ops::Range<u64>, u64)> {
    let f = |name: FieldName| value(&l.word, name);
    let (to_pa, words) = match l.form {
        // Lanes depend on the texture: one is written in any case.
        SMP => (f(field!(dest_use_pa)), 1),
        VLDST if f(field!(op1)) == 1 => (f(field!(dest_bank_primattr)), f(field!(mask_count)) + 1),
        _ => return None,
    };
    Some((if to_pa == 1 { Bank::Pa } else { Bank::R }, f(field!(dest_n))..f(field!(dest_n)) + words, f(field!(drc_sel)) & 1))
}

fn fence(all: &[Line], n: usize) -> Option<String> {
    let (bank, regs, drc) = fetched(&all[n])?;
    for l in &all[n + 1..] {
        let waits = l.form == WDF && value(&l.word, field!(drc_sel)) == drc;
        if waits || l.is_branch() || l.form == PHAS || fetched(l).is_some_and(|f| f.0 == bank && f.1.start == regs.start) {
            return None;
        }
        if l.access.reads.iter().any(|p| p.0 == bank && regs.contains(&(p.1 as u64))) {
            return Some(format!("its result is read by instruction {} without a fence", l.n));
        }
    }
    None
}

fn protected(all: &[Line], n: usize) -> Option<String> {
    // Once for each straight run of instructions, at its first.
    let starts =
        |k: usize| k == 0 || all[k - 1].is_branch() || all[k].form == PHAS || all.iter().any(|l| l.is_branch() && l.target() == k as i64);
    if !starts(n) {
        return None;
    }
    let end = (n + 1..all.len()).find(|k| starts(*k)).unwrap_or(all.len());
    let access: Vec<Access> = all[n..end].iter().map(|l| l.access.clone()).collect();
    let live = pairing::live(access.iter());
    let holds = |l: &Line| l.form == VDUAL || (value(&l.word, field!(nosched)) == 1 && l.form != PHAS);
    (n..end - 1).find_map(|k| {
        let alive = live[k + 1 - n].iter().any(|lanes| *lanes != 0);
        let safe = k > n && holds(&all[k - 1]);
        (alive && !safe).then(|| format!("an internal register may be lost behind instruction {k}"))
    })
}
