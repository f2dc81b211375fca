//! Every expansion against the reference interpreter, on edge cases and thousands of random values.

use super::*;
use retroshade_ir::{
    FloatCC, Imm, IntCC, InvocationInputs, IoDecl, MemRef, Module, Numerics, Reference, ShaderEnv, Stage, interp, print, types::*,
};

struct Rng(u64);
impl Rng {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
}

const INTS: [u32; 20] = [
    0,
    1,
    2,
    3,
    5,
    7,
    10,
    31,
    32,
    33,
    255,
    256,
    65535,
    65536,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0xff00_0001,
];
const FLOATS: [f32; 26] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1.5,
    -1.5,
    2.5,
    3.5,
    -2.5,
    0.49999997,
    0.99999994,
    -0.1,
    8388607.5,
    4194303.5,
    4194304.5,
    4194305.5,
    -4194305.5,
    1e10,
    -1e10,
    2147483648.0,
    4294967040.0,
    4294967296.0,
    1e-3,
    3.0e38,
];

fn ints(rng: &mut Rng, n: usize) -> Vec<u32> {
    (0..n)
        .map(|_| match rng.next() % 4 {
            0 => INTS[rng.next() as usize % INTS.len()],
            1 => rng.next() >> (rng.next() % 32),
            2 => (1u32 << (rng.next() % 32)).wrapping_add(rng.next() % 3).wrapping_sub(1),
            _ => rng.next(),
        })
        .collect()
}

fn floats(rng: &mut Rng, n: usize, limit: f32) -> Vec<u32> {
    (0..n)
        .map(|_| {
            let x = match rng.next() % 3 {
                0 => FLOATS[rng.next() as usize % FLOATS.len()],
                1 => (rng.next() as f32 / 4294967296.0 - 0.5) * 2.0 * limit,
                _ => f32::from_bits(rng.next() & 0x807f_ffff | (rng.next() % 60 + 97) << 23),
            };
            (if x.abs() <= limit { x } else { x % limit }).to_bits()
        })
        .collect()
}

/// Runs one operation on columns of operands, before and after the rules.
fn compare(
    op: Opcode,
    imm: Imm,
    operands: &[(Type, Vec<u32>)],
    result: Type,
    rules: &[(Opcode, Rule)],
    num: &dyn Numerics,
) -> Vec<(u32, u32, Vec<u32>)> {
    let mut m = Module::new("t", Stage::Vertex);
    let mut inputs = Vec::new();
    for (n, (ty, _)) in operands.iter().enumerate() {
        inputs.push(m.inputs.push(IoDecl::at_location(&format!("i{n}"), *ty, n as u32)));
    }
    let out = m.outputs.push(IoDecl::at_location("o", result, 0));
    let f = m.main_mut();
    let entry = f.add_block();
    let mut b = Builder::new(f, entry);
    let args: Vec<Value> = inputs.iter().zip(operands).map(|(i, (ty, _))| b.load(*ty, MemRef::Input(*i), 0, None)).collect();
    let r = b.typed(op, result, &args, imm);
    b.store(MemRef::Output(out), 0, r, None);
    b.ret(&[]);
    let rows = operands.iter().map(|(ty, v)| v.len() / ty.lanes as usize).min().unwrap_or(0);
    let env = ShaderEnv {
        invocations: (0..rows)
            .map(|n| InvocationInputs {
                inputs: operands.iter().map(|(ty, v)| v[n * ty.lanes as usize..(n + 1) * ty.lanes as usize].to_vec()).collect(),
            })
            .collect(),
        workgroups: [1; 3],
        ..ShaderEnv::default()
    };
    let before = interp::run(&m, &env, &Reference).unwrap();
    assert!(apply(m.main_mut(), rules), "no rule applied");
    assert!(!m.main().ordered().any(|(_, i)| {
        rules.iter().any(|(o, _)| *o == m.main().insts[i].op && o.name() == op.name() && op != Opcode::Fcmp && op != Opcode::Icmp)
    }));
    if let Err(e) = retroshade_ir::verify(&m) {
        panic!("{e:?}\n{}", print(&m));
    }
    let after = interp::run(&m, &env, num).unwrap();
    let mut out = Vec::new();
    for (n, (x, y)) in before.invocations.iter().zip(&after.invocations).enumerate() {
        for (p, q) in x.outputs[0].iter().zip(&y.outputs[0]) {
            out.push((*p, *q, env.invocations[n].inputs.concat()));
        }
    }
    out
}

