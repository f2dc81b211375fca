//! Geometry programs: vertices come from the ES-GS ring by fetches and go to the GS-VS ring by memory exports.

use super::{Lower, fetch};
use crate::abi::Platform;
use crate::isa::forms::{cf, exp_buf, op2, op3};
use crate::select::mir::*;
use retroshade_ir::{Block, InstData, Opcode, Stage, Value};
use retroshade_lower::structure::Node;

/// Where the ring offsets of a primitive's vertices arrive: register and channel.
pub const VERTEX_OFFSETS: [(u8, u8); 6] = [(0, 0), (0, 1), (0, 3), (1, 0), (1, 1), (1, 2)];

/// Words that the address field of a memory export reaches.
const REACH: usize = 1 << 13;
/// Registers of vertices that one piece of code makes at most: all of them are alive until it ends.
const VERTICES: usize = 16;

/// Where the next vertex goes in the output ring.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ring {
    /// To where a register says, in 16-byte units from where this primitive's vertices begin.
    Counted(Web),
    /// Behind so many others: in a straight line all vertices have their numbers.
    Behind(usize),
}

impl Lower<'_> {
    /// How vertices find their places in the ring.
    pub(super) fn start_ring(&mut self, nodes: &[Node]) {
        if self.module.stage != Stage::Geometry {
            return;
        }
        let blocks: Option<Vec<Block>> = nodes.iter().map(|n| if let Node::Block(b) = n { Some(*b) } else { None }).collect();
        // Emulators know the parts of a vertex by the address in the instruction.
        let straight = blocks.filter(|_| self.abi.platform == Platform::Object && !self.chooses_outputs());
        let insts = straight.iter().flatten().flat_map(|b| &self.func.blocks[*b].insts);
        let vertices = insts.filter(|i| self.data(**i).op == Opcode::EmitVertex).count();
        self.ring = Some(if straight.is_some() && 4 * vertices * self.abi.ring_slots(self.module).len() <= REACH {
            Ring::Behind(0)
        } else {
            let w = self.mir.web();
            // An index stands in X.
            self.mir.webs[w.0 as usize].chan = Some(0);
            self.emit_to(op2::MOV, &[Opnd::bits(0)], w);
            Ring::Counted(w)
        });
    }

    /// Whether an output is written by a computed index.
    fn chooses_outputs(&self) -> bool {
        self.func.ordered().any(|(_, i)| self.data(i).op == Opcode::Output && self.data(i).args.len() > 1)
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
        let (kind, first, index) = match self.ring {
            Some(Ring::Behind(n)) => (0, n * slots.len(), None),
            Some(Ring::Counted(w)) => (1, 0, Some(w)),
            None => return,
        };
        for (n, slot) in slots.iter().enumerate() {
            let all = self.outputs.iter().filter(|((k, b, _), _)| (*k, *b) == *slot).map(|((_, _, c), w)| (*c & 3, *w));
            let all: Vec<(u8, Web)> = all.collect();
            let held: Vec<(u8, Web)> = all.iter().copied().filter(|(_, w)| index.is_some() || self.held.contains_key(w)).collect();
            let own = match (self.as_fetched(&held), index) {
                (Some(fetched), _) => fetched,
                (None, None) => self.settled(all),
                (None, Some(_)) => held,
            };
            let (mut src, mut quad) = ([None; 4], None);
            for (c, w) in own {
                src[c as usize] = Some(w);
                quad = self.mir.webs[w.0 as usize].quad;
            }
            self.in_ring.extend(src.into_iter().flatten());
            let write = Write { form: exp_buf::MEM_RING, kind, base: (first + n) as u16 * 4, src, quad, index };
            self.push(Op::other(Kind::Write(Box::new(write))));
        }
        self.push(Op::other(Kind::Control(cf::EMIT_VERTEX)));
        match self.ring {
            Some(Ring::Behind(n)) => {
                self.ring = Some(Ring::Behind(n + 1));
                if self.in_ring.len() >= 4 * VERTICES {
                    self.end_piece();
                }
            }
            Some(Ring::Counted(w)) => {
                self.end_piece();
                self.emit_to(op2::ADD_INT, &[Opnd::web(w), Opnd::bits(slots.len() as u32)], w);
            }
            None => {}
        }
    }

    /// Moves to a slot's webs what its outputs hold: to others where all lanes change, so that vertices do not wait for each other.
    /// Those that hold nothing yet go along, because they may have to stand beside the others.
    fn settled(&mut self, own: Vec<(u8, Web)>) -> Vec<(u8, Web)> {
        let wanted: Vec<(u8, Web, Opnd)> = own.iter().filter_map(|(c, w)| Some((*c, *w, *self.held.get(w)?))).collect();
        let changed = |l: &Self, w: &Web, o: &Opnd| l.moved_out.get(w) != Some(o);
        let written = wanted.iter().any(|(_, w, o)| changed(self, w, o) && self.in_ring.contains(w));
        if written && !wanted.iter().all(|(_, w, o)| changed(self, w, o)) {
            self.end_piece();
        } else if written {
            let fresh: Vec<(u8, Web)> = own.iter().map(|(c, _)| (*c, self.mir.web())).collect();
            self.in_slot(&fresh);
            for ((_, old), (_, w)) in own.iter().zip(&fresh) {
                if let Some(o) = self.held.remove(old) {
                    self.held.insert(*w, o);
                }
                self.outputs.iter_mut().filter(|(_, x)| x == old).for_each(|(_, x)| *x = *w);
            }
            return self.settled(fresh);
        }
        for (_, w, o) in &wanted {
            if changed(self, w, o) {
                self.emit_to(op2::MOV, &[*o], *w);
                self.moved_out.insert(*w, *o);
            }
        }
        wanted.into_iter().map(|(c, w, _)| (c, w)).collect()
    }

    /// Webs of one slot of the ring live where it takes them from.
    pub(super) fn in_slot(&mut self, own: &[(u8, Web)]) {
        for (c, w) in own {
            self.mir.webs[w.0 as usize].chan = Some(*c & 3);
        }
        self.quad(own.iter().map(|o| o.1).collect());
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
        if matches!(self.ring, Some(Ring::Counted(_))) {
            self.end_piece();
        }
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
