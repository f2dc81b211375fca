//! Texture instructions: operands from a block of registers, results back into it (sheet 8).

use super::control::Warp;
use super::{LANES, Launch, Step, Unit};
use crate::isa::forms::{Op, field};
use retroshade_ir::texture::{TexArgs, TexQuery, cube_images, cube_place, quad_lod, sample_lane};
use retroshade_ir::{Scalar, Stage, TexDim, TexLod, TexOp};
use retroshade_lower::SimError;

impl Warp {
    pub(crate) fn texture(&mut self, s: &Step, on: u32, launch: &mut Launch) -> Result<(), SimError> {
        let number = s.insn.get(field!(tex)) as usize;
        let fault = |message: String| SimError::Fault { at: s.pc, message };
        let unit = launch.textures.get(number).cloned().flatten().ok_or_else(|| fault(format!("texture unit {number} is empty")))?;
        // Without its own mark a lookup takes the images of an array of cubes for an array of two-dimensional textures.
        let images = (unit.dim == TexDim::Cube && looks_up(s.op) && !names_cube(s)).then(|| cube_images(unit.data));
        let unit = match &images {
            Some(data) => Unit { data, dim: TexDim::D2, arrayed: true, ..unit },
            None => unit,
        };
        let (query, wanted) = meaning(s, &unit);
        let given = if s.op == Op::Texsize { 1 } else { s.insn.get(field!(count)) as usize + 1 };
        if given != wanted {
            return Err(fault(format!("texture unit {number} takes {wanted} arguments here, the instruction has {given}")));
        }
        let args: Vec<TexArgs> = (0..LANES).map(|l| arguments(s, &unit, |k| self.lanes[l].read(s.f.dst + k, launch))).collect();
        if matches!(s.op, Op::Texlod | Op::Texbias) {
            // The unit takes one level per quad (sheet 8): which one where they differ is not known.
            for q in (0..LANES).step_by(4) {
                let mut levels = (q..q + 4).filter(|l| on >> l & 1 == 1).map(|l| args[l].lod);
                if let Some(first) = levels.next()
                    && levels.any(|l| l != first)
                {
                    return Err(fault("the level or bias differs within a quad".to_string()));
                }
            }
        }
        let implicit = launch.stage == Stage::Fragment || s.insn.get(field!(deriv)) != 0;
        // Whoever only helps is given no texels by some lookups, and goes on with what the registers hold.
        let live = s.insn.has(field!(live)) && s.insn.get(field!(live)) == 1;
        for l in (0..LANES).filter(|l| on >> l & 1 == 1) {
            if live && self.lanes[l].discarded {
                continue;
            }
            let q = l & !3;
            let lod = match query.lod {
                TexLod::Implicit | TexLod::Bias if implicit => {
                    // Lanes that do not take part count as the reader itself.
                    let coord = [q, q + 1, q + 2, q + 3].map(|n| args[if on >> n & 1 == 1 { n } else { l }].coord);
                    quad_lod(unit.data, &coord)
                }
                _ => 0.0,
            };
            let mut texel = match s.op {
                Op::Texprep => {
                    let (image, x, y) = cube_place(unit.data, args[l].coord, args[l].layer);
                    vec![x.to_bits(), y.to_bits(), image, 0]
                }
                Op::Texquerylod => [0, 1].map(|_| (lod * 256.0) as i32 as u32).into_iter().chain([0, 0]).collect::<Vec<_>>(),
                _ => sample_lane(unit.data, &query, &args[l], lod).to_vec(),
            };
            if s.op == Op::Texsize {
                texel[3] = unit.data.levels;
            }
            let mask = s.insn.get(field!(mask));
            let mask = if s.insn.has(field!(mask)) { mask } else { 15 };
            let mut n = s.f.dst;
            for (k, v) in texel.into_iter().enumerate() {
                if mask >> k & 1 == 1 {
                    self.lanes[l].write(n, v, launch);
                    n += 1;
                }
            }
        }
        Ok(())
    }
}

/// Whether the instruction reads texels by coordinates that may be a direction.
fn looks_up(op: Op) -> bool {
    matches!(op, Op::Texauto | Op::Texbias | Op::Texlod | Op::Texgather)
}

/// Whether the instruction is the one for cubes.
fn names_cube(s: &Step) -> bool {
    s.insn.form().name.ends_with(".cube")
}

fn coordinates(unit: &Unit) -> usize {
    match unit.dim {
        TexDim::D1 => 1,
        TexDim::D2 => 2,
        TexDim::D3 | TexDim::Cube => 3,
    }
}

/// What the instruction asks, and how many arguments that takes.
fn meaning(s: &Step, unit: &Unit) -> (TexQuery, usize) {
    let (op, lod, extra) = match s.op {
        Op::Texfetch => (TexOp::Fetch, TexLod::Level, 1),
        Op::Texbias => (TexOp::Sample, TexLod::Bias, 1),
        Op::Texlod => (TexOp::Sample, TexLod::Level, 1),
        Op::Texgather => (TexOp::Gather, TexLod::Implicit, 0),
        Op::Texsize => return (TexQuery { op: TexOp::Size, ..TexQuery::sample(TexLod::Level) }, 1),
        _ => (TexOp::Sample, TexLod::Implicit, 0),
    };
    let compare = unit.shadow && !matches!(s.op, Op::Texfetch | Op::Texprep);
    let offset = [field!(x), field!(y), field!(z)].map(|f| s.insn.signed(f) as i8);
    let query = TexQuery { op, lod, compare, integer: unit.kind == Scalar::I32, offset, component: 0 };
    (query, coordinates(unit) + unit.arrayed as usize + compare as usize + extra)
}

/// Arguments in the order of the registers: coordinates, layer, depth reference, bias or level.
fn arguments(s: &Step, unit: &Unit, read: impl Fn(usize) -> u32) -> TexArgs {
    let mut a = TexArgs::default();
    if s.op == Op::Texsize {
        a.lod = read(0);
        return a;
    }
    let n = coordinates(unit);
    (0..n).for_each(|k| a.coord[k] = read(k));
    let mut k = n;
    if unit.arrayed {
        a.layer = read(k);
        k += 1;
    }
    if unit.shadow && !matches!(s.op, Op::Texfetch | Op::Texprep) {
        a.reference = read(k);
        k += 1;
    }
    if matches!(s.op, Op::Texfetch | Op::Texbias | Op::Texlod) {
        a.lod = read(k);
    }
    a
}