fn exact(op: Opcode, imm: Imm, operands: &[(Type, Vec<u32>)], result: Type, rules: &[(Opcode, Rule)]) {
    exact_under(op, imm, operands, result, rules, &Reference);
}

fn exact_under(op: Opcode, imm: Imm, operands: &[(Type, Vec<u32>)], result: Type, rules: &[(Opcode, Rule)], num: &dyn Numerics) {
    for (want, got, args) in compare(op, imm, operands, result, rules, num) {
        assert_eq!(want, got, "{} {args:x?}: {want:#x} / {got:#x}", op.name());
    }
}

/// Floats: equal but for the sign of a zero, or within a number of units in the last place, or within an absolute bound.
fn close(op: Opcode, operands: &[(Type, Vec<u32>)], rules: &[(Opcode, Rule)], ulp: u32, absolute: f32) {
    for (want, got, args) in compare(op, Imm::None, operands, F32, rules, &Reference) {
        let (x, y) = (f32::from_bits(want), f32::from_bits(got));
        let fine = x == y || x.is_nan() && y.is_nan() || want.abs_diff(got) <= ulp || (x - y).abs() <= absolute;
        assert!(fine, "{} {:?}: {x} / {y}", op.name(), args.iter().map(|a| f32::from_bits(*a)).collect::<Vec<_>>());
    }
}

/// A machine whose reciprocal is off by a unit or two, in a direction that depends on the operand.
struct Sloppy;
impl Numerics for Sloppy {
    fn unary(&self, op: Opcode, ty: Scalar, a: u32) -> u32 {
        let r = retroshade_ir::numerics::reference_unary(op, ty, a);
        if op == Opcode::Frcp && f32::from_bits(r).is_normal() { r.wrapping_add(a.count_ones() % 3).wrapping_sub(1) } else { r }
    }
}
use retroshade_ir::Scalar;

const N: usize = 20_000;

#[test]
fn integer_division() {
    let mut rng = Rng(1);
    for op in [Opcode::Udiv, Opcode::Urem, Opcode::Sdiv, Opcode::Srem] {
        let mut x = ints(&mut rng, N);
        let mut y: Vec<u32> = ints(&mut rng, N).into_iter().map(|v| v.max(1)).collect();
        // Quotients near whole numbers are where estimates fail.
        for n in 0..N / 2 {
            let q = rng.next() >> (rng.next() % 32);
            x[n] = q.wrapping_mul(y[n]).wrapping_add(rng.next() % 3).wrapping_sub(1);
        }
        for (a, b) in x.iter_mut().zip(&mut y) {
            if *a == 0x8000_0000 && *b == u32::MAX {
                *b = 3; // unspecified
            }
        }
        let operands = [(I32, x), (I32, y)];
        for rule in [intdiv::by_float as Rule, intdiv::by_mulhi] {
            exact(op, Imm::None, &operands, I32, &[(op, rule)]);
            exact_under(op, Imm::None, &operands, I32, &[(op, rule)], &Sloppy);
        }
        // The same on vectors, and with the high product expanded as well.
        let wide: Vec<(Type, Vec<u32>)> = operands.iter().map(|(_, v)| (Type::new(Scalar::I32, 4), v.clone())).collect();
        exact(op, Imm::None, &wide, Type::new(Scalar::I32, 4), &[(op, intdiv::by_mulhi), (Opcode::Umulhi, mul::umulhi_imul)]);
    }
}

