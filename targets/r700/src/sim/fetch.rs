//! Fetch clauses: textures, buffers, the fetch shader.

use super::Machine;
use crate::abi::{FETCH_RESOURCE, MAX_BUFFERS, Role, STORAGE_RESOURCE, VERTEX_RESOURCE};
use crate::isa::forms::{Format, cf, field, tex};
use crate::isa::program::{Clause, Program};
use crate::isa::word::{DST_SEL, SRC_SEL, Word};
use crate::legal::numerics::{self, NUMERICS};
use cranelift_entity::EntityRef;
use retroshade_ir::texture::{self, TexArgs, TexQuery};
use retroshade_ir::{Scalar, Stage, TexDim, TexLod, TexOp, Texture};
use retroshade_lower::SimError;

impl Machine<'_> {
    /// Runs the fetch shader.
    pub(super) fn call_fetch(&mut self) -> Result<(), SimError> {
        let Some(program) = self.fetch else { return Ok(()) };
        for (at, w) in program.cf.iter().enumerate() {
            match w.form() {
                cf::VTX | cf::VTX_TC => self.fetch_clause(program, w.get(field!(ADDR)) as u32)?,
                cf::RETURN => return Ok(()),
                _ => return Err(self.fault(at as u32, format!("{} in a fetch shader is not modelled", w.name()))),
            }
        }
        Ok(())
    }

    pub(super) fn fetch_clause(&mut self, program: &Program, addr: u32) -> Result<(), SimError> {
        let own_window = !std::ptr::eq(program, self.program);
        let Some(Clause::Fetch(list)) = program.clauses.get(&addr) else { return Err(self.fault(addr, "no fetch clause here")) };
        for (at, w) in list {
            let (src, dst) = (w.get(field!(SRC_GPR)) as usize & 127, w.get(field!(DST_GPR)) as usize & 127);
            let mut results: Vec<Option<[u32; 4]>> = vec![None; self.lanes.len()];
            match w.info().format {
                Format::Tex => self.texture(*at, w, src, &mut results)?,
                Format::VtxGpr => {
                    for lane in 0..self.lanes.len() {
                        if self.active(lane) {
                            results[lane] = Some(self.buffer(
                                *at,
                                w,
                                lane,
                                own_window,
                                self.lanes[lane].gpr[src][w.get(field!(SRC_SEL_X)) as usize & 3],
                            )?);
                        }
                    }
                }
                Format::MemRd => self.scratch_read(*at, w, &mut results)?,
                _ => return Err(self.fault(*at, "semantic fetches are not modelled")),
            }
            for (lane, r) in results.into_iter().enumerate() {
                let Some(r) = r else { continue };
                let old = &mut self.lanes[lane].gpr[dst];
                for (c, name) in DST_SEL.into_iter().enumerate() {
                    match w.get(name) {
                        s @ 0..=3 => old[c] = r[s as usize],
                        4 => old[c] = 0,
                        5 => old[c] = 1.0f32.to_bits(),
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn buffer(&self, at: u32, w: &Word, lane: usize, own_window: bool, index: u32) -> Result<[u32; 4], SimError> {
        let id = w.get(field!(BUFFER_ID));
        let n = match w.get(field!(DATA_FORMAT)) {
            13 | 14 => 1,
            29 | 30 => 2,
            47 | 48 => 3,
            34 | 35 => 4,
            _ => return Err(self.fault(at, "this data format is not modelled")),
        };
        let first = if own_window { FETCH_RESOURCE } else { VERTEX_RESOURCE };
        if own_window || self.abi.role == Role::OwnFetches && id >= VERTEX_RESOURCE {
            let Some(buffer) = id.checked_sub(first).and_then(|k| self.attributes.get(k as usize)) else {
                return Err(self.fault(at, "no such vertex buffer"));
            };
            let element = buffer.get(&index).map_or(&[][..], |e| e);
            return Ok(std::array::from_fn(|c| if c < n { element.get(c).copied().unwrap_or(0) } else { 0 }));
        }
        let buffers = self.abi.buffer_resource();
        let (words, stride): (&[u32], u64) = if id == self.abi.ring_resource() && self.module.stage == Stage::Geometry {
            (&self.lanes[lane].ring, 4)
        } else if (buffers..buffers + MAX_BUFFERS as u64).contains(&id) {
            (self.buffers.get((id - buffers) as usize).map_or(&[], |v| v), 16)
        } else if id >= STORAGE_RESOURCE {
            (self.env.storage.get((id - STORAGE_RESOURCE) as usize).map_or(&[], |v| v), 4)
        } else {
            return Err(self.fault(at, "no such buffer resource"));
        };
        let start = (index as u64 * stride + w.get(field!(OFFSET))) / 4;
        Ok(std::array::from_fn(|c| if c < n { words.get((start as usize).saturating_add(c)).copied().unwrap_or(0) } else { 0 }))
    }

    fn coordinates(&self, lane: usize, w: &Word, src: usize) -> [u32; 4] {
        SRC_SEL.map(|f| match w.get(f) {
            s @ 0..=3 => self.lanes[lane].gpr[src][s as usize],
            5 => 1.0f32.to_bits(),
            _ => 0,
        })
    }

    fn texture(&mut self, at: u32, w: &Word, src: usize, results: &mut [Option<[u32; 4]>]) -> Result<(), SimError> {
        let active: Vec<usize> = (0..self.lanes.len()).filter(|l| self.active(*l)).collect();
        // A quad's lane that does not run counts as having the reader's own values.
        let neighbour = |me: &Self, lane: usize, k: usize| {
            let n = lane & !3 | k;
            if n < me.lanes.len() && me.active(n) { n } else { lane }
        };
        match w.form() {
            form @ (tex::SET_GRADIENTS_H | tex::SET_GRADIENTS_V) => {
                for lane in active {
                    let c = self.coordinates(lane, w, src);
                    self.lanes[lane].gradients[(form == tex::SET_GRADIENTS_V) as usize] = c;
                }
                return Ok(());
            }
            tex::SET_CUBEMAP_INDEX => {
                for lane in active {
                    let c = self.coordinates(lane, w, src);
                    self.lanes[lane].layer = f32::from_bits(c[0]) as i32 as u32;
                }
                return Ok(());
            }
            form @ (tex::GET_GRADIENTS_H | tex::GET_GRADIENTS_V) => {
                let vertical = form == tex::GET_GRADIENTS_V;
                for lane in active {
                    let quad: [[u32; 4]; 4] = std::array::from_fn(|k| self.coordinates(neighbour(self, lane, k), w, src));
                    results[lane] = Some(std::array::from_fn(|c| {
                        texture::derivative(&NUMERICS, Scalar::F32, [quad[0][c], quad[1][c], quad[2][c], quad[3][c]], lane & 3, vertical)
                    }));
                }
                return Ok(());
            }
            _ => {}
        }
        let number = w.get(field!(RESOURCE_ID)) as u32;
        let Some(unit) = self.abi.units.iter().position(|u| *u == number).filter(|n| *n < self.env.textures.len()) else {
            return Err(self.fault(at, "no such texture resource"));
        };
        let decl = &self.module.textures[Texture::new(unit)];
        let tex = &self.env.textures[unit];
        let dims = match decl.dim {
            TexDim::D1 => 1,
            TexDim::D2 => 2,
            _ => 3,
        };
        let (op, lod, compare) = match w.form() {
            tex::LD => (TexOp::Fetch, TexLod::Level, false),
            tex::GET_TEXTURE_RESINFO => (TexOp::Size, TexLod::Level, false),
            tex::GET_LOD => (TexOp::Lod, TexLod::Implicit, false),
            tex::FETCH4 => (TexOp::Gather, TexLod::Implicit, false),
            tex::SAMPLE => (TexOp::Sample, TexLod::Implicit, false),
            tex::SAMPLE_L => (TexOp::Sample, TexLod::Level, false),
            tex::SAMPLE_LB => (TexOp::Sample, TexLod::Bias, false),
            tex::SAMPLE_LZ => (TexOp::Sample, TexLod::Zero, false),
            tex::SAMPLE_G => (TexOp::Sample, TexLod::Grad, false),
            tex::SAMPLE_C => (TexOp::Sample, TexLod::Implicit, true),
            tex::SAMPLE_C_L => (TexOp::Sample, TexLod::Level, true),
            tex::SAMPLE_C_LB => (TexOp::Sample, TexLod::Bias, true),
            tex::SAMPLE_C_LZ => (TexOp::Sample, TexLod::Zero, true),
            tex::SAMPLE_C_G => (TexOp::Sample, TexLod::Grad, true),
            _ => return Err(self.fault(at, format!("{} is not modelled", w.name()))),
        };
        let offset = [field!(OFFSET_X), field!(OFFSET_Y), field!(OFFSET_Z)].map(|f| ((w.get(f) as i8) << 3) >> 4);
        // LD takes none.
        let offset = if op == TexOp::Fetch { [0; 3] } else { offset };
        let query = TexQuery { op, lod, compare, integer: decl.kind == Scalar::I32, offset, component: 0 };
        let args: Vec<TexArgs> = (0..self.lanes.len())
            .map(|lane| {
                let c = self.coordinates(lane, w, src);
                let mut a = TexArgs { grad: self.lanes[lane].gradients.map(|g| [g[0], g[1], g[2]]), ..TexArgs::default() };
                a.coord[..dims].copy_from_slice(&c[..dims]);
                if decl.dim == TexDim::Cube {
                    a.coord = numerics::cube_direction([c[0], c[1], c[2]]);
                }
                if decl.arrayed && decl.dim == TexDim::Cube {
                    a.layer = self.lanes[lane].layer;
                } else if decl.arrayed && dims < 4 {
                    a.layer = if op == TexOp::Fetch { c[dims] } else { f32::from_bits(c[dims.min(3)]) as i32 as u32 };
                }
                a.lod = if op == TexOp::Size { c[0] } else { c[3] };
                if decl.multisampled && op == TexOp::Fetch {
                    // The interpreter's images have a layer for each sample.
                    (a.layer, a.lod) = (c[3], 0);
                }
                if lod == TexLod::Bias {
                    // The field is a number of sixteenths with a sign, in seven bits.
                    let constant = f32::from(((w.get(field!(LOD_BIAS)) << 1) as i8) >> 1) / 16.0;
                    a.lod = if constant == 0.0 { c[3] } else { (f32::from_bits(c[3]) + constant).to_bits() };
                }
                if compare {
                    let moved = matches!(lod, TexLod::Level | TexLod::Bias);
                    a.reference = if moved { c[2] } else { c[3] };
                }
                a
            })
            .collect();
        for lane in active {
            let asks = matches!(lod, TexLod::Implicit | TexLod::Bias) && matches!(op, TexOp::Sample | TexOp::Lod);
            let implicit = if asks && self.module.stage == Stage::Fragment {
                let coords = std::array::from_fn(|k| args[neighbour(self, lane, k)].coord);
                texture::quad_lod(tex, &coords)
            } else {
                0.0
            };
            let mut r = texture::sample_lane(tex, &query, &args[lane], implicit);
            if op == TexOp::Size {
                r[3] = tex.levels;
            }
            if op == TexOp::Gather {
                r = numerics::FETCH4.map(|lane| r[lane]);
            }
            results[lane] = Some(r);
        }
        Ok(())
    }
}
