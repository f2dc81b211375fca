//! The checker (also `lint`): every rule on slots, read ports, constants, literals, clauses and control flow.

use crate::isa::forms::{Effect, Format, Op, Unit, cf, cf_alu, exp_swiz, field};
use crate::isa::ports::{self, Read, SlotReads};
use crate::isa::program::{Clause, Program, fetch_space};
use crate::isa::word::{DST_SEL, Group, SRC_SEL, Src, sel};
use crate::place::sched::{CLAUSE_FETCHES, CLAUSE_SLOTS};
use retroshade_lower::TextError;
use std::collections::BTreeSet;

fn problem(unit: u32, message: impl Into<String>) -> TextError {
    TextError { offset: Some(unit as u64 * 8), ..TextError::new(format!("at {unit}: {}", message.into())) }
}

/// Checks a program; an empty list is good.
pub fn check(p: &Program) -> Vec<TextError> {
    let mut out = Vec::new();
    let n = p.cf.len() as u32;
    let mut done = [false; 3];
    let mut exported = [false; 3];
    let mut depth: i64 = 0;
    let mut loops: Vec<i64> = Vec::new();
    for (i, w) in p.cf.iter().enumerate() {
        let at = i as u32;
        let addr = w.get(field!(ADDR)) as u32;
        if w.get(field!(WHOLE_QUAD_MODE)) == 1 && w.get(field!(VALID_PIXEL_MODE)) == 1 {
            out.push(problem(at, "whole-quad and valid-pixel mode exclude each other"));
        }
        match w.info().format {
            Format::CfAlu => {
                if addr < n {
                    out.push(problem(at, "an ALU clause lies in the control-flow list"));
                }
                if let Some(Clause::Alu(groups)) = p.clauses.get(&addr) {
                    clause(groups, w, &mut out);
                    let exec = groups.iter().enumerate().filter(|(_, (_, g))| g.slots.iter().any(|s| s.update_exec));
                    for (k, (u, _)) in exec {
                        if k + 1 != groups.len() {
                            out.push(problem(*u, "an update of the execute mask stands before the last group of its clause"));
                        }
                    }
                }
                match w.form() {
                    cf_alu::ALU_PUSH_BEFORE => depth += 1,
                    cf_alu::ALU_POP_AFTER => depth -= 1,
                    cf_alu::ALU_POP2_AFTER => depth -= 2,
                    cf_alu::ALU_BREAK | cf_alu::ALU_CONTINUE if loops.is_empty() => {
                        out.push(problem(at, "a break or continue outside of a loop"))
                    }
                    _ => {}
                }
            }
            Format::ExpSwiz => {
                let kind = w.get(field!(TYPE)) as usize;
                if kind > 2 {
                    out.push(problem(at, "an export has no such type"));
                } else {
                    if done[kind] {
                        out.push(problem(at, "an export follows the EXPORT_DONE of its type"));
                    }
                    exported[kind] = true;
                    done[kind] |= w.form() == exp_swiz::EXPORT_DONE;
                }
                if w.get(field!(RW_GPR)) + w.get(field!(BURST_COUNT)) > 127 {
                    out.push(problem(at, "a burst runs past the last register"));
                }
            }
            Format::Cf => {
                if fetch_space(w).is_some() {
                    if !addr.is_multiple_of(2) {
                        out.push(problem(at, "a fetch clause starts at an odd address"));
                    }
                    if addr < n {
                        out.push(problem(at, "a fetch clause lies in the control-flow list"));
                    }
                    if let Some(Clause::Fetch(list)) = p.clauses.get(&addr) {
                        fetches(list, &mut out);
                    }
                }
                match w.form() {
                    cf::PUSH => depth += 1,
                    cf::POP => depth -= w.get(field!(POP_COUNT)) as i64,
                    cf::JUMP | cf::ELSE if depth <= 0 => out.push(problem(at, format!("{} without a push", w.name()))),
                    cf::JUMP | cf::ELSE if addr > n || addr <= at => out.push(problem(at, format!("{} leads to {addr}", w.name()))),
                    cf::LOOP_START | cf::LOOP_START_DX10 | cf::LOOP_START_NO_AL => {
                        loops.push(depth);
                        let end = addr.checked_sub(1).and_then(|a| p.cf.get(a as usize));
                        if end.is_none_or(|e| e.form() != cf::LOOP_END || e.get(field!(ADDR)) as u32 != at + 1) {
                            out.push(problem(at, "a loop's start and end do not name each other"));
                        }
                    }
                    cf::LOOP_END => match loops.pop() {
                        Some(d) if d == depth => {}
                        Some(_) => out.push(problem(at, "a loop ends inside of a branch")),
                        None => out.push(problem(at, "a loop ends that never began")),
                    },
                    cf::LOOP_BREAK | cf::LOOP_CONTINUE => {
                        if loops.is_empty() {
                            out.push(problem(at, "a break or continue outside of a loop"));
                        }
                        if p.cf.get(addr as usize).is_none_or(|e| e.form() != cf::LOOP_END) {
                            out.push(problem(at, "a break or continue does not lead to the end of its loop"));
                        }
                    }
                    cf::END_PROGRAM => out.push(problem(at, "END_PROGRAM is reserved")),
                    _ => {}
                }
            }
            _ => {}
        }
        if depth < 0 {
            out.push(problem(at, "more is popped than was pushed"));
            depth = 0;
        }
    }
    for (i, (w, wait)) in p.cf.iter().zip(crate::emit::barrier::needed_in(p)).enumerate() {
        if wait && w.get(field!(BARRIER)) == 0 && i > 0 {
            out.push(problem(i as u32, "BARRIER is missing: an unfinished clause or export is in the way"));
        }
    }
    if depth != 0 || !loops.is_empty() {
        out.push(problem(n, "the program ends inside of a branch or loop"));
    }
    for k in 0..3 {
        if exported[k] && !done[k] {
            out.push(problem(n, format!("the last {} export is not EXPORT_DONE", ["pixel", "position", "parameter"][k])));
        }
    }
    out
}

