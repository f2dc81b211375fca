//! The machine's arithmetic, shared by the interpreter (through `Numerics`) and the simulator.
//!
//! Single precision flushes denormals on the way in and out and rounds to nearest even; MULADD rounds its product; DOT4 adds
//! slot by slot. Transcendentals are computed in double precision and rounded, since their exact error is not documented.

use crate::isa::forms::Op;
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

/// What an operation gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The result word, before output modifiers.
    pub value: u32,
    /// The predicate of PRED_SET*, or whether a KILL* kills.
    pub test: Option<bool>,
}

/// Executes an operation that works on one slot; `None` for reductions, 64-bit floats and those not modelled.
pub fn alu(op: Op, [a, b, c]: [u32; 3]) -> Option<Outcome> {
    use Op::*;
    let (x, y) = (f(a), f(b));
    let (i, j) = (a as i32, b as i32);
    let predicate = |p: bool| Some(Outcome { value: bool_float(!p), test: Some(p) });
    let kill = |k: bool| Some(Outcome { value: bool_float(k), test: Some(k) });
    // The counters of nested predicates: 0.0 runs.
    let running = x == 0.0;
    let counter = |p: bool, other: u32| Some(Outcome { value: if p { 0 } else { other }, test: Some(p) });
    let push = |p: bool| counter(p && running, w(x + 1.0));
    let mad = |p: u32| add(p, c);
    let value = match op {
        ADD => add(a, b),
        MUL => mul_dx9(a, b),
        MUL_IEEE => mul_ieee(a, b),
        MAX => w(if x >= y { x } else { y }),
        MIN => w(if x < y { x } else { y }),
        MAX_DX10 => max_dx10(a, b),
        MIN_DX10 => min_dx10(a, b),
        SETE => bool_float(x == y),
        SETGT => bool_float(x > y),
        SETGE => bool_float(x >= y),
        SETNE => bool_float(x != y),
        SETE_DX10 => bool_mask(x == y),
        SETGT_DX10 => bool_mask(x > y),
        SETGE_DX10 => bool_mask(x >= y),
        SETNE_DX10 => bool_mask(x != y),
        FRACT => fract(a),
        TRUNC => w(libm::truncf(x)),
        CEIL => w(libm::ceilf(x)),
        RNDNE => w(libm::rintf(x)),
        FLOOR => w(libm::floorf(x)),
        MOVA_INT => (if (-256..=255).contains(&i) { i } else { -256 }) as u32,
        MOV => a,
        NOP => 0,
        PRED_SETE => return predicate(x == y),
        PRED_SETGT => return predicate(x > y),
        PRED_SETGE => return predicate(x >= y),
        PRED_SETNE => return predicate(x != y),
        PRED_SETE_INT => return predicate(i == j),
        PRED_SETGT_INT => return predicate(i > j),
        PRED_SETGE_INT => return predicate(i >= j),
        PRED_SETNE_INT => return predicate(i != j),
        PRED_SETGT_UINT => return predicate(a > b),
        PRED_SETGE_UINT => return predicate(a >= b),
        PRED_SET_INV => return counter(x == 1.0, if running { 0x3f80_0000 } else { a }),
        PRED_SET_POP => return counter(x <= y, w(x - y)),
        PRED_SET_CLR => return Some(Outcome { value: MAX_FLOAT, test: Some(false) }),
        PRED_SET_RESTORE => return counter(running, a),
        PRED_SETE_PUSH => return push(y == 0.0),
        PRED_SETGT_PUSH => return push(y > 0.0),
        PRED_SETGE_PUSH => return push(y >= 0.0),
        PRED_SETNE_PUSH => return push(y != 0.0),
        PRED_SETE_PUSH_INT => return push(j == 0),
        PRED_SETGT_PUSH_INT => return push(j > 0),
        PRED_SETGE_PUSH_INT => return push(j >= 0),
        PRED_SETNE_PUSH_INT => return push(j != 0),
        PRED_SETLT_PUSH_INT => return push(j < 0),
        PRED_SETLE_PUSH_INT => return push(j <= 0),
        KILLE => return kill(x == y),
        KILLGT => return kill(x > y),
        KILLGE => return kill(x >= y),
        KILLNE => return kill(x != y),
        KILLGT_UINT => return kill(a > b),
        KILLGE_UINT => return kill(a >= b),
        KILLE_INT => return kill(i == j),
        KILLGT_INT => return kill(i > j),
        KILLGE_INT => return kill(i >= j),
        KILLNE_INT => return kill(i != j),
        AND_INT => a & b,
        OR_INT => a | b,
        XOR_INT => a ^ b,
        NOT_INT => !a,
        ADD_INT => a.wrapping_add(b),
        SUB_INT => a.wrapping_sub(b),
        MAX_INT => i.max(j) as u32,
        MIN_INT => i.min(j) as u32,
        MAX_UINT => a.max(b),
        MIN_UINT => a.min(b),
        SETE_INT => bool_mask(i == j),
        SETGT_INT => bool_mask(i > j),
        SETGE_INT => bool_mask(i >= j),
        SETNE_INT => bool_mask(i != j),
        SETGT_UINT => bool_mask(a > b),
        SETGE_UINT => bool_mask(a >= b),
        EXP_IEEE => wd(libm::exp2(x as f64)),
        LOG_IEEE => log2(a),
        LOG_CLAMPED => without_inf(log2(a), MAX_FLOAT),
        RECIP_IEEE => recip(a),
        RECIP_CLAMPED => without_inf(recip(a), MAX_FLOAT),
        RECIP_FF => without_inf(recip(a), 0),
        RECIPSQRT_IEEE => rsqrt(a),
        RECIPSQRT_CLAMPED => without_inf(rsqrt(a), MAX_FLOAT),
        RECIPSQRT_FF => without_inf(rsqrt(a), 0),
        SQRT_IEEE => wd(libm::sqrt(x as f64)),
        FLT_TO_INT => x as i32 as u32,
        FLT_TO_UINT => x as u32,
        INT_TO_FLT => (i as f32).to_bits(),
        UINT_TO_FLT => (a as f32).to_bits(),
        SIN => turns(a, libm::sin),
        COS => turns(a, libm::cos),
        ASHR_INT => (i >> (b & 31)) as u32,
        LSHR_INT => a >> (b & 31),
        LSHL_INT => a << (b & 31),
        MULLO_INT | MULLO_UINT => a.wrapping_mul(b),
        MULHI_INT => ((i as i64 * j as i64) >> 32) as u32,
        MULHI_UINT => ((a as u64 * b as u64) >> 32) as u32,
        RECIP_UINT => recip_uint(a),
        MUL_LIT => mul_lit(a, b, c),
        MUL_LIT_M2 => output(mul_lit(a, b, c), 1, false),
        MUL_LIT_M4 => output(mul_lit(a, b, c), 2, false),
        MUL_LIT_D2 => output(mul_lit(a, b, c), 3, false),
        MULADD => mad(mul_dx9(a, b)),
        MULADD_M2 => output(mad(mul_dx9(a, b)), 1, false),
        MULADD_M4 => output(mad(mul_dx9(a, b)), 2, false),
        MULADD_D2 => output(mad(mul_dx9(a, b)), 3, false),
        MULADD_IEEE => mad(mul_ieee(a, b)),
        MULADD_IEEE_M2 => output(mad(mul_ieee(a, b)), 1, false),
        MULADD_IEEE_M4 => output(mad(mul_ieee(a, b)), 2, false),
        MULADD_IEEE_D2 => output(mad(mul_ieee(a, b)), 3, false),
        CNDE => select(x == 0.0, b, c),
        CNDGT => select(x > 0.0, b, c),
        CNDGE => select(x >= 0.0, b, c),
        CNDE_INT => select(i == 0, b, c),
        CNDGT_INT => select(i > 0, b, c),
        CNDGE_INT => select(i >= 0, b, c),
        // Reductions work on a whole group.
        DOT4 | DOT4_IEEE | CUBE | MAX4 => return None,
        MOVA | MOVA_FLOOR | RECIP_INT => return None,
        FREXP_64 | ADD_64 | MUL_64 | FLT64_TO_FLT32 | FLT32_TO_FLT64 | LDEXP_64 | FRACT_64 => return None,
        PRED_SETGT_64 | PRED_SETE_64 | PRED_SETGE_64 => return None,
        MULADD_64 | MULADD_64_M2 | MULADD_64_M4 | MULADD_64_D2 => return None,
    };
    Some(Outcome { value, test: None })
}

