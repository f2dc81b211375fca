//! What vitaGL takes: the container behind a list of the parameters that are matrices.

use super::read::{Reader, bad};
use super::{Gxp, read, write};
use retroshade_emit::bytes::Bytes;
use retroshade_lower::TextError;

/// What vitaGL's `glShaderBinary` takes (any `binaryFormat`): the number of uniforms that are matrices, their indices in the
/// parameter table, then the container itself up to the end. Each a 32-bit little-endian word; nothing is aligned, since the
/// library copies the container to memory of its own. Libraries built with `HAVE_GLSL_TEXTURE_SIZE` read one more byte before
/// the container (`sizes`): how many textures they must tell the sizes of, here none.
pub fn vitagl(g: &Gxp, matrices: &[u32], sizes: bool) -> Vec<u8> {
    let head = std::iter::once(matrices.len() as u32).chain(matrices.iter().copied());
    head.flat_map(u32::to_le_bytes).chain(sizes.then_some(0)).chain(write(g)).collect()
}

/// Reads what [`vitagl`] writes: the parameters that are matrices, and the container.
pub fn read_vitagl(bytes: &[u8]) -> Result<(Vec<u32>, Gxp), TextError> {
    let r = Reader(Bytes::little(bytes));
    let n = r.u32(0)? as usize;
    let start = n.checked_add(1).and_then(|n| n.checked_mul(4)).filter(|s| *s <= bytes.len());
    let start = start.ok_or_else(|| bad(0, format!("{n} matrices do not fit the file")))?;
    let matrices = (1..=n).map(|k| r.u32(4 * k)).collect::<Result<Vec<_>, _>>()?;
    let rest = &bytes[start..];
    let g = read(rest.strip_prefix(&[0]).unwrap_or(rest))?;
    match matrices.iter().find(|m| **m as usize >= g.parameters.len()) {
        Some(m) => Err(bad(4, format!("there is no parameter {m}"))),
        None => Ok((matrices, g)),
    }
}