#[test]
fn division_by_constants() {
    let mut rng = Rng(2);
    let mut divisors: Vec<u32> = INTS[1..].to_vec();
    divisors.extend((0..100).map(|_| rng.next() >> (rng.next() % 31)).filter(|d| *d != 0));
    divisors.extend([3, 5, 6, 7, 9, 10, 11, 12, 13, 25, 100, 125, 641, 1000, 6_700_417, 0x7fff_fffe, 0xaaaa_aaab]);
    for d in divisors {
        for op in [Opcode::Udiv, Opcode::Urem, Opcode::Sdiv, Opcode::Srem] {
            let mut f = retroshade_ir::Function::new("f");
            let entry = f.add_block();
            for x in ints(&mut rng, 200).into_iter().chain([d, d.wrapping_mul(3), d.wrapping_mul(3).wrapping_sub(1)]) {
                if x == 0x8000_0000 && d == u32::MAX {
                    continue;
                }
                // Folded by the builder's user: evaluate the expansion with constants throughout.
                let mut b = Builder::new(&mut f, entry);
                let (xv, dv) = (b.iconst(I32, x), b.iconst(I32, d));
                let data = InstData::new(op, &[xv, dv], Imm::None);
                let v = intdiv::by_mulhi(&mut b, &data, I32).unwrap();
                let mut values: std::collections::HashMap<Value, [u32; 4]> = Default::default();
                for i in std::mem::take(&mut f.blocks[entry].insts) {
                    let d = &f.insts[i];
                    let args: Vec<[u32; 4]> = d.args.iter().map(|a| values[a]).collect();
                    let types: Vec<Type> = d.args.iter().map(|a| f.ty(*a)).collect();
                    let r = d.results[0];
                    values.insert(r, interp::eval(&Reference, d.op, &d.imm, f.ty(r), &types, &args).unwrap());
                }
                assert_eq!(values[&v][0], interp::ops::int_binary(op, x, d), "{} {x:#x} {d:#x}", op.name());
            }
        }
    }
}

#[test]
fn products() {
    let mut rng = Rng(3);
    let operands = [(I32, ints(&mut rng, N)), (I32, ints(&mut rng, N))];
    exact(Opcode::Umulhi, Imm::None, &operands, I32, &[(Opcode::Umulhi, mul::umulhi_imul)]);
    exact(Opcode::Smulhi, Imm::None, &operands, I32, &[(Opcode::Smulhi, mul::smulhi_umulhi)]);
    fn by_halves(b: &mut Builder, d: &InstData, _: Type) -> Option<Value> {
        // The inner products are of 16-bit numbers: a shift-and-add product stands in for the machine's.
        Some(mul::imul16(b, d.args[0], d.args[1], &mut |b, x, y| {
            let ty = b.func.ty(x);
            mul::imul_shift_add(b, &InstData::new(Opcode::Imul, &[x, y], Imm::None), ty).unwrap()
        }))
    }
    exact(Opcode::Imul, Imm::None, &operands, I32, &[(Opcode::Imul, by_halves)]);
    exact(Opcode::Imul, Imm::None, &operands, I32, &[(Opcode::Imul, mul::imul_shift_add)]);
}

