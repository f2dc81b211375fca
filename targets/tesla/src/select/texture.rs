//! Selection of texture operations: argument blocks, levels that differ within a quad, level 0 where no argument is left.
//!
//! Arguments and results share a block of registers that begins at a multiple of four. Facts: the ISA description, section 8.

use crate::isa::chip::MOST_ARGUMENTS;
use crate::isa::forms::{LogicOp, Op, QuadLane, QuadOp, field};
use crate::select::Lower;
use crate::select::mir::*;
use retroshade_ir::Value;
use retroshade_ir::analysis::Level;
use retroshade_ir::{Imm, InstData, MemRef, Opcode, Stage, TexLod, TexOp as IrTexOp};
use retroshade_lower::{CompileError, Reg};
use smallvec::SmallVec;

fn internal(what: &str) -> CompileError {
    CompileError::Internal(what.to_string())
}

impl Lower<'_> {
    pub(crate) fn texture(&mut self, d: &InstData) -> Result<(), CompileError> {
        let Imm::Tex(info) = &d.imm else { return Err(internal("texture without details")) };
        let decl = &self.module.textures[info.texture];
        let v = d.results[0];
        let lanes = self.func.ty(v).lanes;
        let mut used = self.used_lanes(v);
        if lanes == 1 {
            used = 1;
        }
        if used == 0 {
            return Ok(());
        }
        let mut args: SmallVec<[Reg; 4]> = SmallVec::new();
        for a in &d.args {
            let n = self.func.ty(*a).lanes;
            for l in 0..n {
                let s = if n == 1 { self.operand(*a)? } else { self.lane(*a, l)? };
                let r = self.in_register(s);
                args.push(r);
            }
        }
        if info.op == IrTexOp::Levels {
            // The unit takes a level all the same.
            let level = self.in_register(Src::Imm(0));
            args.push(level);
        }
        let cubes = decl.dim == retroshade_ir::TexDim::Cube && decl.arrayed;
        if cubes && !self.chip.d3d101 {
            return Err(CompileError::unsupported("T0023", self.span, format!("{} has no arrays of cube textures", self.chip.name)));
        }
        // Arrays of cubes are looked up directly where that leaves room, otherwise by the image that the direction meets.
        let prepared = cubes && info.op == IrTexOp::Sample && args.len() > MOST_ARGUMENTS;
        if prepared {
            self.note("texture.prepare");
            args = self.prepare_cube(info.texture.as_u32() as u8, &args);
        }
        if args.len() > MOST_ARGUMENTS {
            return Err(CompileError::unsupported("T0021", self.span, "a texture operation takes at most four arguments on this machine"));
        }
        let fragment = self.module.stage == Stage::Fragment;
        if info.op == IrTexOp::Sample && info.lod == TexLod::Zero && fragment {
            self.note("texture.zero");
            let coordinates = if prepared { 2 } else { self.func.ty(d.args[0]).lanes as usize };
            return self.level_zero(d, used, &args, coordinates, prepared);
        }
        let op = match (info.op, info.lod) {
            (IrTexOp::Fetch, _) => Op::Texfetch,
            (IrTexOp::Size | IrTexOp::Levels, _) => Op::Texsize,
            (IrTexOp::Gather, _) if self.chip.d3d101 => Op::Texgather,
            (IrTexOp::Gather, _) => {
                return Err(CompileError::unsupported("T0022", self.span, format!("{} cannot gather", self.chip.name)));
            }
            (_, TexLod::Implicit) => Op::Texauto,
            (_, TexLod::Zero) => Op::Texauto,
            (_, TexLod::Bias) => Op::Texbias,
            (_, TexLod::Level) => Op::Texlod,
            _ => return Err(internal("a texture operation that legalisation should have expanded")),
        };
        let cube = decl.dim == retroshade_ir::TexDim::Cube && op != Op::Texfetch && op != Op::Texsize && !prepared;
        let mut results = SmallVec::new();
        let mut mask = 0;
        let component = |l: u8| match info.op {
            // The number of layers stands behind the sizes.
            IrTexOp::Levels => 3,
            _ => l,
        };
        for l in (0..lanes).filter(|l| used >> l & 1 == 1) {
            mask |= 1 << component(l);
            results.push(self.lane_register(v, l));
        }
        let place = self.straight_to_results(v, used);
        if place.is_some() {
            self.note("texture.result");
        }
        let level = d.args.last().filter(|_| matches!(op, Op::Texlod | Op::Texbias));
        let apart = match level {
            Some(l) if self.facts.uniformity.is_divergent(*l) => {
                self.note("texture.apart");
                Some(self.quad_lane())
            }
            _ => None,
        };
        self.note("texture");
        let (base, pinned) = (place.unwrap_or(0), place.is_some());
        let t = TexOp { base, pinned, args, results, mask, unit: info.texture.as_u32() as u8, offset: info.offset, cube, apart };
        let live = fragment && !self.derivatives;
        self.emit(MInst { extra: Extra::Tex(Box::new(t)), ..MInst::new(op, Dst::None, &[]) }.with(field!(live), live));
        Ok(())
    }
    /// Direction and layer in front of further arguments as coordinates in one of the images, and that image's number.
    fn prepare_cube(&mut self, unit: u8, args: &[Reg]) -> SmallVec<[Reg; 4]> {
        let results: SmallVec<[Reg; 4]> = (0..3).map(|_| self.fresh()).collect();
        let (direction, rest) = args.split_at(4);
        let args = direction.into();
        let t = TexOp { base: 0, pinned: false, args, results: results.clone(), mask: 7, unit, offset: [0; 3], cube: true, apart: None };
        self.emit(MInst { extra: Extra::Tex(Box::new(t)), ..MInst::new(Op::Texprep, Dst::None, &[]) });
        results.into_iter().chain(rest.iter().copied()).collect()
    }
    /// A `$c` whose Z and S are the bits of the lane's number in its quad, once per block.
    fn quad_lane(&mut self) -> Reg {
        if let Some(c) = self.here.quad_lane {
            return c;
        }
        let (id, lane, c) = (self.fresh(), self.fresh(), self.fresh_flag());
        self.emit(MInst::new(Op::MovFromSr, Dst::Reg(id), &[]));
        self.emit(MInst::new(Op::Logic, Dst::Reg(lane), &[Src::reg(id), Src::Imm(3)]).with(field!(lop), LogicOp::And));
        self.emit(MInst { cdst: Some(c), ..MInst::new(Op::MovToC, Dst::None, &[Src::reg(lane)]) });
        self.here.quad_lane = Some(c);
        c
    }
    /// Level 0 in a fragment program without an argument for it: for each lane of the quad in turn all four lanes take that
    /// lane's coordinates, so that they do not differ, and the lane keeps what comes back.
    fn level_zero(&mut self, d: &InstData, used: u8, args: &[Reg], coordinates: usize, prepared: bool) -> Result<(), CompileError> {
        let Imm::Tex(info) = &d.imm else { return Err(internal("texture without details")) };
        let cube = self.module.textures[info.texture].dim == retroshade_ir::TexDim::Cube && !prepared;
        if self.facts.uniformity.block_level(self.here.block) == Level::Divergent {
            // What lanes in another arm hold nobody knows, and to wake them would spoil their registers.
            let m = "no argument is left for the level of this texture, so that it is read by whole quads: not where pixels of a quad may go separate ways";
            return Err(CompileError::unsupported("T0024", self.span, m));
        }
        let v = d.results[0];
        let wanted: Vec<u8> = (0..self.func.ty(v).lanes).filter(|l| used >> l & 1 == 1).collect();
        let mut kept: Vec<Option<Reg>> = vec![None; wanted.len()];
        for (lane, from) in [QuadLane::Lane0, QuadLane::Lane1, QuadLane::Lane2, QuadLane::Lane3].into_iter().enumerate() {
            let mut own: SmallVec<[Reg; 4]> = SmallVec::new();
            for (k, a) in args.iter().enumerate() {
                if k >= coordinates {
                    own.push(*a);
                    continue;
                }
                let t = self.fresh();
                self.emit(MInst {
                    extra: Extra::Quad(from, [QuadOp::Add; 4]),
                    ..MInst::new(Op::Quadop, Dst::Reg(t), &[Src::reg(*a), Src::Imm(0)])
                });
                own.push(t);
            }
            let results: SmallVec<[Reg; 4]> = wanted.iter().map(|_| self.fresh()).collect();
            let mask = wanted.iter().fold(0, |m, l| m | 1 << l);
            let unit = info.texture.as_u32() as u8;
            let t =
                TexOp { base: 0, pinned: false, args: own, results: results.clone(), mask, unit, offset: info.offset, cube, apart: None };
            self.emit(MInst { extra: Extra::Tex(Box::new(t)), ..MInst::new(Op::Texauto, Dst::None, &[]) });
            for (k, r) in results.into_iter().enumerate() {
                let Some(before) = kept[k] else {
                    kept[k] = Some(r);
                    continue;
                };
                let to = if from == QuadLane::Lane3 { self.lane_register(v, wanted[k]) } else { self.fresh() };
                self.emit(MInst {
                    tied: Some(before),
                    ..MInst::new(Op::Mov, Dst::Reg(to), &[Src::reg(r)]).with(field!(lanes), 1u64 << lane)
                });
                kept[k] = Some(to);
            }
        }
        Ok(())
    }
    /// The result register of a texel's first lane, if the lanes go to consecutive fragment results and nowhere else.
    fn straight_to_results(&self, v: Value, used: u8) -> Option<u8> {
        if self.module.stage != Stage::Fragment || used & used.wrapping_add(1) != 0 {
            return None;
        }
        let mut base = None;
        for (l, lane) in self.facts.texel_lanes.get(&v).into_iter().flatten() {
            let (u, _) = self.facts.user[*lane]?;
            let b = &self.func.insts[u];
            if b.op != Opcode::Build {
                return None;
            }
            let place = b.args.iter().position(|a| self.func.resolve(*a) == *lane)? as u32;
            let (o, _) = self.facts.user[b.results[0]]?;
            let Imm::Mem { var: MemRef::Output(n), offset } = self.func.insts[o].imm else { return None };
            let word = crate::abi::Word { decl: n.as_u32(), element: offset, lane: place };
            let reg = self.abi.results.iter().find(|r| r.1 == word)?.0 as u8;
            let first = reg.checked_sub(*l)?;
            if *base.get_or_insert(first) != first {
                return None;
            }
        }
        base.filter(|b| b % 4 == 0)
    }
}