fn select(test: bool, a: u32, b: u32) -> u32 {
    if test { a } else { b }
}

fn recip(a: u32) -> u32 {
    wd(1.0 / f(a) as f64)
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

/// The lane of a gather, in the languages' order, that each channel of FETCH4 has: they begin with the texel right of the lower left one.
pub const FETCH4: [usize; 4] = [2, 0, 1, 3];

/// What the rasteriser hands over in W of a fragment's position where a language has its reciprocal.
pub fn clip_w(reciprocal: u32) -> u32 {
    (1.0 / f32::from_bits(reciprocal)).to_bits()
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
        let op = match op {
            Opcode::Fneg => return a ^ 0x8000_0000,
            Opcode::Fabs => return a & 0x7fff_ffff,
            Opcode::Fsaturate => return saturate(a),
            Opcode::Ffloor => Op::FLOOR,
            Opcode::Fceil => Op::CEIL,
            Opcode::Ftrunc => Op::TRUNC,
            Opcode::Fround => Op::RNDNE,
            Opcode::Ffract => Op::FRACT,
            Opcode::Frcp => Op::RECIP_IEEE,
            Opcode::Frsqrt => Op::RECIPSQRT_IEEE,
            Opcode::Fsqrt => Op::SQRT_IEEE,
            Opcode::Fexp2 => Op::EXP_IEEE,
            Opcode::Flog2 => Op::LOG_IEEE,
            _ => return retroshade_ir::numerics::reference_unary(op, ty, flush(a)),
        };
        alu(op, [a, 0, 0]).map_or(0, |o| o.value)
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
        let one = |op: Op| alu(op, [x(0), x(1), x(2)]).map(|o| [o.value, 0, 0, 0]);
        match name {
            "r700.sin" => one(Op::SIN),
            "r700.cos" => one(Op::COS),
            "r700.recip_uint" => one(Op::RECIP_UINT),
            "r700.mul" => one(Op::MUL),
            "r700.clip_w" => Some([clip_w(x(0)), 0, 0, 0]),
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
