//! The machine's arithmetic, shared by the interpreter (through `Numerics`) and the simulator.
//!
//! Single precision flushes denormals on the way in and out and rounds to nearest even; MULADD rounds its product; DOT4 adds
//! slot by slot. Transcendentals are computed in double precision and rounded, since their exact error is not documented.

use retroshade_ir::{FloatCC, Numerics, Opcode, Scalar};

/// R700's arithmetic.
#[derive(Clone, Copy, Debug, Default)]
pub struct R700Numerics;

/// The arithmetic as a value to point at.
pub static NUMERICS: R700Numerics = R700Numerics;

const MAX_FLOAT: u32 = 0x7f7f_ffff;

/// Reads a float operand: denormals count as signed zeros.
fn f(a: u32) -> f32 {
    f32::from_bits(flush(a))
}

/// A denormal becomes a signed zero.
pub fn flush(a: u32) -> u32 {
    if a & 0x7f80_0000 == 0 { a & 0x8000_0000 } else { a }
}

fn w(x: f32) -> u32 {
    flush(x.to_bits())
}

fn wd(x: f64) -> u32 {
    flush((x as f32).to_bits())
}

/// The output modifier and the clamp of a float result.
pub fn output(r: u32, omod: u8, clamp: bool) -> u32 {
    let scaled = match omod {
        1 => w(f(r) * 2.0),
        2 => w(f(r) * 4.0),
        3 => w(f(r) * 0.5),
        _ => r,
    };
    if clamp { saturate(scaled) } else { scaled }
}

fn saturate(a: u32) -> u32 {
    let x = f(a);
    if x >= 1.0 {
        0x3f80_0000
    } else if x > 0.0 {
        a
    } else {
        0
    }
}

/// IEEE product.
pub fn mul_ieee(a: u32, b: u32) -> u32 {
    w(f(a) * f(b))
}

/// Product where a zero factor wins over everything.
pub fn mul_dx9(a: u32, b: u32) -> u32 {
    if f(a) == 0.0 || f(b) == 0.0 { 0 } else { mul_ieee(a, b) }
}

/// Sum.
pub fn add(a: u32, b: u32) -> u32 {
    w(f(a) + f(b))
}

fn min_dx10(a: u32, b: u32) -> u32 {
    let (x, y) = (f(a), f(b));
    w(if x.is_nan() {
        y
    } else if y.is_nan() || x < y {
        x
    } else {
        y
    })
}

fn max_dx10(a: u32, b: u32) -> u32 {
    let (x, y) = (f(a), f(b));
    w(if x.is_nan() {
        y
    } else if y.is_nan() || x >= y {
        x
    } else {
        y
    })
}

/// 2^32 / a as the integer reciprocal delivers it.
pub fn recip_uint(a: u32) -> u32 {
    if a <= 1 { u32::MAX } else { ((1u64 << 32) / a as u64) as u32 }
}

fn turns(a: u32, of: fn(f64) -> f64) -> u32 {
    let x = f(a);
    if x.is_nan() || x.is_infinite() {
        return f32::NAN.to_bits();
    }
    if x.abs() > 256.0 { 0 } else { wd(of(x as f64 * std::f64::consts::TAU)) }
}

fn log2(a: u32) -> u32 {
    wd(libm::log2(f(a) as f64))
}

fn rsqrt(a: u32) -> u32 {
    let x = f(a);
    if x == 0.0 { f32::INFINITY.copysign(x).to_bits() } else { wd(1.0 / libm::sqrt(x as f64)) }
}

fn bool_float(c: bool) -> u32 {
    if c { 0x3f80_0000 } else { 0 }
}

fn bool_mask(c: bool) -> u32 {
    if c { u32::MAX } else { 0 }
}

/// Replaces infinities: `Some(bits)` gives the magnitude that stands in for them.
fn without_inf(r: u32, magnitude: u32) -> u32 {
    if r & 0x7fff_ffff == 0x7f80_0000 { r & 0x8000_0000 | magnitude } else { r }
}

/// A comparison by the suffix of an opcode's name.
fn compare(name: &str, a: u32, b: u32) -> Option<bool> {
    let (x, y) = (f(a), f(b));
    let (i, j) = (a as i32, b as i32);
    Some(match name {
        "E" | "E_DX10" => x == y,
        "GT" | "GT_DX10" => x > y,
        "GE" | "GE_DX10" => x >= y,
        "NE" | "NE_DX10" => x != y,
        "E_INT" => i == j,
        "GT_INT" => i > j,
        "GE_INT" => i >= j,
        "NE_INT" => i != j,
        "GT_UINT" => a > b,
        "GE_UINT" => a >= b,
        _ => return None,
    })
}

