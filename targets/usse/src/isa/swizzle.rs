//! Swizzle sets per encoding and operand, as data.
//!
//! Facts: the ISA sheet's section 7. A selector is a lane of the operand or one of four constants.

/// One lane's selector: 0-3 = x y z w of the operand, then constants.
pub type Sel = u8;
/// The constant 0.0.
pub const ZERO: Sel = 4;
/// The constant 1.0.
pub const ONE: Sel = 5;
/// The constant 2.0.
pub const TWO: Sel = 6;
/// The constant 0.5.
pub const HALF: Sel = 7;
/// An entry that the machine leaves undefined.
pub const UNDEF: Sel = 8;

/// A selector for every lane.
pub type Swizzle = [Sel; 4];

/// x y z w.
pub const IDENTITY: Swizzle = [0, 1, 2, 3];

const fn swz(s: &str) -> Swizzle {
    let b = s.as_bytes();
    let mut out = [0; 4];
    let mut i = 0;
    while i < 4 {
        // A set of three lanes repeats its x lane in w.
        let c = if i < b.len() { b[i] } else { b'x' };
        out[i] = match c {
            b'x' => 0,
            b'y' => 1,
            b'z' => 2,
            b'w' => 3,
            b'0' => ZERO,
            b'1' => ONE,
            b'2' => TWO,
            b'h' => HALF,
            _ => UNDEF,
        };
        i += 1;
    }
    out
}

const fn set<const N: usize>(names: [&str; N]) -> [Swizzle; N] {
    let mut out = [[0; 4]; N];
    let mut i = 0;
    while i < N {
        out[i] = swz(names[i]);
        i += 1;
    }
    out
}

/// The standard four-lane set.
pub static VEC4: [Swizzle; 16] =
    set(["xxxx", "yyyy", "zzzz", "wwww", "xyzw", "yzww", "xyzz", "xxyz", "xyxy", "xywz", "zxyw", "zwzw", "yzxz", "xxyy", "xzww", "xyz1"]);
/// The standard four-lane set followed by its extension.
pub static VEC4_EXT: [Swizzle; 32] = set([
    "xxxx", "yyyy", "zzzz", "wwww", "xyzw", "yzww", "xyzz", "xxyz", "xyxy", "xywz", "zxyw", "zwzw", "yzxz", "xxyy", "xzww", "xyz1", "yzxw",
    "zwxy", "xzwy", "yyww", "wyzw", "wzwz", "xyzx", "zzww", "xwzx", "yyyx", "yyyz", "xzyw", "xxxy", "zyxw", "yyzz", "zzzy",
]);
/// The standard three-lane set.
pub static VEC3: [Swizzle; 16] =
    set(["xxx", "yyy", "zzz", "www", "xyz", "yzw", "xxy", "xyx", "yyx", "yyz", "zxy", "xzy", "yzx", "zyx", "zzy", "xy1"]);
/// The standard three-lane set followed by its extension.
pub static VEC3_EXT: [Swizzle; 32] = set([
    "xxx", "yyy", "zzz", "www", "xyz", "yzw", "xxy", "xyx", "yyx", "yyz", "zxy", "xzy", "yzx", "zyx", "zzy", "xy1", "xyy", "yxy", "xxz",
    "yxx", "xy0", "x10", "000", "111", "hhh", "222", "x00", "????", "????", "????", "????", "????",
]);
/// VDUAL's four-lane set followed by its extension.
pub static DUAL4: [Swizzle; 32] = set([
    "xxxx", "yyyy", "zzzz", "wwww", "xyzw", "yzww", "xyzz", "xxyz", "xyxy", "xywz", "zxyw", "zwzw", "0000", "hhhh", "1111", "2222", "yzxw",
    "zwxy", "xzwy", "yyww", "wyzw", "wzwz", "xyzx", "zzww", "xwzx", "yyyx", "yyyz", "zwzw", "yzxz", "xxyy", "xzww", "xyz1",
]);
/// VDUAL's three-lane set followed by its extension.
pub static DUAL3: [Swizzle; 32] = set([
    "xxx", "yyy", "zzz", "www", "xyz", "yzw", "xxy", "xyx", "yyx", "yyz", "zxy", "xzy", "000", "hhh", "111", "222", "xyy", "yxy", "xxz",
    "yxx", "xy0", "x10", "xzy", "yzx", "zyx", "zzy", "xy1", "????", "????", "????", "????", "????",
]);
/// VMAD2 source 0.
pub static MAD2_SRC0: [Swizzle; 8] = set(["xxxx", "yyyy", "zzzz", "wwww", "xyzw", "yzxw", "xyww", "zwxy"]);
/// VMAD2 source 1.
pub static MAD2_SRC1: [Swizzle; 8] = set(["xxxx", "yyyy", "zzzz", "wwww", "xyzw", "xyyz", "yyww", "wyzw"]);
/// VMAD2 source 2.
pub static MAD2_SRC2: [Swizzle; 8] = set(["xxxx", "yyyy", "zzzz", "wwww", "xyzw", "xzww", "xxyz", "xyzz"]);
/// A chosen lane for all (VCOMP, VTST).
pub static LANE: [Swizzle; 4] = set(["xxxx", "yyyy", "zzzz", "wwww"]);
/// Operands without any swizzle.
pub static FIXED: [Swizzle; 1] = set(["xyzw"]);

/// The lanes that a caller needs: `None` is a lane that nobody reads.
pub type Wanted = [Option<Sel>; 4];

/// The first entry of a set that gives all wanted lanes.
pub fn find(set: &[Swizzle], wanted: Wanted) -> Option<usize> {
    set.iter().position(|s| s.iter().zip(wanted).all(|(have, want)| want.is_none_or(|w| w == *have)))
}

/// A selector's letter.
pub fn letter(s: Sel) -> char {
    ['x', 'y', 'z', 'w', '0', '1', '2', 'H', '?'][s.min(8) as usize]
}
