//! ALU clauses: sources, groups, predicates and kills.

use super::{FUEL, Machine, State};
use crate::abi::REGISTER_FILE;
use crate::isa::forms::{Effect, Number, Op, Unit};
use crate::isa::program::Clause;
use crate::isa::word::{Alu, Group, KCACHE, Src, Word, sel};
use crate::legal::numerics;
use retroshade_lower::SimError;

impl Machine<'_> {
    pub(super) fn alu_clause(&mut self, w: &Word, addr: u32) -> Result<(), SimError> {
        let program = self.program;
        // Clause temporaries hold nothing when a clause begins.
        for lane in &mut self.lanes {
            lane.gpr[sel::CLAUSE_TEMP as usize..128].fill([0xdead_beef; 4]);
        }
        let Some(Clause::Alu(groups)) = program.clauses.get(&addr) else { return Err(self.fault(addr, "no ALU clause here")) };
        let set = |n: usize| {
            let [bank, mode, line] = KCACHE[n].map(|f| w.get(f));
            (bank as usize, mode, line as usize)
        };
        let sets = [set(0), set(1)];
        for (at, g) in groups {
            self.group(*at, g, &sets)?;
            self.fuel = self.fuel.checked_sub(1).ok_or(SimError::OutOfFuel(FUEL))?;
        }
        Ok(())
    }

    fn source(&self, lane: usize, at: u32, s: &Src, mode: u8, g: &Group, sets: &[(usize, u64, usize); 2]) -> Result<u32, SimError> {
        let l = &self.lanes[lane];
        let c = s.chan as usize & 3;
        let raw = match s.sel {
            0..=127 => {
                let base = s.sel as i32 + if s.rel { l.ar[mode as usize & 3] } else { 0 };
                if (0..128).contains(&base) { l.gpr[base as usize][c] } else { 0 }
            }
            128..=191 => {
                let set = (s.sel >= sel::KCACHE1) as usize;
                let (bank, kmode, line) = sets[set];
                let n = (s.sel - [sel::KCACHE0, sel::KCACHE1][set]) as usize;
                if kmode == 0 || n >= kmode as usize * 16 {
                    return Err(self.fault(at, format!("constant {n} of set {set} is not locked")));
                }
                self.buffers.get(bank).and_then(|b| b.get((line * 16 + n) * 4 + c)).copied().unwrap_or(0)
            }
            sel::ZERO => 0,
            sel::ONE => 1.0f32.to_bits(),
            sel::ONE_INT => 1,
            sel::M_ONE_INT => u32::MAX,
            sel::HALF => 0.5f32.to_bits(),
            sel::LITERAL => g.literals.get(c).copied().ok_or_else(|| self.fault(at, "no such literal"))?,
            sel::PV => l.pv[c],
            sel::PS => l.ps,
            sel::CFILE.. => {
                let n = (s.sel - sel::CFILE) as i32 + if s.rel { l.ar[mode as usize & 3] } else { 0 };
                let file = self.buffers.get(REGISTER_FILE as usize);
                usize::try_from(n).ok().and_then(|n| file?.get(n * 4 + c)).copied().unwrap_or(0)
            }
            other => return Err(self.fault(at, format!("source select {other} is not modelled"))),
        };
        let raw = if s.abs { raw & 0x7fff_ffff } else { raw };
        Ok(if s.neg { raw ^ 0x8000_0000 } else { raw })
    }

    fn group(&mut self, at: u32, g: &Group, sets: &[(usize, u64, usize); 2]) -> Result<(), SimError> {
        let units = g.units().ok_or_else(|| self.fault(at, "two operations need one unit"))?;
        for lane in 0..self.lanes.len() {
            if !self.active(lane) {
                continue;
            }
            let mut operands = Vec::with_capacity(5);
            for s in &g.slots {
                let mut v = [0u32; 3];
                for (k, x) in s.sources().iter().enumerate() {
                    v[k] = self.source(lane, at, x, s.index_mode, g, sets)?;
                }
                operands.push(v);
            }
            let mut results: Vec<(usize, u32)> = Vec::with_capacity(5);
            let mut reduced: Option<[u32; 4]> = None;
            if let Some(first) = g.slots.iter().find(|s| s.alu().unit == Unit::Reduce) {
                let (mut a, mut b) = ([0u32; 4], [0u32; 4]);
                for (k, s) in g.slots.iter().enumerate().filter(|(_, s)| s.alu().unit == Unit::Reduce) {
                    a[s.chan as usize & 3] = operands[k][0];
                    b[s.chan as usize & 3] = operands[k][1];
                }
                reduced = Some(match first.alu().op {
                    Op::DOT4 => [numerics::dot4(&a, &b, numerics::mul_dx9); 4],
                    Op::DOT4_IEEE => [numerics::dot4(&a, &b, numerics::mul_ieee); 4],
                    Op::CUBE => numerics::cube([a[2], b[0], a[0]]),
                    _ => return Err(self.fault(at, format!("{} is not modelled", first.info().short))),
                });
            }
            let l = &mut self.lanes[lane];
            let pred = l.pred;
            for (k, s) in g.slots.iter().enumerate() {
                let run = match s.pred_sel {
                    2 => !pred,
                    3 => pred,
                    _ => true,
                };
                let info = s.alu();
                let value = if let (Some(r), Unit::Reduce) = (reduced, info.unit) {
                    numerics::output(r[s.chan as usize & 3], s.omod, s.clamp)
                } else {
                    let Some(o) = numerics::alu(info.op, operands[k]) else {
                        return Err(SimError::Fault { at: at * 8, message: format!("{} is not modelled", s.info().short) });
                    };
                    match (info.effect, o.test) {
                        (Effect::Index, _) if run => l.ar[s.chan as usize & 3] = o.value as i32,
                        (Effect::Kill, Some(t)) if run => l.killed |= t,
                        (Effect::Predicate, Some(t)) if run => {
                            let t = t ^ self.turning.turns(self.first + lane as u32, at * 8);
                            if s.update_pred {
                                l.pred = t;
                            }
                            if s.update_exec && !t {
                                self.state[lane] = State::Branch;
                            }
                        }
                        _ => {}
                    }
                    if info.result == Number::Float { numerics::output(o.value, s.omod, s.clamp) } else { o.value }
                };
                results.push((k, value));
            }
            let l = &mut self.lanes[lane];
            for (k, value) in results {
                let s: &Alu = &g.slots[k];
                let run = match s.pred_sel {
                    2 => !pred,
                    3 => pred,
                    _ => true,
                };
                if units[k] == 4 {
                    l.ps = value;
                } else if reduced.is_some() && s.alu().unit == Unit::Reduce && s.alu().op != Op::CUBE {
                    l.pv = [value, 0xffff_dead, 0xffff_dead, 0xffff_dead];
                } else {
                    l.pv[units[k] as usize] = value;
                }
                if s.writes() && run {
                    let base = s.dst as i32 + if s.dst_rel { l.ar[s.index_mode as usize & 3] } else { 0 };
                    if (0..128).contains(&base) {
                        l.gpr[base as usize][s.chan as usize & 3] = value;
                    }
                }
            }
        }
        Ok(())
    }
}
