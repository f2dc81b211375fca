//! How members of HLSL's constant buffers follow each other. Within a structure glslang packs them as Direct3D does, but the structure's own size and
//! the distance between elements of arrays it takes from std140, so that what comes behind lies elsewhere: Direct3D fills the last register up.

use super::lex::Token;
use super::mark::{instructions, op};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a register.
const REGISTER: u32 = 16;
/// Structures within structures.
const MAX_DEPTH: u32 = 64;

/// A type as far as its size goes.
#[derive(Clone, Debug)]
enum Shape {
    Scalar(u32),
    Vector { of: u32, many: u32 },
    Matrix { column: u32, many: u32 },
    Array { of: u32, length: u32 },
    Struct(Vec<u32>),
}

#[derive(Default)]
struct Types {
    shapes: BTreeMap<u32, Shape>,
    constants: BTreeMap<u32, u32>,
    /// Members whose matrices lie by what SPIR-V calls rows.
    rows: BTreeSet<(u32, u32)>,
    /// Structures that are blocks, or buffers that are written.
    blocks: BTreeSet<u32>,
}

/// Where everything lies.
#[derive(Default)]
struct Places {
    offsets: BTreeMap<(u32, u32), u32>,
    strides: BTreeMap<u32, u32>,
}

impl Types {
    fn read(words: &[u32]) -> Types {
        let mut t = Types::default();
        for (opcode, inst) in instructions(words) {
            let (id, shape) = match (opcode, inst) {
                (op::TYPE_BOOL, [_, id]) => (id, Shape::Scalar(4)),
                (op::TYPE_INT | op::TYPE_FLOAT, [_, id, width, ..]) => (id, Shape::Scalar(width / 8)),
                (op::TYPE_VECTOR, [_, id, of, many]) => (id, Shape::Vector { of: *of, many: *many }),
                (op::TYPE_MATRIX, [_, id, column, many]) => (id, Shape::Matrix { column: *column, many: *many }),
                (op::TYPE_ARRAY, [_, id, of, length]) => {
                    (id, Shape::Array { of: *of, length: t.constants.get(length).copied().unwrap_or(0) })
                }
                (op::TYPE_STRUCT, [_, id, members @ ..]) => (id, Shape::Struct(members.to_vec())),
                (op::CONSTANT, [_, _, id, value]) => {
                    t.constants.insert(*id, *value);
                    continue;
                }
                (op::DECORATE, [_, id, op::BLOCK]) => {
                    t.blocks.insert(*id);
                    continue;
                }
                (op::MEMBER_DECORATE, [_, id, n, op::ROW_MAJOR]) => {
                    t.rows.insert((*id, *n));
                    continue;
                }
                _ => continue,
            };
            t.shapes.insert(*id, shape);
        }
        t
    }

    /// Size and alignment of a type; nothing of one that is not known.
    fn lay(&self, ty: u32, rows: bool, depth: u32, out: &mut Places) -> Option<(u32, u32)> {
        let depth = depth.checked_sub(1)?;
        Some(match self.shapes.get(&ty)? {
            Shape::Scalar(bytes) => (*bytes, *bytes),
            Shape::Vector { of, many } => {
                let (bytes, _) = self.lay(*of, rows, depth, out)?;
                (bytes * many, bytes)
            }
            Shape::Matrix { column, many } => {
                let Shape::Vector { of, many: length } = self.shapes.get(column)? else { return None };
                let (bytes, _) = self.lay(*of, rows, depth, out)?;
                let (vectors, lanes) = if rows { (*length, *many) } else { (*many, *length) };
                (vectors.checked_sub(1)? * (lanes * bytes).next_multiple_of(REGISTER) + lanes * bytes, REGISTER)
            }
            Shape::Array { of, length } => {
                let (size, _) = self.lay(*of, rows, depth, out)?;
                let stride = size.next_multiple_of(REGISTER);
                out.strides.insert(ty, stride);
                (length.checked_sub(1)?.checked_mul(stride)?.checked_add(size)?, REGISTER)
            }
            Shape::Struct(members) => {
                let mut at = 0u32;
                for (n, member) in (0..).zip(members) {
                    let (size, align) = self.lay(*member, self.rows.contains(&(ty, n)), depth, out)?;
                    // Nothing small lies across two registers.
                    let across = align < REGISTER && at % REGISTER + size > REGISTER;
                    at = at.checked_next_multiple_of(if across { REGISTER } else { align.max(1) })?;
                    out.offsets.insert((ty, n), at);
                    at = at.checked_add(size)?;
                }
                (at, REGISTER)
            }
        })
    }
}

/// A module whose constant buffers lie as Direct3D has them, if the text leaves that to the compiler.
pub(super) fn packed(words: Vec<u32>, toks: &[Token<'_>]) -> Vec<u32> {
    let constant = |w: &[Token<'_>]| w[0].is("register") && w[1].is("(") && w[2].text.starts_with(['c', 'C']);
    if toks.iter().any(|t| t.is("packoffset")) || toks.windows(3).any(constant) {
        return words;
    }
    let types = Types::read(&words);
    let small = |s: &Shape| matches!(s, Shape::Scalar(bytes) if *bytes < 4);
    let mut places = Places::default();
    if types.shapes.values().any(small) || !types.blocks.iter().all(|b| types.lay(*b, false, MAX_DEPTH, &mut places).is_some()) {
        return words;
    }
    let mut out = words.get(..5).unwrap_or_default().to_vec();
    for (opcode, inst) in instructions(&words) {
        match (opcode, inst) {
            (op::MEMBER_DECORATE, [head, id, n, op::OFFSET, at]) => {
                out.extend([*head, *id, *n, op::OFFSET, *places.offsets.get(&(*id, *n)).unwrap_or(at)]);
            }
            (op::DECORATE, [head, id, op::ARRAY_STRIDE, stride]) => {
                out.extend([*head, *id, op::ARRAY_STRIDE, *places.strides.get(id).unwrap_or(stride)]);
            }
            _ => out.extend(inst),
        }
    }
    out
}