#[test]
fn bit_operations() {
    let mut rng = Rng(4);
    let x = (I32, ints(&mut rng, N));
    let small = |rng: &mut Rng| (I32, (0..N).map(|_| rng.next() % 40).collect::<Vec<u32>>());
    let (o, c) = (small(&mut rng), small(&mut rng));
    let one = [x.clone()];
    exact(Opcode::Bitcount, Imm::None, &one, I32, &[(Opcode::Bitcount, bits::bitcount)]);
    exact(Opcode::Bitrev, Imm::None, &one, I32, &[(Opcode::Bitrev, bits::bitrev)]);
    for rule in [bits::find_umsb_float as Rule, bits::find_umsb_search] {
        exact(Opcode::FindUmsb, Imm::None, &one, I32, &[(Opcode::FindUmsb, rule)]);
    }
    exact(Opcode::FindSmsb, Imm::None, &one, I32, &[(Opcode::FindSmsb, bits::find_smsb)]);
    exact(Opcode::FindLsb, Imm::None, &one, I32, &[(Opcode::FindLsb, bits::find_lsb)]);
    let field = [x.clone(), o.clone(), c.clone()];
    exact(Opcode::Ubfe, Imm::None, &field, I32, &[(Opcode::Ubfe, bits::bfe)]);
    exact(Opcode::Sbfe, Imm::None, &field, I32, &[(Opcode::Sbfe, bits::bfe)]);
    let y = (I32, ints(&mut rng, N));
    exact(Opcode::Bfi, Imm::None, &[x.clone(), y.clone(), o, c], I32, &[(Opcode::Bfi, bits::bfi)]);
    for op in [Opcode::Umin, Opcode::Umax, Opcode::Smin, Opcode::Smax] {
        exact(op, Imm::None, &[x.clone(), y.clone()], I32, &[(op, bits::int_min_max)]);
    }
    exact(Opcode::Iabs, Imm::None, &one, I32, &[(Opcode::Iabs, bits::iabs)]);
    exact(Opcode::Ineg, Imm::None, &one, I32, &[(Opcode::Ineg, bits::ineg_sub)]);
    exact(Opcode::Inot, Imm::None, &one, I32, &[(Opcode::Inot, bits::inot_xor)]);
    for cc in [IntCC::Ult, IntCC::Ule, IntCC::Ugt, IntCC::Uge] {
        exact(Opcode::Icmp, Imm::IntCC(cc), &[x.clone(), y.clone()], I1, &[(Opcode::Icmp, bits::icmp_signed)]);
    }
}

#[test]
fn floats_in_terms_of_others() {
    let mut rng = Rng(5);
    let x = (F32, floats(&mut rng, N, 1e11));
    let mut y = (F32, floats(&mut rng, N, 1e11));
    for v in &mut y.1 {
        if f32::from_bits(*v) == 0.0 {
            *v = 1;
        }
        if !f32::from_bits(*v).is_normal() {
            *v = 3.5f32.to_bits();
        }
    }
    let one = [x.clone()];
    let two = [x.clone(), y];
    close(Opcode::Fdiv, &two, &[(Opcode::Fdiv, float::fdiv_rcp)], 2, 0.0);
    close(Opcode::Fdiv, &two, &[(Opcode::Fdiv, float::fdiv_newton)], 1, 0.0);
    let positive = [(F32, x.1.iter().map(|v| v & 0x7fff_ffff).collect::<Vec<u32>>())];
    close(Opcode::Fsqrt, &positive, &[(Opcode::Fsqrt, float::fsqrt_rcp_rsqrt)], 2, 0.0);
    close(Opcode::Frsqrt, &positive, &[(Opcode::Frsqrt, float::frsqrt_rcp_sqrt)], 2, 0.0);
    close(Opcode::Fsign, &one, &[(Opcode::Fsign, float::fsign)], 0, 0.0);
    close(Opcode::Fsaturate, &one, &[(Opcode::Fsaturate, float::fsaturate_min_max)], 0, 0.0);
    close(Opcode::Ffract, &one, &[(Opcode::Ffract, float::ffract_floor)], 0, 0.0);
    close(Opcode::Ffloor, &one, &[(Opcode::Ffloor, float::ffloor_trunc)], 0, 0.0);
    close(Opcode::Fceil, &one, &[(Opcode::Fceil, float::fceil_floor)], 0, 0.0);
    close(Opcode::Ftrunc, &one, &[(Opcode::Ftrunc, float::ftrunc_floor)], 0, 0.0);
    close(Opcode::Fround, &one, &[(Opcode::Fround, float::fround_floor)], 0, 0.0);
    close(Opcode::Fround, &one, &[(Opcode::Fround, float::fround_magic)], 0, 0.0);
    close(Opcode::Fabs, &one, &[(Opcode::Fabs, float::fabs_max)], 0, 0.0);
    close(Opcode::Fneg, &one, &[(Opcode::Fneg, float::fneg_mul)], 0, 0.0);
    let angles = [(F32, floats(&mut rng, N, std::f32::consts::PI))];
    close(Opcode::Fsin, &angles, &[(Opcode::Fsin, trig::fsin_poly)], 0, 1.0 / 8192.0);
    close(Opcode::Fcos, &angles, &[(Opcode::Fcos, trig::fcos_poly)], 0, 1.0 / 8192.0);
    let z = (F32, floats(&mut rng, N, 100.0));
    let mut w = z.clone();
    w.1.rotate_left(1);
    for n in 0..100 {
        w.1[n] = z.1[n];
        w.1[n + 100] = f32::NAN.to_bits();
    }
    for cc in FloatCC::ALL {
        if matches!(cc, FloatCC::Olt | FloatCC::Ole | FloatCC::Ogt | FloatCC::Oge | FloatCC::Oeq | FloatCC::Une) {
            continue;
        }
        exact(Opcode::Fcmp, Imm::FloatCC(*cc), &[z.clone(), w.clone()], I1, &[(Opcode::Fcmp, float::fcmp_basic)]);
    }
}

