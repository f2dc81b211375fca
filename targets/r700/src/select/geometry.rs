//! Geometry programs: vertices come from the ES-GS ring by fetches and go to the GS-VS ring by memory exports.

use super::{Lower, fetch};
use crate::isa::forms::{cf, exp_buf, op2, op3};
use crate::select::mir::*;
use retroshade_ir::{InstData, Stage, Value};

/// Where the ring offsets of a primitive's vertices arrive: register and channel.
pub const VERTEX_OFFSETS: [(u8, u8); 6] = [(0, 0), (0, 1), (0, 3), (1, 0), (1, 1), (1, 2)];

impl Lower<'_> {
    /// The web of the ring position, in 16-byte units from where this primitive's vertices begin. An index stands in X.
    pub(super) fn start_ring(&mut self) {
        if self.module.stage == Stage::Geometry {
            let w = self.mir.web();
            self.mir.webs[w.0 as usize].chan = Some(0);
            self.emit_to(op2::MOV, &[Opnd::bits(0)], w);
            self.ring = Some(w);
        }
    }

    /// A lane range of one vertex of the primitive, from the ring.
    pub(super) fn ring_input(&mut self, d: &InstData, slot: u32, offset: u32, count: u32) {
        let vertex = |l: &mut Self, v: u32| {
            let (gpr, chan) = VERTEX_OFFSETS[v.min(5) as usize];
            Opnd::web(l.input_web(gpr, chan))
        };
        let at = match d.args.first() {
            None => vertex(self, offset),
            Some(index) => {
                let index = self.lane(*index, 0);
                let last = count.saturating_sub(1).saturating_sub(offset);
                let mut o = vertex(self, offset + last);
                for v in (0..last).rev() {
                    let t = self.emit(op2::SUB_INT, &[index, Opnd::bits(v)]);
                    let x = vertex(self, offset + v);
                    o = self.emit(op3::CNDE_INT, &[t, x, o]);
                }
                o
            }
        };
        let r = d.results[0];
        let lanes = self.func.ty(r).lanes;
        fetch::buffer(self, r, at, fetch::from_ring(self.abi, slot * 16, lanes), 0);
    }

    /// Writes the current outputs to the ring as a vertex, then tells the hardware.
    pub(super) fn emit_vertex(&mut self, _: &InstData) {
        let slots = self.abi.ring_slots(self.module);
        for (n, (kind, base)) in slots.iter().enumerate() {
            let own: Vec<(u8, Web)> =
                self.outputs.iter().filter(|((k, b, _), _)| (k, b) == (kind, base)).map(|((_, _, c), w)| (*c & 3, *w)).collect();
            let own = self.as_fetched(&own).unwrap_or(own);
            let (mut src, mut quad) = ([None; 4], None);
            for (c, w) in own {
                src[c as usize] = Some(w);
                quad = self.mir.webs[w.0 as usize].quad;
            }
            let write = Write { form: exp_buf::MEM_RING, kind: 1, base: n as u16 * 4, src, quad, index: self.ring };
            self.push(Op::other(Kind::Write(Box::new(write))));
        }
        self.push(Op::other(Kind::Control(cf::EMIT_VERTEX)));
        self.end_piece();
        if let Some(w) = self.ring {
            self.emit_to(op2::ADD_INT, &[Opnd::web(w), Opnd::bits(slots.len() as u32)], w);
        }
    }

    /// The register that holds an output's lanes already, each in its channel: a vertex of the primitive that goes on as it came.
    fn as_fetched(&self, own: &[(u8, Web)]) -> Option<Vec<(u8, Web)>> {
        let web = |w: &Web| self.held.get(w).filter(|o| !o.modified()).and_then(Opnd::as_web);
        let found: Vec<(u8, Web)> = own.iter().map(|(c, w)| Some((*c, web(w)?))).collect::<Option<_>>()?;
        let info = |w: &Web| &self.mir.webs[w.0 as usize];
        let quad = info(&found.first()?.1).quad?;
        found.iter().all(|(c, w)| info(w).quad == Some(quad) && info(w).chan == Some(*c)).then_some(found)
    }

    /// Ends the strip.
    pub(super) fn end_primitive(&mut self, _: &InstData) {
        self.push(Op::other(Kind::Control(cf::CUT_VERTEX)));
        self.end_piece();
    }

    /// An element of an input array by a computed index: a chain of selects over the registers.
    pub(super) fn chosen_input(&mut self, index: Value, gpr: u8, chan: u8, count: u32) -> Opnd {
        let index = self.lane(index, 0);
        let mut o = Opnd::web(self.input_web(gpr + count.saturating_sub(1) as u8, chan));
        for e in (0..count.saturating_sub(1)).rev() {
            let t = self.emit(op2::SUB_INT, &[index, Opnd::bits(e)]);
            let x = Opnd::web(self.input_web(gpr + e as u8, chan));
            o = self.emit(op3::CNDE_INT, &[t, x, o]);
        }
        o
    }
}