/// What a PRED_SET*, KILL* or plain operation gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The result word, before output modifiers.
    pub value: u32,
    /// The predicate of PRED_SET*, or whether a KILL* kills.
    pub test: Option<bool>,
    /// Whether output modifiers apply.
    pub float: bool,
}

/// Executes an operation that works on one slot; `None` for reductions and those not modelled.
pub fn alu(name: &str, [a, b, c]: [u32; 3]) -> Option<Outcome> {
    let plain = |value| Some(Outcome { value, test: None, float: true });
    let int = |value| Some(Outcome { value, test: None, float: false });
    if let Some(rest) = name.strip_prefix("PRED_SET") {
        if let Some(p) = compare(rest, a, b) {
            return Some(Outcome { value: bool_float(!p), test: Some(p), float: false });
        }
        let counter = |p: bool| Some(Outcome { value: if p { 0 } else { w(f(a) + 1.0) }, test: Some(p), float: false });
        let (x, y, running) = (f(a), f(b), f(a) == 0.0);
        return match rest {
            "_INV" => {
                let p = x == 1.0;
                let other = if x == 0.0 { 0x3f80_0000 } else { a };
                Some(Outcome { value: if p { 0 } else { other }, test: Some(p), float: false })
            }
            "_POP" => {
                let p = x <= y;
                Some(Outcome { value: if p { 0 } else { w(x - y) }, test: Some(p), float: false })
            }
            "_CLR" => Some(Outcome { value: MAX_FLOAT, test: Some(false), float: false }),
            "_RESTORE" => Some(Outcome { value: if running { 0 } else { a }, test: Some(running), float: false }),
            "E_PUSH" => counter(y == 0.0 && running),
            "GT_PUSH" => counter(y > 0.0 && running),
            "GE_PUSH" => counter(y >= 0.0 && running),
            "NE_PUSH" => counter(y != 0.0 && running),
            "E_PUSH_INT" => counter(b == 0 && running),
            "GT_PUSH_INT" => counter((b as i32) > 0 && running),
            "GE_PUSH_INT" => counter((b as i32) >= 0 && running),
            "NE_PUSH_INT" => counter(b != 0 && running),
            "LT_PUSH_INT" => counter((b as i32) < 0 && running),
            "LE_PUSH_INT" => counter((b as i32) <= 0 && running),
            _ => None,
        };
    }
    if let Some(k) = name.strip_prefix("KILL").and_then(|r| compare(r, a, b)) {
        return Some(Outcome { value: bool_float(k), test: Some(k), float: false });
    }
    if let Some(rest) = name.strip_prefix("SET") {
        let t = compare(rest, a, b)?;
        return if matches!(rest, "E" | "GT" | "GE" | "NE") { plain(bool_float(t)) } else { int(bool_mask(t)) };
    }
    let mad = |p: u32| add(p, c);
    match name {
        "ADD" => plain(add(a, b)),
        "MUL" => plain(mul_dx9(a, b)),
        "MUL_IEEE" => plain(mul_ieee(a, b)),
        "MAX" => plain(w(if f(a) >= f(b) { f(a) } else { f(b) })),
        "MIN" => plain(w(if f(a) < f(b) { f(a) } else { f(b) })),
        "MAX_DX10" => plain(max_dx10(a, b)),
        "MIN_DX10" => plain(min_dx10(a, b)),
        "FRACT" => plain(fract(a)),
        "TRUNC" => plain(w(libm::truncf(f(a)))),
        "CEIL" => plain(w(libm::ceilf(f(a)))),
        "RNDNE" => plain(w(libm::rintf(f(a)))),
        "FLOOR" => plain(w(libm::floorf(f(a)))),
        "MOV" => plain(a),
        "NOP" => int(0),
        "AND_INT" => int(a & b),
        "OR_INT" => int(a | b),
        "XOR_INT" => int(a ^ b),
        "NOT_INT" => int(!a),
        "ADD_INT" => int(a.wrapping_add(b)),
        "SUB_INT" => int(a.wrapping_sub(b)),
        "MAX_INT" => int((a as i32).max(b as i32) as u32),
        "MIN_INT" => int((a as i32).min(b as i32) as u32),
        "MAX_UINT" => int(a.max(b)),
        "MIN_UINT" => int(a.min(b)),
        "ASHR_INT" => int(((a as i32) >> (b & 31)) as u32),
        "LSHR_INT" => int(a >> (b & 31)),
        "LSHL_INT" => int(a << (b & 31)),
        "MULLO_INT" | "MULLO_UINT" => int(a.wrapping_mul(b)),
        "MULHI_INT" => int(((a as i32 as i64 * b as i32 as i64) >> 32) as u32),
        "MULHI_UINT" => int(((a as u64 * b as u64) >> 32) as u32),
        "RECIP_UINT" => int(recip_uint(a)),
        "FLT_TO_INT" => int(f(a) as i32 as u32),
        "FLT_TO_UINT" => int(f(a) as u32),
        "INT_TO_FLT" => plain((a as i32 as f32).to_bits()),
        "UINT_TO_FLT" => plain((a as f32).to_bits()),
        "EXP_IEEE" => plain(wd(libm::exp2(f(a) as f64))),
        "LOG_IEEE" => plain(log2(a)),
        "LOG_CLAMPED" => plain(without_inf(log2(a), MAX_FLOAT)),
        "RECIP_IEEE" => plain(wd(1.0 / f(a) as f64)),
        "RECIP_CLAMPED" => plain(without_inf(wd(1.0 / f(a) as f64), MAX_FLOAT)),
        "RECIP_FF" => plain(without_inf(wd(1.0 / f(a) as f64), 0)),
        "RECIPSQRT_IEEE" => plain(rsqrt(a)),
        "RECIPSQRT_CLAMPED" => plain(without_inf(rsqrt(a), MAX_FLOAT)),
        "RECIPSQRT_FF" => plain(without_inf(rsqrt(a), 0)),
        "SQRT_IEEE" => plain(wd(libm::sqrt(f(a) as f64))),
        "SIN" => plain(turns(a, libm::sin)),
        "COS" => plain(turns(a, libm::cos)),
        "MULADD" => plain(mad(mul_dx9(a, b))),
        "MULADD_M2" => plain(output(mad(mul_dx9(a, b)), 1, false)),
        "MULADD_M4" => plain(output(mad(mul_dx9(a, b)), 2, false)),
        "MULADD_D2" => plain(output(mad(mul_dx9(a, b)), 3, false)),
        "MULADD_IEEE" => plain(mad(mul_ieee(a, b))),
        "MULADD_IEEE_M2" => plain(output(mad(mul_ieee(a, b)), 1, false)),
        "MULADD_IEEE_M4" => plain(output(mad(mul_ieee(a, b)), 2, false)),
        "MULADD_IEEE_D2" => plain(output(mad(mul_ieee(a, b)), 3, false)),
        "MUL_LIT" => plain(mul_lit(a, b, c)),
        "MUL_LIT_M2" => plain(output(mul_lit(a, b, c), 1, false)),
        "MUL_LIT_M4" => plain(output(mul_lit(a, b, c), 2, false)),
        "MUL_LIT_D2" => plain(output(mul_lit(a, b, c), 3, false)),
        "CNDE" => plain(if f(a) == 0.0 { b } else { c }),
        "CNDGT" => plain(if f(a) > 0.0 { b } else { c }),
        "CNDGE" => plain(if f(a) >= 0.0 { b } else { c }),
        "CNDE_INT" => plain(if a == 0 { b } else { c }),
        "CNDGT_INT" => plain(if a as i32 > 0 { b } else { c }),
        "CNDGE_INT" => plain(if a as i32 >= 0 { b } else { c }),
        _ => None,
    }
}

