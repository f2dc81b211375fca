//! What a program needs of registers, stack, exports and rings, counted from its instructions.

use crate::isa::forms::{Effect, Format, cf, cf_alu, exp_buf, field};
use crate::isa::program::{Clause, Program};
use crate::isa::word::{DST_SEL, EXPORT_SEL, KCACHE, SRC_SEL, Word, sel};
use std::collections::BTreeSet;

/// What a program uses.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Registers from R0 on, clause temporaries not counted.
    pub gprs: u32,
    /// Stack entries.
    pub stack: u32,
    /// Parameters from the first to the last that is exported; `None`: nothing goes to the rasteriser.
    pub parameters: Option<u32>,
    /// Position vectors from the first to the last that is exported.
    pub positions: u32,
    /// Colours from the first to the last.
    pub colours: u32,
    /// Whether the depth vector is exported.
    pub depth: bool,
    /// Whether pixels are killed.
    pub kills: bool,
    /// Words of a vertex in the ring that it writes.
    pub ring_words: u32,
    /// Constant buffers, by bit.
    pub buffers: u32,
    /// Loop constants that it counts by.
    pub loops: BTreeSet<u32>,
}

impl Usage {
    /// Counts.
    pub fn of(p: &Program) -> Usage {
        let mut u = Usage { stack: stack(p), ..Usage::default() };
        for clause in p.clauses.values() {
            match clause {
                Clause::Alu(groups) => {
                    for s in groups.iter().flat_map(|g| &g.1.slots) {
                        s.sources().iter().filter(|x| x.is_gpr()).for_each(|x| u.register(x.sel.into()));
                        if s.writes() {
                            u.register(s.dst.into());
                        }
                        u.kills |= s.alu().effect == Effect::Kill;
                    }
                }
                Clause::Fetch(list) => list.iter().for_each(|(_, w)| u.fetch(w)),
            }
        }
        for w in &p.cf {
            match w.info().format {
                Format::ExpSwiz => u.export(w),
                Format::ExpBuf => {
                    u.register(w.get(field!(RW_GPR)) + w.get(field!(BURST_COUNT)));
                    if w.get(field!(TYPE)) & 1 == 1 {
                        u.register(w.get(field!(INDEX_GPR)));
                    }
                    if w.form() == exp_buf::MEM_RING {
                        u.ring_words = u.ring_words.max((w.get(field!(ARRAY_BASE)) + 4 * (w.get(field!(BURST_COUNT)) + 1)) as u32);
                    }
                }
                Format::CfAlu => {
                    for [bank, ..] in KCACHE.into_iter().filter(|k| w.get(k[1]) != 0) {
                        u.buffers |= 1 << (w.get(bank) & 15);
                    }
                }
                Format::Cf => match w.form() {
                    cf::LOOP_START | cf::LOOP_START_NO_AL => {
                        u.loops.insert(w.get(field!(CF_CONST)) as u32);
                    }
                    cf::KILL => u.kills = true,
                    _ => {}
                },
                _ => {}
            }
        }
        u
    }

    fn register(&mut self, r: u64) {
        if r < u64::from(sel::CLAUSE_TEMP) {
            self.gprs = self.gprs.max(r as u32 + 1);
        }
    }

    fn fetch(&mut self, w: &Word) {
        let texture = w.info().format == Format::Tex;
        let coordinates = SRC_SEL.into_iter().take(if texture { 4 } else { 1 });
        if coordinates.into_iter().any(|s| w.get(s) < 4) {
            self.register(w.get(field!(SRC_GPR)));
        }
        if w.info().format != Format::VtxSem && DST_SEL.into_iter().any(|s| w.get(s) < 6) {
            self.register(w.get(field!(DST_GPR)));
        }
    }

    fn export(&mut self, w: &Word) {
        let burst = w.get(field!(BURST_COUNT));
        if EXPORT_SEL.into_iter().any(|s| w.get(s) < 4) {
            self.register(w.get(field!(RW_GPR)) + burst);
        }
        let last = (w.get(field!(ARRAY_BASE)) + burst) as u32;
        match w.get(field!(TYPE)) {
            0 if last >= 61 => self.depth = true,
            0 => self.colours = self.colours.max(last + 1),
            1 => self.positions = self.positions.max(last.saturating_sub(59)),
            _ => self.parameters = self.parameters.max(Some(last + 1)),
        }
    }
}

/// STACK_SIZE by the order of the code: loops and calls take an entry of four elements, pushes one (an entry in whole-quad mode), the first
/// push two more.
fn stack(p: &Program) -> u32 {
    let (mut loops, mut pushes, mut most) = (0u32, Vec::<bool>::new(), 0);
    let mut note = |loops: u32, pushes: &[bool], more: u32| {
        let whole = pushes.iter().filter(|w| **w).count() as u32;
        let single = pushes.len() as u32 - whole + more;
        most = most.max((4 * (loops + whole) + single + if single > 0 { 2 } else { 0 }).div_ceil(4));
    };
    for w in &p.cf {
        let whole = w.get(field!(WHOLE_QUAD_MODE)) == 1;
        let pops = match w.form() {
            cf_alu::ALU_POP_AFTER => 1,
            cf_alu::ALU_POP2_AFTER => 2,
            cf::POP => w.get(field!(POP_COUNT)) as usize,
            _ => 0,
        };
        match w.form() {
            cf_alu::ALU_PUSH_BEFORE | cf::PUSH => {
                pushes.push(whole);
                note(loops, &pushes, 0);
            }
            cf_alu::ALU_BREAK | cf_alu::ALU_CONTINUE | cf_alu::ALU_ELSE_AFTER => note(loops, &pushes, 1),
            cf::LOOP_START | cf::LOOP_START_DX10 | cf::LOOP_START_NO_AL => {
                loops += 1;
                note(loops, &pushes, 0);
            }
            cf::LOOP_END => loops = loops.saturating_sub(1),
            cf::CALL | cf::CALL_FS => note(loops + 1, &pushes, 0),
            _ => {}
        }
        pushes.truncate(pushes.len().saturating_sub(pops));
    }
    most
}
