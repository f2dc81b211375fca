//! Immediates that lie in several fields: LIMM's 32 bits, VBW's 16 with a rotation and an inversion.
//!
//! Facts: the ISA description, LIMM and VBW.

use crate::isa::forms::field;
use crate::isa::operands::{Encoding, value};
use retroshade_emit::FieldName;
use retroshade_emit::form::Decoded;

/// LIMM's fields, from the lowest bits up, with their widths.
const LIMM: [(FieldName, u32); 3] =
    [(field!(imm_value_first_21bits), 21), (field!(imm_value_bits21to25), 5), (field!(imm_value_bits26to31), 6)];
/// The fields of VBW's immediate, likewise.
const BITWISE: [(FieldName, u32); 3] = [(field!(src2_n), 7), (field!(src2_sel), 7), (field!(src2_exth), 2)];

fn join(d: &Decoded, fields: &[(FieldName, u32)]) -> u32 {
    fields.iter().rev().fold(0, |v, (name, width)| v << width | value(d, *name) as u32)
}

fn split(fields: &[(FieldName, u32)], v: u32) -> Encoding {
    let mut rest = v;
    let mut part = |(name, width): &(FieldName, u32)| {
        let low = rest & ((1 << width) - 1);
        rest >>= width;
        (*name, low as u64)
    };
    fields.iter().map(&mut part).collect()
}

/// LIMM's value.
pub fn limm(d: &Decoded) -> u32 {
    join(d, &LIMM)
}

/// The fields of LIMM with a value.
pub fn limm_fields(v: u32) -> Encoding {
    split(&LIMM, v)
}

/// VBW's immediate after rotation and inversion.
pub fn bitwise(d: &Decoded) -> u32 {
    bitwise_source(d, join(d, &BITWISE))
}

/// Rotation and inversion of VBW's source 2.
pub fn bitwise_source(d: &Decoded, v: u32) -> u32 {
    let rotation = value(d, field!(src2_rot)) as u32;
    let inverted = |v: u32| if value(d, field!(src2_invert)) == 1 { !v } else { v };
    if value(d, field!(bitwise_partial)) == 1 {
        // The lower half rotates within itself.
        return inverted((v as u16).rotate_left(rotation & 15) as u32) & 0xffff;
    }
    inverted(v.rotate_left(rotation))
}

/// Every way to write `c` as VBW's immediate: 16 bits, rotated to the left and perhaps inverted; on lower halves if `half`.
pub fn bitwise_fields(c: u32, half: bool) -> impl Iterator<Item = Encoding> {
    let ways = [false, true].into_iter().flat_map(move |invert| (0..if half { 16 } else { 32u32 }).map(move |rotation| (rotation, invert)));
    ways.filter_map(move |(rotation, invert)| {
        let v = if invert { !c } else { c };
        let v = if half { (v as u16).rotate_right(rotation) as u32 } else { v.rotate_right(rotation) };
        let mut fields = split(&BITWISE, v);
        fields.extend([
            (field!(src2_bank), 2),
            (field!(src2_ext), 1),
            (field!(src2_rot), rotation as u64),
            (field!(src2_invert), invert as u64),
        ]);
        (v < 0x1_0000).then_some(fields)
    })
}
