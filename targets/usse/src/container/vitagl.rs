//! What vitaGL takes: the container behind a list of the parameters that are matrices.

use super::read::{Reader, bad};
use super::{Gxp, SAMPLER, UNIFORM, read, write};
use crate::legal::sizes;
use retroshade_emit::bytes::Bytes;
use retroshade_lower::TextError;

/// Bytes of a sampler's name in the library's table, with the zero that ends it.
const NAME: usize = 64;
/// Texture units, and so entries of that table.
const UNITS: usize = 16;

/// What the library calls the uniform with the size of the table's sampler `n`.
fn size_name(n: usize) -> String {
    format!("vgl_smp{n}")
}

/// What vitaGL's `glShaderBinary` takes (any `binaryFormat`): the number of uniforms that are matrices, their indices in the
/// parameter table, then the container itself up to the end. Each a 32-bit little-endian word; nothing is aligned, since the
/// library copies the container to memory of its own. Libraries built with `HAVE_GLSL_TEXTURE_SIZE` read before the container
/// (`sizes`) how many textures of a fragment program they must tell the width and height of, a byte, and the samplers' names.
pub fn vitagl(g: &Gxp, matrices: &[u32], sizes: bool) -> Vec<u8> {
    let head = std::iter::once(matrices.len() as u32).chain(matrices.iter().copied());
    let mut out: Vec<u8> = head.flat_map(u32::to_le_bytes).collect();
    let (mut g, mut names) = (g.clone(), Vec::new());
    if sizes && g.is_fragment() {
        let samplers: Vec<String> = g.parameters.iter().filter(|p| p.category == SAMPLER).map(|p| p.name.clone()).collect();
        let is_sampler = |name: &str| name.len() < NAME && samplers.iter().any(|s| s == name);
        for p in g.parameters.iter_mut().filter(|p| p.category == UNIFORM) {
            let Some(sampler) = sizes::texture(&p.name).filter(|s| is_sampler(s) && names.len() < UNITS).map(str::to_string) else {
                continue;
            };
            p.name = size_name(names.len());
            names.push(sampler);
        }
    }
    if sizes {
        out.push(names.len() as u8);
        for name in names {
            let mut entry = name.into_bytes();
            entry.resize(NAME, 0);
            out.extend(entry);
        }
    }
    out.extend(write(&g));
    out
}

/// Reads what [`vitagl`] writes: the parameters that are matrices, and the container.
pub fn read_vitagl(bytes: &[u8]) -> Result<(Vec<u32>, Gxp), TextError> {
    let r = Reader(Bytes::little(bytes));
    let n = r.u32(0)? as usize;
    let start = n.checked_add(1).and_then(|n| n.checked_mul(4)).filter(|s| *s <= bytes.len());
    let start = start.ok_or_else(|| bad(0, format!("{n} matrices do not fit the file")))?;
    let matrices = (1..=n).map(|k| r.u32(4 * k)).collect::<Result<Vec<_>, _>>()?;
    let rest = &bytes[start..];
    // A container begins with a letter.
    let (names, rest) = match rest.split_first() {
        Some((count, rest)) if usize::from(*count) <= UNITS => {
            let end = NAME * usize::from(*count);
            rest.split_at_checked(end).ok_or_else(|| bad(start, format!("{count} names of samplers do not fit the file")))?
        }
        _ => (&[][..], rest),
    };
    let mut g = read(rest)?;
    for (n, name) in names.chunks_exact(NAME).enumerate() {
        let name = String::from_utf8_lossy(name.split(|b| *b == 0).next().unwrap_or_default()).into_owned();
        for p in g.parameters.iter_mut().filter(|p| p.category == UNIFORM && p.name == size_name(n)) {
            p.name = sizes::name(&name);
        }
    }
    match matrices.iter().find(|m| **m as usize >= g.parameters.len()) {
        Some(m) => Err(bad(4, format!("there is no parameter {m}"))),
        None => Ok((matrices, g)),
    }
}
