//! Which texture is which unit, where its state lives, and which reads the machine makes before the program starts.

use super::{Abi, unsupported};
use retroshade_ir::*;
use retroshade_lower::CompileError;

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

/// The reads that the machine can make before the start.
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
    f.blocks[entry].insts.iter().filter_map(read).collect()
}

/// Gives units to the textures in use: `used` ones are read by instructions and have state in attributes from `sa` on. Gives the
/// next free attribute.
pub fn place(m: &Module, abi: &mut Abi, used: &[Texture], direct: &[Direct], mut sa: u16) -> Result<u16, CompileError> {
    let mut unit = 0;
    for (t, d) in m.textures.iter() {
        for early in direct.iter().filter(|x| x.texture == t) {
            let same = |p: &Preloaded| (p.texture, p.coord, p.half) == (t, early.coord, early.half);
            // A read that stands twice is made once.
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
    // Texels stand before the iterated inputs.
    let mut texels = 0;
    for p in &mut abi.preloaded {
        p.pa = texels;
        texels += if p.half { 2 } else { 4 };
    }
    for s in &mut abi.inputs {
        s.pa += texels;
    }
    abi.pa = abi.pa.max(abi.inputs.iter().map(|s| s.pa + s.regs).max().unwrap_or(texels));
    Ok(sa)
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