/// Builds two values from the same operands and gives both for every row.
fn both(operands: &[(Type, Vec<u32>)], build: &dyn Fn(&mut Builder, &[Value]) -> (Value, Value)) -> Vec<(u32, u32, Vec<u32>)> {
    let mut m = Module::new("t", Stage::Vertex);
    let inputs: Vec<_> =
        operands.iter().enumerate().map(|(n, (ty, _))| m.inputs.push(IoDecl::at_location(&format!("i{n}"), *ty, n as u32))).collect();
    let f = m.main_mut();
    let entry = f.add_block();
    let mut b = Builder::new(f, entry);
    let args: Vec<Value> = inputs.iter().zip(operands).map(|(i, (ty, _))| b.load(*ty, MemRef::Input(*i), 0, None)).collect();
    let (x, y) = build(&mut b, &args);
    let ty = b.func.ty(x);
    let outs = [0, 1].map(|n| m.outputs.push(IoDecl::at_location(&format!("o{n}"), ty, n)));
    let mut b = Builder::new(m.main_mut(), entry);
    b.store(MemRef::Output(outs[0]), 0, x, None);
    b.store(MemRef::Output(outs[1]), 0, y, None);
    b.ret(&[]);
    if let Err(e) = retroshade_ir::verify(&m) {
        panic!("{e:?}\n{}", print(&m));
    }
    let row = |n: usize| InvocationInputs { inputs: operands.iter().map(|(_, v)| vec![v[n]]).collect() };
    let env = ShaderEnv { invocations: (0..operands[0].1.len()).map(row).collect(), workgroups: [1; 3], ..ShaderEnv::default() };
    let r = interp::run(&m, &env, &Reference).unwrap();
    r.invocations.iter().enumerate().map(|(n, i)| (i.outputs[0][0], i.outputs[1][0], env.invocations[n].inputs.concat())).collect()
}

#[test]
fn floats_in_terms_of_others_within_a_range() {
    let mut rng = Rng(8);
    let x = (F32, floats(&mut rng, N, 1e11));
    let y = (F32, floats(&mut rng, N, 1e11));
    close(Opcode::Fsub, &[x.clone(), y], &[(Opcode::Fsub, float::fsub_add)], 0, 0.0);
    let nonzero = [(F32, x.1.iter().map(|v| v & 0x7fff_ffff).filter(|v| f32::from_bits(*v).is_normal()).collect::<Vec<u32>>())];
    close(Opcode::Fsqrt, &nonzero, &[(Opcode::Fsqrt, float::fsqrt_mul_rsqrt)], 2, 0.0);
    // The floor of tiny negative numbers is where a rounded fraction is 1.
    let plain = [(F32, x.1.iter().copied().filter(|v| f32::from_bits(*v) >= 0.0 || f32::from_bits(*v) < -1e-3).collect::<Vec<u32>>())];
    close(Opcode::Ffloor, &plain, &[(Opcode::Ffloor, float::ffloor_fract)], 0, 0.0);
    // The error of log2 is multiplied by the exponent.
    let base = (F32, floats(&mut rng, N, 100.0).into_iter().map(|v| (f32::from_bits(v).abs() + 0.01).to_bits()).collect());
    let exponent = (F32, floats(&mut rng, N, 4.0));
    close(Opcode::Fpow, &[base, exponent], &[(Opcode::Fpow, float::fpow)], 64, 0.0);
}