fn mul_lit(a: u32, b: u32, c: u32) -> u32 {
    let lowest = MAX_FLOAT | 0x8000_0000;
    let (y, z) = (f(b), f(c));
    if b == lowest || y == f32::NEG_INFINITY || y.is_nan() || z <= 0.0 || z.is_nan() { lowest } else { mul_dx9(a, b) }
}

fn fract(a: u32) -> u32 {
    let x = f(a);
    w(x - libm::floorf(x))
}

/// DOT4_IEEE (or DOT4): slot by slot, every product and sum rounded.
pub fn dot4(a: &[u32; 4], b: &[u32; 4], mul: fn(u32, u32) -> u32) -> u32 {
    let p = |i: usize| mul(a[i], b[i]);
    add(add(add(p(0), p(1)), p(2)), p(3))
}

/// CUBE on the direction's x, y, z: channels t, s, 2 × major axis, face.
pub fn cube(v: [u32; 3]) -> [u32; 4] {
    let [x, y, z] = v.map(f);
    let (face, s, t, ma) = if z.abs() >= x.abs() && z.abs() >= y.abs() {
        (if z < 0.0 { 5.0 } else { 4.0 }, if z < 0.0 { -x } else { x }, -y, 2.0 * z)
    } else if y.abs() >= x.abs() {
        (if y < 0.0 { 3.0 } else { 2.0 }, x, if y < 0.0 { -z } else { z }, 2.0 * y)
    } else {
        (if x < 0.0 { 1.0 } else { 0.0 }, if x < 0.0 { z } else { -z }, -y, 2.0 * x)
    };
    [w(t), w(s), w(ma), w(face)]
}

