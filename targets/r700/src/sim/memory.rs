//! Exports, the rings of geometry programs, scratch memory.

use super::Machine;
use crate::isa::forms::field;
use crate::isa::word::{EXPORT_SEL, Word};
use retroshade_lower::SimError;

impl Machine<'_> {
    pub(super) fn scratch_write(&mut self, w: &Word) {
        for lane in 0..self.lanes.len() {
            if !self.active(lane) {
                continue;
            }
            self.unacknowledged = true;
            let l = &mut self.lanes[lane];
            let index = if w.get(field!(TYPE)) & 1 == 1 { l.gpr[w.get(field!(INDEX_GPR)) as usize & 127][0] as u64 } else { 0 };
            for k in 0..=w.get(field!(BURST_COUNT)) {
                let value = l.gpr[(w.get(field!(RW_GPR)) + k) as usize & 127];
                let element = l.scratch.entry(w.get(field!(ARRAY_BASE)) + index + k).or_insert([0xdead_beef; 4]);
                for c in 0..4 {
                    if w.get(field!(COMP_MASK)) >> c & 1 == 1 {
                        element[c] = value[c];
                    }
                }
            }
        }
    }

    pub(super) fn scratch_read(&mut self, at: u32, w: &Word, results: &mut [Option<[u32; 4]>]) -> Result<(), SimError> {
        if w.get(field!(MEM_OP)) != 0
            || w.get(field!(ELEM_SIZE)) != 3
            || w.get(field!(DATA_FORMAT)) != 34
            || w.get(field!(BURST_COUNT)) != 0
        {
            return Err(self.fault(at, "this memory read is not modelled"));
        }
        if self.unacknowledged {
            return Err(self.fault(at, "scratch memory is read before its writes are acknowledged"));
        }
        for lane in 0..self.lanes.len() {
            if self.active(lane) {
                let l = &self.lanes[lane];
                let index = if w.get(field!(INDEXED)) == 1 {
                    l.gpr[w.get(field!(SRC_GPR)) as usize & 127][w.get(field!(SRC_SEL_X)) as usize & 3]
                } else {
                    0
                };
                let element = w.get(field!(ARRAY_BASE)) + index as u64;
                results[lane] = Some(l.scratch.get(&element).copied().unwrap_or([0xdead_beef; 4]));
            }
        }
        Ok(())
    }

    pub(super) fn ring_write(&mut self, w: &Word) {
        for lane in 0..self.lanes.len() {
            if !self.active(lane) {
                continue;
            }
            let l = &mut self.lanes[lane];
            let index = if w.get(field!(TYPE)) & 1 == 1 { l.gpr[w.get(field!(INDEX_GPR)) as usize & 127][0] as u64 * 4 } else { 0 };
            for c in 0..4u64 {
                if w.get(field!(COMP_MASK)) >> c & 1 == 1 {
                    l.written.insert(w.get(field!(ARRAY_BASE)) + index + c, l.gpr[w.get(field!(RW_GPR)) as usize & 127][c as usize]);
                }
            }
        }
    }

    /// The next vertex of the output ring joins the open strip, as the copy program would export it.
    pub(super) fn emit_vertex(&mut self) {
        let slots = self.abi.ring_slots(self.module);
        let most = self.module.geometry.map_or(0, |g| g.max_vertices);
        for lane in 0..self.lanes.len() {
            if !self.active(lane) || self.lanes[lane].emitted >= most {
                continue;
            }
            let l = &mut self.lanes[lane];
            let start = l.emitted as u64 * slots.len() as u64 * 4;
            l.emitted += 1;
            let mut vertex = Vec::new();
            for (k, d) in self.module.outputs.values().enumerate() {
                let mut words = Vec::new();
                for e in 0..d.count {
                    let (kind, base, chan) = self.abi.output(self.module, k, e);
                    let slot = slots.iter().position(|s| *s == (kind, base)).map(|s| start + s as u64 * 4);
                    let value = |c: u64| l.written.get(&(slot? + ((chan as u64 + c) & 3))).copied();
                    words.extend((0..d.ty.lanes as u64).map(|c| value(c).unwrap_or(0)));
                }
                vertex.push(words);
            }
            l.strip.push(vertex);
        }
    }

    pub(super) fn export(&mut self, w: &Word) {
        for k in 0..=w.get(field!(BURST_COUNT)) {
            for lane in 0..self.lanes.len() {
                if !self.active(lane) {
                    continue;
                }
                let l = &mut self.lanes[lane];
                let r = l.gpr[(w.get(field!(RW_GPR)) + k) as usize & 127];
                let slot = l.exports.entry((w.get(field!(TYPE)) as u8, (w.get(field!(ARRAY_BASE)) + k) as u16)).or_insert([0; 4]);
                for (c, name) in EXPORT_SEL.into_iter().enumerate() {
                    match w.get(name) {
                        s @ 0..=3 => slot[c] = r[s as usize],
                        4 => slot[c] = 0,
                        5 => slot[c] = 1.0f32.to_bits(),
                        _ => {}
                    }
                }
            }
        }
    }
}
