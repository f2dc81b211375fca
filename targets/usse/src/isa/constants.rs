//! The hardware constant table: 64 entries of two words.
//!
//! Facts: the ISA sheet's section 6. Lane x of an f32 operand is the first word, lane y the second; an f16 operand sees
//! four halves.

use retroshade_ir::Scalar;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::sync::LazyLock;

/// Entries that code names.
pub const NAMED: usize = 48;

/// The lanes of an entry as an operand of a type sees them.
pub fn row(ty: Scalar, entry: usize) -> SmallVec<[u32; 4]> {
    let words = CONSTANTS[entry];
    match ty {
        Scalar::F16 => words.iter().flat_map(|w| [w & 0xffff, w >> 16]).collect(),
        _ => SmallVec::from_slice(&words),
    }
}

/// Whether some entry has a value.
pub fn has(ty: Scalar, value: u32) -> bool {
    static VALUES: LazyLock<[FxHashSet<u32>; 2]> =
        LazyLock::new(|| [Scalar::F16, Scalar::F32].map(|ty| (0..NAMED).flat_map(|n| row(ty, n)).collect()));
    VALUES[usize::from(ty != Scalar::F16)].contains(&value)
}

/// The table.
#[rustfmt::skip]
pub static CONSTANTS: [[u32; 2]; 64] = [
    [0x00000000, 0x00000000], [0x00000000, 0x3f800000], [0x3f800000, 0x00000000], [0x3f800000, 0x3f800000],
    [0x40000000, 0x40800000], [0x41000000, 0x41800000], [0x42000000, 0x42800000], [0x43000000, 0x43800000],
    [0x44000000, 0x44800000], [0x45000000, 0x45800000], [0x46000000, 0x46800000], [0x47000000, 0x47800000],
    [0x3f000000, 0x3e800000], [0x3e000000, 0x3d800000], [0x3d000000, 0x3c800000], [0x3c000000, 0x3b800000],
    [0x3b000000, 0x3a800000], [0x3a000000, 0x39800000], [0x39000000, 0x38800000], [0x38000000, 0x37800000],
    [0x402df854, 0x3ebc5ab2], [0x3fb504f3, 0x3f3504f3], [0x40490fdb, 0x3fc90fdb], [0x3f490fdb, 0x3ec90fdb],
    [0x40c90fdb, 0x41490fdb], [0x41c90fdb, 0x00000000], [0x37800000, 0x38000000], [0x37800080, 0x38000100],
    [0x35d00d01, 0x37b60b61], [0x39888889, 0x3b2aaaab], [0x3caaaaab, 0x3e000000], [0x3f000000, 0x3f800000],
    [0x00000000, 0x3c000000], [0x00000000, 0x00000000], [0x3c003c00, 0x3c003c00], [0x44004000, 0x4c004800],
    [0x54005000, 0x5c005800], [0x64006000, 0x6c006800], [0x74007000, 0x00007800], [0x34003800, 0x2c003000],
    [0x24002800, 0x1c002000], [0x14001800, 0x0c001000], [0x04000800, 0x00000000], [0x35e2416f, 0x00000000],
    [0x39a83da8, 0x00000000], [0x3e484248, 0x36483a48], [0x4a484648, 0x00004e48], [0x00000000, 0x00000000],
    [0x00000000, 0x19550c44], [0x30002555, 0x3c003800], [0x00000000, 0x00000000], [0x00000000, 0x00000000],
    [0x00000000, 0x00000000], [0x00000000, 0x00000000], [0x00000000, 0x00000000], [0x00000000, 0x00000000],
    [0xffffffff, 0x00000000], [0xffffffff, 0x00000000], [0xffffffff, 0x00000000], [0xffffffff, 0x00000000],
    [0x7fff7fff, 0x00000000], [0x7fff7fff, 0x00000000], [0x7fff7fff, 0x00000000], [0x7fff7fff, 0x00000000],
];

/// Where a 32-bit value stands in the table: (entry, lane). Only the first 34 entries, whose meaning is settled.
pub fn find(bits: u32) -> Option<(u16, u8)> {
    // Entry 1 first: its lanes are the common 0 and 1.
    let order = [0usize, 1].into_iter().chain(2..34);
    order.flat_map(|n| [(n, 0), (n, 1)]).find(|(n, k)| CONSTANTS[*n][*k] == bits).map(|(n, k)| (n as u16, k as u8))
}
