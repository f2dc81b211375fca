//! Outputs, exports, and the tuples of values that one register must hold.

use super::Lower;
use super::geometry::Ring;
use crate::abi::{DEPTH_TARGET, MISC_TARGET, NOWHERE, Role};
use crate::isa::forms::{exp_buf, op2, op3};
use crate::select::mir::*;
use cranelift_entity::EntityRef;
use retroshade_ir::{Imm, InstData, MemRef, Opcode, Scalar, Stage};
use smallvec::SmallVec;

impl Lower<'_> {
    pub(super) fn declare_outputs(&mut self) {
        let mut places: Vec<(u8, u16, u8)> = Vec::new();
        for (k, d) in self.module.outputs.values().enumerate() {
            for e in 0..d.count {
                let (kind, base, chan) = self.abi.output(self.module, k, e);
                places.extend((0..d.ty.lanes).map(|l| (kind, base, chan + l)));
            }
        }
        places.retain(|p| p.0 != NOWHERE);
        places.sort_unstable();
        places.dedup();
        for (_, i) in self.func.ordered() {
            let d = self.data(i);
            if let (Opcode::Output, Imm::Mem { var: MemRef::Output(n), offset }) = (d.op, &d.imm) {
                let dynamic = d.args.len() > 1;
                let last = if dynamic { self.module.outputs[*n].count } else { *offset + 1 };
                for e in *offset..last {
                    let (kind, base, chan) = self.abi.output(self.module, n.index(), e);
                    for l in 0..self.func.ty(d.args[0]).lanes {
                        *self.stores.entry((kind, base, chan + l)).or_default() += 1 + dynamic as u32;
                    }
                }
            }
        }
        // A lane that is never stored is masked wherever its output goes.
        places.retain(|p| self.stores.contains_key(p));
        for p in places {
            let w = self.mir.web();
            self.outputs.push((p, w));
        }
        if self.module.stage == Stage::Geometry {
            self.vertex_quads();
        }
    }

    /// The outputs of a geometry program live where the ring takes them from, so that vertices share what does not change.
    fn vertex_quads(&mut self) {
        for slot in self.abi.ring_slots(self.module) {
            let own = self.outputs.iter().filter(|((k, b, _), _)| (*k, *b) == slot).map(|((_, _, c), w)| (*c, *w));
            let own: Vec<(u8, Web)> = own.collect();
            self.in_slot(&own);
        }
    }

    pub(super) fn output(&mut self, d: &InstData) {
        let Imm::Mem { var: MemRef::Output(n), offset } = d.imm else { return };
        if let Some(index) = d.args.get(1).copied() {
            // Every element takes the value where the index names it.
            let at = self.lane(index, 0);
            let at = self.plain(at);
            for e in offset..self.module.outputs[n].count {
                let here = self.emit(op2::SETE_INT, &[at, Opnd::bits(e - offset)]);
                let (kind, base, chan) = self.abi.output(self.module, n.index(), e);
                for lane in 0..self.func.ty(d.args[0]).lanes {
                    let o = self.lane(d.args[0], lane);
                    if let Some((_, w)) = self.outputs.iter().find(|(p, _)| *p == (kind, base, chan + lane)) {
                        let w = *w;
                        self.held.remove(&w);
                        self.emit_to(op3::CNDE_INT, &[here, Opnd::web(w), o], w);
                    }
                }
            }
            return;
        }
        let (kind, base, chan) = self.abi.output(self.module, n.index(), offset);
        if kind == NOWHERE {
            return;
        }
        let ty = self.func.ty(d.args[0]);
        for lane in 0..ty.lanes {
            let o = self.lane(d.args[0], lane);
            let o = if ty.scalar == Scalar::I1 { self.emit(op2::AND_INT, &[o, Opnd::bits(1)]) } else { o };
            let place = (kind, base, chan + lane);
            if self.depth == 0 && self.ring.is_none() && self.stores.get(&place) == Some(&1) {
                self.finals.insert(place, o);
                continue;
            }
            if let Some((_, w)) = self.outputs.iter().find(|(p, _)| *p == place) {
                let w = *w;
                // Vertices after the first often repeat what they share.
                let moves = match self.ring {
                    None => true,
                    Some(Ring::Counted(_)) => self.held.insert(w, o) != Some(o),
                    Some(Ring::Behind(_)) => {
                        self.held.insert(w, o);
                        false
                    }
                };
                if moves {
                    self.emit_to(op2::MOV, &[o], w);
                }
            }
        }
    }

    /// The exports at the end: one per target, plus the ones that the stage demands.
    pub(super) fn exports(&mut self) {
        if self.ring.is_some() {
            return;
        }
        if self.abi.role == Role::ExportStage {
            return self.export_to_ring();
        }
        let mut targets = self.abi.ring_slots(self.module);
        let must: &[(u8, u16)] = if self.module.stage == Stage::Fragment { &[(0, 0)] } else { &[(1, 60), (2, 0)] };
        for m in must {
            if !targets.iter().any(|t| t.0 == m.0) {
                targets.push(*m);
            }
        }
        if self.module.stage == Stage::Fragment {
            // Colours are counted, so targets without an output are exported with every channel masked.
            let colours = targets.iter().filter(|t| t.1 < 8).map(|t| t.1 + 1).max().unwrap_or(0);
            let missing: Vec<(u8, u16)> = (0..colours).map(|t| (0, t)).filter(|t| !targets.contains(t)).collect();
            targets.extend(missing);
        }
        targets.sort_unstable_by_key(|t| (t.0 != 1, *t));
        let lanes: Vec<Vec<(usize, Opnd)>> = targets
            .iter()
            .map(|t| {
                let own = self.outputs.iter().filter(|((k, b, _), _)| (*k, *b) == *t);
                own.map(|((k, b, c), w)| (*c as usize & 3, self.finals.get(&(*k, *b, *c)).copied().unwrap_or(Opnd::web(*w)))).collect()
            })
            .collect();
        // Emulators want depth in its own channel, and no constants where a target is of integers.
        let apart: Vec<bool> =
            targets.iter().map(|t| self.abi.emulators && t.0 == 0 && (t.1 == DEPTH_TARGET || self.is_of_integers(*t))).collect();
        let shared: Vec<_> = lanes.iter().zip(&apart).filter(|(_, apart)| !**apart).map(|(l, _)| l.clone()).collect();
        self.share(&shared);
        for (((kind, base), lanes), apart) in targets.into_iter().zip(lanes).zip(apart) {
            let mut src = [Coord::Masked; 4];
            if self.abi.emulators && (kind, base) == (1, MISC_TARGET) {
                src = [Coord::Zero; 4];
            }
            let operands: Vec<Opnd> = lanes.iter().map(|l| l.1).collect();
            let (coords, quad) = if apart {
                let webs: Vec<Web> = lanes.iter().map(|(c, o)| self.in_channel(*c as u8, *o)).collect();
                (webs.iter().map(|w| Coord::Web(*w)).collect(), self.quad(webs))
            } else {
                self.tuple(&operands)
            };
            if kind == PARAMETER {
                // What is declared and never written is 0; lanes that nothing declares may hold anything.
                self.declared((kind, base)).for_each(|c| src[c as usize & 3] = Coord::Zero);
            }
            for ((c, _), x) in lanes.iter().zip(coords) {
                src[*c] = x;
            }
            self.push(Op::other(Kind::Export(Box::new(Export { kind, base, src, quad }))));
        }
    }

    /// A copy in a channel.
    fn in_channel(&mut self, c: u8, o: Opnd) -> Web {
        let w = self.mir.web();
        self.mir.webs[w.0 as usize].chan = Some(c);
        self.emit_to(op2::MOV, &[o], w);
        w
    }

    /// Whether an output of integers goes to a target.
    fn is_of_integers(&self, target: (u8, u16)) -> bool {
        let all = self.module.outputs.values().enumerate().filter(|(_, d)| d.ty.scalar == Scalar::I32);
        let mut places = all.flat_map(|(k, d)| (0..d.count).map(move |e| (k, e)));
        places.any(|(k, e)| {
            let (kind, base, _) = self.abi.output(self.module, k, e);
            (kind, base) == target
        })
    }

    /// The channels of a target that outputs are declared for.
    fn declared(&self, target: (u8, u16)) -> impl Iterator<Item = u8> {
        let all = self.module.outputs.values().enumerate().flat_map(|(k, d)| (0..d.count).map(move |e| (k, d.ty.lanes, e)));
        let places = all.map(|(k, lanes, e)| (self.abi.output(self.module, k, e), lanes));
        let here: Vec<u8> = places.filter(|((k, b, _), _)| (*k, *b) == target).flat_map(|((_, _, c), n)| c..c + n).collect();
        here.into_iter()
    }

    /// The outputs of an export stage: a vertex of the ES-GS ring.
    fn export_to_ring(&mut self) {
        for ((kind, base), slot) in self.abi.export_slots(self.module) {
            let (mut src, mut members) = ([None; 4], Vec::new());
            let own: Vec<(u8, Opnd)> = self
                .outputs
                .iter()
                .filter(|((k, b, _), _)| (*k, *b) == (kind, base))
                .map(|((k, b, c), w)| (*c & 3, self.finals.get(&(*k, *b, *c)).copied().unwrap_or(Opnd::web(*w))))
                .collect();
            for (c, o) in own {
                let w = self.in_channel(c, o);
                src[c as usize] = Some(w);
                members.push(w);
            }
            let quad = self.quad(members);
            let write = Write { form: exp_buf::MEM_RING, kind: 0, base: slot as u16 * 4, src, quad, index: None };
            self.push(Op::other(Kind::Write(Box::new(write))));
        }
    }

    /// Puts what several exports name into one register for all of them, where four channels suffice.
    pub(super) fn share(&mut self, exports: &[Vec<(usize, Opnd)>]) {
        let mut sets: Vec<Vec<Opnd>> = Vec::new();
        for lanes in exports {
            let mut own: Vec<Opnd> = Vec::new();
            for (_, o) in lanes {
                if constant_coord(o).is_none() && !own.contains(o) {
                    own.push(*o);
                }
            }
            // Values that stand in registers already would have to move there.
            let placed = |o: &Opnd| o.as_web().is_some_and(|w| self.mir.webs[w.0 as usize].quad.is_some());
            let joins = sets.iter().position(|s| {
                let new = own.iter().filter(|o| !s.contains(o)).count();
                let inside = new == 0 || s.iter().all(|o| own.contains(o));
                new < own.len() && s.len() + new <= 4 && (inside || !s.iter().chain(&own).any(placed))
            });
            match joins {
                Some(k) => {
                    let new: Vec<Opnd> = own.into_iter().filter(|o| !sets[k].contains(o)).collect();
                    sets[k].extend(new);
                }
                None => sets.push(own),
            }
        }
        for s in sets {
            self.tuple(&s);
        }
    }

    /// A quad of webs; `None` if there are none.
    pub fn quad(&mut self, members: Vec<Web>) -> Option<Quad> {
        if members.is_empty() {
            return None;
        }
        let q = Quad(self.mir.quads.len() as u32);
        for w in &members {
            self.mir.webs[w.0 as usize].quad = Some(q);
        }
        self.mir.quads.push(members);
        Some(q)
    }

    /// Moves operands into a quad of their own; 0.0 and 1.0 need no register and equal operands share one.
    pub fn tuple(&mut self, src: &[Opnd]) -> (SmallVec<[Coord; 4]>, Option<Quad>) {
        let own: Vec<Opnd> = src.iter().filter(|s| constant_coord(s).is_none()).copied().collect();
        let known = self.tuples.iter().position(|(m, _)| own.iter().all(|o| m.iter().any(|(x, _)| x == o)));
        let (members, quad) = match known.filter(|_| !own.is_empty()) {
            Some(k) => (self.tuples[k].0.clone(), Some(self.tuples[k].1)),
            None => {
                let mut members: Vec<(Opnd, Web)> = Vec::new();
                for s in own {
                    if !members.iter().any(|(o, _)| *o == s) {
                        let w = self.mir.web();
                        self.emit_to(op2::MOV, &[s], w);
                        members.push((s, w));
                    }
                }
                let quad = self.quad(members.iter().map(|m| m.1).collect());
                if let Some(q) = quad {
                    self.tuples.push((members.clone(), q));
                }
                (members, quad)
            }
        };
        let place = |s: &Opnd| match constant_coord(s) {
            Some(c) => c,
            None => members.iter().find(|(o, _)| o == s).map_or(Coord::Zero, |m| Coord::Web(m.1)),
        };
        (src.iter().map(place).collect(), quad)
    }
}

/// The coordinate or export lane that needs no register.
fn constant_coord(o: &Opnd) -> Option<Coord> {
    match o.place {
        Place::Bits(0) => Some(Coord::Zero),
        Place::Bits(0x3f80_0000) => Some(Coord::One),
        _ => None,
    }
}