fn fetches(list: &[(u32, crate::isa::word::Word)], out: &mut Vec<TextError>) {
    if list.len() > CLAUSE_FETCHES {
        out.push(problem(list[0].0, "a fetch clause is too long"));
    }
    let mut written: BTreeSet<(u64, u64)> = BTreeSet::new();
    for (u, f) in list {
        // A memory read without index names no register as address.
        let addressed = f.info().format != Format::MemRd || f.get(field!(INDEXED)) == 1;
        let tex = f.info().format == Format::Tex;
        let unit = f.get(field!(SAMPLER_ID));
        if tex && unit >= crate::abi::SAMPLERS {
            out.push(problem(*u, format!("sampler {unit} does not exist: there are {}", crate::abi::SAMPLERS)));
        }
        for sel in SRC_SEL.into_iter().take(if tex { 4 } else { 1 }) {
            if addressed && f.get(sel) < 4 && written.contains(&(f.get(field!(SRC_GPR)), f.get(sel))) {
                out.push(problem(*u, "a fetch uses a result of its own clause as address"));
                break;
            }
        }
        for (c, sel) in DST_SEL.into_iter().enumerate() {
            if f.get(sel) < 6 {
                written.insert((f.get(field!(DST_GPR)), c as u64));
            }
        }
    }
}

fn read(s: &Src, fresh: &mut u32) -> Read {
    if s.is_gpr() {
        // A relative operand may name any register of its channel: it conflicts with all.
        let key = if s.rel {
            *fresh += 1;
            1000 + *fresh
        } else {
            s.sel as u32
        };
        Read::Gpr(key, s.chan)
    } else if s.is_kcache() || s.sel >= sel::CFILE {
        Read::Const((s.sel as u32) << 1 | (s.chan >> 1) as u32)
    } else if s.sel == sel::PV || s.sel == sel::PS {
        Read::Forward
    } else {
        Read::Inline
    }
}