/// The direction behind face coordinates, up to its length: s and t lie in 1…2, the face is a number.
pub fn cube_direction(c: [u32; 3]) -> [u32; 3] {
    let [s, t, face] = c.map(f32::from_bits);
    let (s, t) = (2.0 * (s - 1.5), 2.0 * (t - 1.5));
    let v = match face as i32 {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    };
    v.map(f32::to_bits)
}

impl Numerics for R700Numerics {
    fn name(&self) -> &'static str {
        "r700"
    }
    // The machine has no f16 arithmetic: it is gone from legalised IR, and what folding meets before is the reference's.
    fn unary(&self, op: Opcode, ty: Scalar, a: u32) -> u32 {
        if ty == Scalar::F16 {
            return retroshade_ir::numerics::reference_unary(op, ty, a);
        }
        let name = match op {
            Opcode::Fneg => return a ^ 0x8000_0000,
            Opcode::Fabs => return a & 0x7fff_ffff,
            Opcode::Fsaturate => return saturate(a),
            Opcode::Ffloor => "FLOOR",
            Opcode::Fceil => "CEIL",
            Opcode::Ftrunc => "TRUNC",
            Opcode::Fround => "RNDNE",
            Opcode::Ffract => "FRACT",
            Opcode::Frcp => "RECIP_IEEE",
            Opcode::Frsqrt => "RECIPSQRT_IEEE",
            Opcode::Fsqrt => "SQRT_IEEE",
            Opcode::Fexp2 => "EXP_IEEE",
            Opcode::Flog2 => "LOG_IEEE",
            _ => return retroshade_ir::numerics::reference_unary(op, ty, flush(a)),
        };
        alu(name, [a, 0, 0]).map_or(0, |o| o.value)
    }
    fn binary(&self, op: Opcode, ty: Scalar, a: u32, b: u32) -> u32 {
        if ty == Scalar::F16 {
            return retroshade_ir::numerics::reference_binary(op, ty, a, b);
        }
        match op {
            Opcode::Fadd => add(a, b),
            Opcode::Fsub => add(a, b ^ 0x8000_0000),
            Opcode::Fmul => mul_ieee(a, b),
            Opcode::Fmin => min_dx10(a, b),
            Opcode::Fmax => max_dx10(a, b),
            _ => flush(retroshade_ir::numerics::reference_binary(op, ty, flush(a), flush(b))),
        }
    }
    fn ternary(&self, op: Opcode, ty: Scalar, a: u32, b: u32, c: u32) -> u32 {
        if ty == Scalar::F16 {
            return retroshade_ir::numerics::reference_ternary(op, ty, a, b, c);
        }
        add(mul_ieee(a, b), c)
    }
    fn dot(&self, ty: Scalar, a: &[u32], b: &[u32]) -> u32 {
        if ty == Scalar::F16 {
            return retroshade_ir::Reference.dot(ty, a, b);
        }
        let pad = |v: &[u32]| std::array::from_fn(|i| v.get(i).copied().unwrap_or(0));
        dot4(&pad(a), &pad(b), mul_ieee)
    }
    fn fcmp(&self, cc: FloatCC, ty: Scalar, a: u32, b: u32) -> bool {
        if ty == Scalar::F16 {
            return retroshade_ir::Reference.fcmp(cc, ty, a, b);
        }
        cc.eval(f(a), f(b))
    }
    fn convert(&self, op: Opcode, from: Scalar, to: Scalar, a: u32) -> u32 {
        let a = if op == Opcode::F2s || op == Opcode::F2u { flush(a) } else { a };
        retroshade_ir::numerics::reference_convert(op, from, to, a)
    }
    fn ext(&self, name: &str, args: &[[u32; 4]]) -> Option<[u32; 4]> {
        let x = |i: usize| args.get(i).map_or(0, |v| v[0]);
        let one = |op: &str| alu(op, [x(0), x(1), x(2)]).map(|o| [o.value, 0, 0, 0]);
        match name {
            "r700.sin" => one("SIN"),
            "r700.cos" => one("COS"),
            "r700.recip_uint" => one("RECIP_UINT"),
            "r700.mul" => one("MUL"),
            "r700.half" => Some([x(0) & 0xffff, 0, 0, 0]),
            "r700.half_bits" => Some([x(0), 0, 0, 0]),
            "r700.cube" => Some(cube([x(0), x(1), x(2)])),
            "r700.cube_direction" => {
                let d = cube_direction([x(0), x(1), x(2)]);
                Some([d[0], d[1], d[2], 0])
            }
            _ => None,
        }
    }
}
