//! Which texture is which unit, where its state lives, and which reads the machine makes before the program starts.

use super::{ATTRIBUTES, Abi, Varying, unsupported};
use retroshade_ir::*;
use retroshade_lower::CompileError;
use std::collections::BTreeSet;

/// Texture units.
const UNITS: u8 = crate::container::UNITS as u8;

/// A texture read that the machine makes before the program starts.
#[derive(Clone, Copy, Debug)]
pub struct Preloaded {
    /// Texture.
    pub texture: Texture,
    /// Its unit.
    pub unit: u8,
    /// Texture coordinate set.
    pub coord: u8,
    /// First register of the result.
    pub pa: u16,
    /// The result is f16.
    pub half: bool,
}

/// A read at an unmodified input in the entry block.
#[derive(Clone, Copy, Debug)]
pub struct Direct {
    /// The texture.
    pub texture: Texture,
    /// The read.
    pub inst: Inst,
    /// Its texture coordinate set.
    pub coord: u8,
    /// Whether the texel is f16.
    pub half: bool,
}

/// The reads that the machine can make before the start, as many as there are registers for beside the inputs.
pub fn direct(m: &Module) -> Vec<Direct> {
    let f = m.main();
    let (Some(entry), Stage::Fragment) = (f.entry(), m.stage) else { return Vec::new() };
    let read = |i: &Inst| {
        let (texture, input, element) = crate::legal::precision::direct_sample(f, *i, &m.textures, &m.inputs)?;
        let coord = match super::varyings::of(&m.inputs[input], element) {
            Ok(super::Varying::TexCoord(t)) => t,
            _ => return None,
        };
        let half = f.result(*i).is_some_and(|r| f.ty(r).scalar == Scalar::F16);
        Some(Direct { texture, inst: *i, coord, half })
    };
    let inputs: u32 = m.inputs.values().map(|d| d.count.max(1) * u32::from(d.ty.lanes.max(2))).sum();
    let mut left = u32::from(ATTRIBUTES).saturating_sub(inputs);
    let mut texels = BTreeSet::new();
    // A read that stands twice is made once.
    let fits = |d: &Direct| {
        let (texel, registers) = ((d.texture, d.coord, d.half), if d.half { 2 } else { 4 });
        if registers <= left && texels.insert(texel) {
            left -= registers;
        }
        texels.contains(&texel)
    };
    f.blocks[entry].insts.iter().filter_map(read).filter(fits).collect()
}

/// Gives units to the textures in use: `used` ones are read by instructions and have state in attributes from `sa` on. Gives the
/// next free attribute.
pub fn place(m: &Module, abi: &mut Abi, used: &[Texture], direct: &[Direct], mut sa: u16) -> Result<u16, CompileError> {
    let mut unit = 0;
    for (t, d) in m.textures.iter() {
        for early in direct.iter().filter(|x| x.texture == t) {
            let same = |p: &Preloaded| (p.texture, p.coord, p.half) == (t, early.coord, early.half);
            if !abi.preloaded.iter().any(same) {
                abi.preloaded.push(Preloaded { texture: t, unit, coord: early.coord, pa: 0, half: early.half });
            }
        }
        if used.contains(&t) {
            sampled(d)?;
            abi.textures.push((t, unit, sa));
            sa += 4;
        }
        unit += (used.contains(&t) || direct.iter().any(|x| x.texture == t)) as u8;
    }
    if unit > UNITS {
        return Err(CompileError::limit("U0102", Span::NONE, "too many textures", unit.into(), UNITS.into()));
    }
    Ok(sa)
}

/// An iterated input and a texel that share a descriptor, or one of them: indices of [`Abi::inputs`] and [`Abi::preloaded`].
#[derive(Clone, Copy, Debug)]
pub struct Started {
    /// The input; its registers come first.
    pub input: Option<usize>,
    /// The texel.
    pub texel: Option<usize>,
}

/// Gives registers to what a fragment program starts with. Joined as in published programs, the first input and the first texel
/// share a descriptor, the second ones the next; what has an odd number of registers comes last, alone, or `ascending` where it
/// belongs. Apart the texels come first, so that a colour made of one may leave where it came.
pub fn start(abi: &mut Abi, joined: bool, ascending: bool) {
    let (inputs, texels) = (abi.inputs.len(), abi.preloaded.len());
    let even = abi.inputs.iter().filter(|s| s.regs % 2 == 0).count();
    let paired = if joined { even.min(texels) } else { 0 };
    let both = (0..paired).map(|n| Started { input: Some(n), texel: Some(n) });
    let more = (paired..texels).map(|n| Started { input: None, texel: Some(n) });
    let mut single: Vec<usize> = (paired..inputs).collect();
    if ascending {
        single.sort_by_key(|n| abi.inputs[*n].varying.map(Varying::rank));
    }
    let alone = single.into_iter().map(|n| Started { input: Some(n), texel: None });
    abi.started = both.chain(more).chain(alone).collect();
    let mut pa = 0;
    for s in &abi.started {
        if let Some(n) = s.input {
            abi.inputs[n].pa = pa;
            pa += abi.inputs[n].regs;
        }
        if let Some(n) = s.texel {
            abi.preloaded[n].pa = pa;
            pa += if abi.preloaded[n].half { 2 } else { 4 };
        }
    }
    abi.pa = abi.pa.max(pa);
}

/// Whether the iterated inputs stand in the order of what they are.
pub fn is_ascending(abi: &Abi) -> bool {
    abi.started.iter().filter_map(|s| s.input.and_then(|n| abi.inputs[n].varying)).is_sorted_by_key(Varying::rank)
}

/// Whether SMP reads a texture of this kind.
fn sampled(d: &TextureDecl) -> Result<(), CompileError> {
    let what = match d {
        TextureDecl { shadow: true, .. } => "comparison",
        TextureDecl { arrayed: true, .. } => "array",
        TextureDecl { multisampled: true, .. } => "multisampled",
        TextureDecl { kind: Scalar::F32, .. } => return Ok(()),
        _ => "integer",
    };
    Err(unsupported(d.span, format!("`{}`: the machine has no {what} textures", d.name)))
}