/// Checks the groups of a clause.
fn clause(groups: &[(u32, Group)], cf: &crate::isa::word::Word, out: &mut Vec<TextError>) {
    let size: usize = groups.iter().map(|g| g.1.size()).sum();
    if size > CLAUSE_SLOTS {
        out.push(problem(groups[0].0, "an ALU clause is too long"));
    }
    let locked = |set: u64| {
        let mode = if set == 0 { cf.get(field!(KCACHE_MODE0)) } else { cf.get(field!(KCACHE_MODE1)) };
        [0u16, 16, 32, 32][mode as usize & 3]
    };
    let mut before: Option<[bool; 5]> = None;
    // Index registers written so far.
    let mut index = [false; 4];
    // Clause temporaries (register, channel) written so far.
    let mut temporaries: BTreeSet<(u16, u8)> = BTreeSet::new();
    for (u, g) in groups {
        let Some(units) = g.units() else {
            out.push(problem(*u, "two operations of a group need one unit"));
            continue;
        };
        if !units.is_sorted() {
            out.push(problem(*u, "the operations of a group are not in the order of their units"));
        }
        let mut slots = Vec::new();
        let (mut fresh, mut exclusive) = (0, 0);
        let mova = g.slots.iter().any(|s| s.alu().effect == Effect::Index);
        let mut targets: BTreeSet<(u8, bool, u8)> = BTreeSet::new();
        let mut reductions = BTreeSet::new();
        for (s, unit) in g.slots.iter().zip(&units) {
            let name = s.info().short;
            let alu = s.alu();
            exclusive += matches!(alu.effect, Effect::Predicate | Effect::Kill) as usize;
            if matches!(alu.unit, Unit::Vec | Unit::Reduce | Unit::Wide) && *unit != s.chan {
                out.push(problem(*u, format!("{name} must run in the unit of its channel")));
            }
            if alu.unit == Unit::Reduce {
                reductions.insert((name, *unit));
            }
            if s.writes() && !targets.insert((s.dst, s.dst_rel, s.chan)) {
                out.push(problem(*u, format!("R{}.{} is written twice in a group", s.dst, ["x", "y", "z", "w"][s.chan as usize & 3])));
            }
            if *unit == 4 && s.bank > 3 || s.bank > 5 {
                out.push(problem(*u, format!("bank swizzle {} does not exist for this unit", s.bank)));
                return;
            }
            if mova && (s.dst_rel || s.sources().iter().any(|x| x.rel)) {
                out.push(problem(*u, "relative addressing in a group with MOVA"));
            }
            let relative = s.dst_rel || s.sources().iter().any(|x| x.rel);
            if relative && s.index_mode < 4 && !index[s.index_mode as usize] {
                out.push(problem(*u, format!("{name} is relative to an index register that its clause has not written")));
            }
            for x in s.sources() {
                match x.sel {
                    sel::CLAUSE_TEMP..=127 if !temporaries.contains(&(x.sel, x.chan)) => {
                        out.push(problem(*u, format!("clause temporary {} is read before its clause writes it", x.sel)))
                    }
                    128..=159 if x.sel - sel::KCACHE0 >= locked(0) => out.push(problem(*u, "a constant of set 0 is not locked")),
                    160..=191 if x.sel - sel::KCACHE1 >= locked(1) => out.push(problem(*u, "a constant of set 1 is not locked")),
                    192..=243 => out.push(problem(*u, format!("source select {} is reserved", x.sel))),
                    sel::PV if before.is_none_or(|b| !b[x.chan as usize & 3]) => {
                        out.push(problem(*u, "PV is read where the previous group left none"))
                    }
                    sel::PS if before.is_none_or(|b| !b[4]) => out.push(problem(*u, "PS is read where the previous group left none")),
                    _ => {}
                }
            }
            let mut reads = [Read::None; 3];
            for (r, x) in reads.iter_mut().zip(s.sources()) {
                *r = read(x, &mut fresh);
            }
            slots.push(SlotReads { unit: *unit, reads });
        }
        if !reductions.is_empty() && (reductions.len() != 4 || reductions.iter().map(|r| r.0).collect::<BTreeSet<_>>().len() != 1) {
            out.push(problem(*u, "a reduction must fill X, Y, Z and W"));
        }
        if exclusive > 1 {
            out.push(problem(*u, "more than one PRED_SET or KILL in a group"));
        }
        if !ports::constants_fit(&slots) {
            out.push(problem(*u, "a group reads too many constants"));
        }
        let mut table = ports::Ports::default();
        for (s, a) in slots.iter().zip(&g.slots) {
            if !ports::reserve(s, a.bank as usize, &mut table) {
                out.push(problem(*u, "two reads of a group need one register port"));
                break;
            }
        }
        if Group::literal_words(&g.slots) > g.literals.len() {
            out.push(problem(*u, "a literal is missing"));
        }
        let mut units_set = [false; 5];
        for (s, unit) in g.slots.iter().zip(&units) {
            // Sums arrive in PV.x only.
            let sum = s.alu().unit == Unit::Reduce && s.alu().op != Op::CUBE;
            units_set[if sum { 0 } else { *unit as usize }] = true;
        }
        before = Some(units_set);
        g.slots.iter().filter(|s| s.alu().effect == Effect::Index).for_each(|s| index[s.chan as usize & 3] = true);
        temporaries.extend(g.slots.iter().filter(|s| s.writes()).map(|s| (s.dst as u16, s.chan)));
    }
}