#[test]
fn halves_through_floats() {
    let mut rng = Rng(9);
    let half = |rng: &mut Rng| (F16, (0..N).map(|_| rng.next() & 0xffff).collect::<Vec<u32>>());
    let operands = [half(&mut rng), half(&mut rng)];
    for op in [Opcode::Fadd, Opcode::Fsub, Opcode::Fmul, Opcode::Fdiv, Opcode::Fmin, Opcode::Fmax, Opcode::Fsqrt] {
        let n = if op == Opcode::Fsqrt { 1 } else { 2 };
        let rows = both(&operands, &|b, args| {
            let direct = b.ins(op, &args[..n]);
            (direct, float::f16_by_f32(b, &InstData::new(op, &args[..n], Imm::None), F16).unwrap())
        });
        for (want, got, args) in rows {
            let nan = (want & 0x7fff) > 0x7c00 && (got & 0x7fff) > 0x7c00;
            let zero = want & 0x7fff == 0 && got & 0x7fff == 0;
            assert!(want == got || nan || zero, "{} {args:x?}: {want:#x} / {got:#x}", op.name());
        }
    }
}

#[test]
fn angles_brought_into_range() {
    let mut rng = Rng(10);
    let angles = [(F32, floats(&mut rng, N, 1000.0))];
    let rows = both(&angles, &|b, args| {
        let r = trig::reduced_radians(b, args[0]);
        (b.ins(Opcode::Fsin, &[args[0]]), b.ins(Opcode::Fsin, &[r]))
    });
    for (want, got, args) in rows {
        let (x, y, angle) = (f32::from_bits(want), f32::from_bits(got), f32::from_bits(args[0]));
        // Documented: 2^-24 of the angle, in turns; a quarter more for the rounding of the sum.
        let bound = (angle.abs() / std::f32::consts::TAU + 1.0) * std::f32::consts::TAU * 2f32.powi(-23);
        assert!((x - y).abs() <= bound, "{angle}: {x} / {y}");
    }
    let rows = both(&angles, &|b, args| (args[0], trig::reduced_radians(b, args[0])));
    assert!(rows.iter().all(|(_, got, _)| f32::from_bits(*got).abs() <= std::f32::consts::PI * 1.000_001));
}

#[test]
fn cube_faces_and_coordinates() {
    let mut rng = Rng(11);
    let axis = |rng: &mut Rng| (F32, floats(rng, N, 10.0).into_iter().map(|v| (f32::from_bits(v) + 0.001).to_bits()).collect::<Vec<u32>>());
    let operands = [axis(&mut rng), axis(&mut rng), axis(&mut rng)];
    type Part = fn(cube::CubeCoords) -> Value;
    let parts: [Part; 4] = [|c| c.face, |c| c.s, |c| c.t, |c| c.major];
    let columns: Vec<Vec<f32>> = parts
        .iter()
        .map(|part| {
            let rows = both(&operands, &|b, args| (args[0], part(cube::coords(b, [args[0], args[1], args[2]]))));
            rows.into_iter().map(|r| f32::from_bits(r.1)).collect()
        })
        .collect();
    for n in 0..N {
        let v = [0, 1, 2].map(|k| f32::from_bits(operands[k].1[n]));
        let a = v.map(f32::abs);
        // The table of the OpenGL specification (3.8.10), ties to the later axis.
        let k = if a[2] >= a[0].max(a[1]) { 2 } else { (a[1] >= a[0]) as usize };
        let minus = v[k] < 0.0;
        let (sc, tc) = match (k, minus) {
            (0, false) => (-v[2], -v[1]),
            (0, true) => (v[2], -v[1]),
            (1, false) => (v[0], v[2]),
            (1, true) => (v[0], -v[2]),
            (_, false) => (v[0], -v[1]),
            (_, true) => (-v[0], -v[1]),
        };
        assert_eq!(columns[0][n], (2 * k) as f32 + f32::from(u8::from(minus)), "{v:?}");
        assert_eq!(columns[3][n], a[k], "{v:?}");
        assert!((columns[1][n] - (sc / a[k] + 1.0) / 2.0).abs() < 1e-6 && (columns[2][n] - (tc / a[k] + 1.0) / 2.0).abs() < 1e-6, "{v:?}");
    }
    let rows = both(&operands, &|b, args| {
        let n = cube::normalise(b, [args[0], args[1], args[2]]);
        let a = n.map(|v| b.ins(Opcode::Fabs, &[v]));
        let m = b.ins(Opcode::Fmax, &[a[0], a[1]]);
        (b.fconst(F32, 1.0), b.ins(Opcode::Fmax, &[m, a[2]]))
    });
    assert!(rows.iter().all(|(want, got, _)| want.abs_diff(*got) <= 1));
}

#[test]
fn conversions() {
    let mut rng = Rng(6);
    let x = [(F32, floats(&mut rng, N, 1e11))];
    exact(Opcode::F2u, Imm::None, &x, I32, &[(Opcode::F2u, float::f2u_f2s)]);
    let i = [(I32, ints(&mut rng, N))];
    exact(Opcode::U2f, Imm::None, &i, F32, &[(Opcode::U2f, float::u2f_s2f)]);
}

#[test]
fn packing() {
    let mut rng = Rng(7);
    let f4 = Type::new(Scalar::F32, 4);
    let f2 = Type::new(Scalar::F32, 2);
    let four = [(f4, floats(&mut rng, N, 1.5))];
    let two = [(f2, floats(&mut rng, N, 1.5))];
    for op in [Opcode::PackUnorm4x8, Opcode::PackSnorm4x8] {
        exact(op, Imm::None, &four, I32, &[(op, pack::pack_norm)]);
    }
    for op in [Opcode::PackUnorm2x16, Opcode::PackSnorm2x16] {
        exact(op, Imm::None, &two, I32, &[(op, pack::pack_norm)]);
    }
    let words = [(I32, ints(&mut rng, N))];
    for (op, ty) in
        [(Opcode::UnpackUnorm4x8, f4), (Opcode::UnpackSnorm4x8, f4), (Opcode::UnpackUnorm2x16, f2), (Opcode::UnpackSnorm2x16, f2)]
    {
        for (want, got, args) in compare(op, Imm::None, &words, ty, &[(op, pack::unpack_norm)], &Reference) {
            assert!(want.abs_diff(got) <= 1, "{} {args:x?}: {want:#x} / {got:#x}", op.name());
        }
    }
    // Halves: the whole range of f32, and every half.
    let any: Vec<u32> =
        (0..2 * N).map(|n| if n % 3 == 0 { rng.next() } else { rng.next() & 0x8fff_ffff | (rng.next() % 5 + 3) << 28 }).collect();
    let mut near: Vec<u32> =
        (0..N as u32).map(|n| ((n % 50 + 95) << 23) | (rng.next() & 0x7f_e000) | [0, 0xfff, 0x1000, 0x1001][n as usize % 4]).collect();
    near.extend(any);
    let near = [(f2, near)];
    let same_half = |x: u32, y: u32| x == y || (x & 0x7fff) > 0x7c00 && (y & 0x7fff) > 0x7c00;
    for rule in [pack::pack_half_int as Rule, pack::pack_half_cvt] {
        for (want, got, args) in compare(Opcode::PackHalf2x16, Imm::None, &near, I32, &[(Opcode::PackHalf2x16, rule)], &Reference) {
            assert!(same_half(want & 0xffff, got & 0xffff) && same_half(want >> 16, got >> 16), "{args:x?}: {want:#x} / {got:#x}");
        }
    }
    let halves = [(I32, (0..0x1_0000u32).map(|n| n | n.wrapping_mul(40503) << 16).collect::<Vec<u32>>())];
    for rule in [pack::unpack_half_int as Rule, pack::unpack_half_cvt] {
        for (want, got, args) in compare(Opcode::UnpackHalf2x16, Imm::None, &halves, f2, &[(Opcode::UnpackHalf2x16, rule)], &Reference) {
            let nan = f32::from_bits(want).is_nan() && f32::from_bits(got).is_nan();
            assert!(want == got || nan, "{args:x?}: {want:#x} / {got:#x}");
        }
    }
}
