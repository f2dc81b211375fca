//! Each operation on known values, and the behaviour of each stage.

use super::*;
use crate::builder::Builder;
use crate::entities::*;
use crate::env::*;
use crate::inst::*;
use crate::module::*;
use crate::numerics::Reference;
use crate::opcode::Opcode;
use crate::types::*;

fn f(x: f32) -> u32 {
    x.to_bits()
}
fn op(op: Opcode, result: Type, types: &[Type], args: &[[u32; 4]]) -> [u32; 4] {
    eval(&Reference, op, &Imm::None, result, types, args).expect("pure")
}
fn int(o: Opcode, args: &[u32]) -> u32 {
    op(o, I32, &vec![I32; args.len()], &args.iter().map(|a| [*a, 0, 0, 0]).collect::<Vec<_>>())[0]
}
fn flt(o: Opcode, args: &[f32]) -> f32 {
    f32::from_bits(op(o, F32, &vec![F32; args.len()], &args.iter().map(|a| [a.to_bits(), 0, 0, 0]).collect::<Vec<_>>())[0])
}

#[test]
fn integer_operations() {
    use Opcode::*;
    let m = u32::MAX;
    for (o, args, want) in [
        (Iadd, &[m, 2][..], 1),
        (Isub, &[1, 2], m),
        (Imul, &[0x10001, 0x10001], 0x20001),
        (Umulhi, &[m, m], 0xffff_fffe),
        (Smulhi, &[m, m], 0),
        (Udiv, &[7, 2], 3),
        (Udiv, &[7, 0], 7),
        (Sdiv, &[(-7i32) as u32, 2], (-3i32) as u32),
        (Sdiv, &[0x8000_0000, m], 0x8000_0000),
        (Urem, &[7, 4], 3),
        (Srem, &[(-7i32) as u32, 4], (-3i32) as u32),
        (Srem, &[0x8000_0000, m], 0),
        (Ineg, &[1], m),
        (Iabs, &[0x8000_0000], 0x8000_0000),
        (Iabs, &[m], 1),
        (Iand, &[6, 3], 2),
        (Ior, &[6, 3], 7),
        (Ixor, &[6, 3], 5),
        (Inot, &[0], m),
        (Ishl, &[1, 33], 2),
        (Ushr, &[0x8000_0000, 31], 1),
        (Sshr, &[0x8000_0000, 31], m),
        (Umin, &[m, 1], 1),
        (Umax, &[m, 1], m),
        (Smin, &[m, 1], m),
        (Smax, &[m, 1], 1),
        (Bitcount, &[0xf0f0], 8),
        (Bitrev, &[1], 0x8000_0000),
        (FindUmsb, &[0], m),
        (FindUmsb, &[0x8000_0000], 31),
        (FindUmsb, &[5], 2),
        (FindSmsb, &[m], m),
        (FindSmsb, &[0xffff_fffb], 2),
        (FindSmsb, &[0x4000_0000], 30),
        (FindLsb, &[0], m),
        (FindLsb, &[12], 2),
        (Ubfe, &[0xabcd, 4, 8], 0xbc),
        (Sbfe, &[0xabcd, 4, 8], 0xffff_ffbc),
        (Ubfe, &[0xabcd_1234, 28, 9], 0xa),
        (Ubfe, &[0xabcd_1234, 40, 9], 0),
        (Ubfe, &[0xabcd_1234, 0, 32], 0xabcd_1234),
        (Bfi, &[m, 0, 4, 8], 0xffff_f00f),
        (Bfi, &[0, 0x1234, 24, 32], 0x3400_0000),
        (Bfi, &[5, 1, 0, 0], 5),
    ] {
        assert_eq!(int(o, args), want, "{o:?} {args:x?}");
    }
}

#[test]
fn float_operations() {
    use Opcode::*;
    for (o, args, want) in [
        (Fadd, &[1.0, 2.0][..], 3.0),
        (Fsub, &[1.0, 2.0], -1.0),
        (Fmul, &[3.0, 2.0], 6.0),
        (Fdiv, &[3.0, 2.0], 1.5),
        (Fma, &[3.0, 2.0, 1.0], 7.0),
        (Fmad, &[3.0, 2.0, 1.0], 7.0),
        (Fneg, &[3.0], -3.0),
        (Fabs, &[-3.0], 3.0),
        (Fmin, &[f32::NAN, 2.0], 2.0),
        (Fmax, &[f32::NAN, 2.0], 2.0),
        (Fmin, &[1.0, 2.0], 1.0),
        (Fmax, &[1.0, 2.0], 2.0),
        (Ffloor, &[-1.5], -2.0),
        (Fceil, &[-1.5], -1.0),
        (Ftrunc, &[-1.5], -1.0),
        (Fround, &[2.5], 2.0),
        (Fround, &[-3.5], -4.0),
        (Ffract, &[-1.25], 0.75),
        (Frcp, &[4.0], 0.25),
        (Frsqrt, &[4.0], 0.5),
        (Fsqrt, &[9.0], 3.0),
        (Fexp2, &[3.0], 8.0),
        (Flog2, &[8.0], 3.0),
        (Fsin, &[0.0], 0.0),
        (Fcos, &[0.0], 1.0),
        (Fpow, &[2.0, 3.0], 8.0),
        (Fsaturate, &[2.0], 1.0),
        (Fsaturate, &[f32::NAN], 0.0),
        (Fsign, &[-2.0], -1.0),
        (Fsign, &[f32::NAN], 0.0),
    ] {
        assert_eq!(flt(o, args), want, "{o:?} {args:?}");
    }
    let v = F32.with_lanes(3);
    assert_eq!(op(Opcode::Dot, F32, &[v, v], &[[f(1.0), f(2.0), f(3.0), f(9.0)], [f(4.0), f(5.0), f(6.0), f(9.0)]])[0], f(32.0));
    // binary16: rounded after each operation.
    assert_eq!(op(Fadd, F16, &[F16, F16], &[[0x3c00, 0, 0, 0], [0x1000, 0, 0, 0]])[0], 0x3c00);
}

#[test]
fn conversions_and_vectors() {
    use Opcode::*;
    let conv = |o, to: Type, from: Type, a: u32| op(o, to, &[from], &[[a, 0, 0, 0]])[0];
    assert_eq!(conv(F2s, I32, F32, f(-1.9)) as i32, -1);
    assert_eq!(conv(F2s, I32, F32, f(1e20)), i32::MAX as u32);
    assert_eq!(conv(F2s, I32, F32, f(f32::NAN)), 0);
    assert_eq!(conv(F2u, I32, F32, f(-1.0)), 0);
    assert_eq!(conv(F2u, I32, F32, f(1e20)), u32::MAX);
    assert_eq!(conv(S2f, F32, I32, u32::MAX), f(-1.0));
    assert_eq!(conv(U2f, F32, I32, u32::MAX), f(4294967296.0));
    assert_eq!(conv(Fcvt, F16, F32, f(1.0)), 0x3c00);
    assert_eq!(conv(Fcvt, F32, F16, 0x3c00), f(1.0));
    assert_eq!(conv(Bitcast, I32, F32, f(1.0)), 0x3f80_0000);
    let h2 = F16.with_lanes(2);
    assert_eq!(op(Bitcast, I32, &[h2], &[[0x1234, 0x5678, 0, 0]])[0], 0x5678_1234);
    assert_eq!(op(Bitcast, h2, &[I32], &[[0x5678_1234, 0, 0, 0]]), [0x1234, 0x5678, 0, 0]);
    let (v2, v4) = (F32.with_lanes(2), F32.with_lanes(4));
    let quarter = [f(0.0), f(1.0), f(0.5), f(-3.0)];
    assert_eq!(op(PackUnorm4x8, I32, &[v4], &[quarter])[0], 0x0080_ff00);
    assert_eq!(op(PackSnorm4x8, I32, &[v4], &[quarter])[0], 0x8140_7f00);
    assert_eq!(op(PackUnorm2x16, I32, &[v2], &[[f(1.0), f(0.5), 0, 0]])[0], 0x8000_ffff);
    assert_eq!(op(PackSnorm2x16, I32, &[v2], &[[f(1.0), f(-1.0), 0, 0]])[0], 0x8001_7fff);
    assert_eq!(op(PackHalf2x16, I32, &[v2], &[[f(1.0), f(-2.0), 0, 0]])[0], 0xc000_3c00);
    assert_eq!(op(UnpackUnorm4x8, v4, &[I32], &[[0xff00_ff00, 0, 0, 0]]), [0, f(1.0), 0, f(1.0)]);
    assert_eq!(op(UnpackSnorm4x8, v4, &[I32], &[[0x7f80_8100, 0, 0, 0]]), [0, f(-1.0), f(-1.0), f(1.0)]);
    assert_eq!(op(UnpackUnorm2x16, v2, &[I32], &[[0xffff_0000, 0, 0, 0]]), [0, f(1.0), 0, 0]);
    assert_eq!(op(UnpackSnorm2x16, v2, &[I32], &[[0x7fff_8000, 0, 0, 0]]), [f(-1.0), f(1.0), 0, 0]);
    assert_eq!(op(UnpackHalf2x16, v2, &[I32], &[[0xc000_3c00, 0, 0, 0]]), [f(1.0), f(-2.0), 0, 0]);

    let i3 = I32.with_lanes(3);
    assert_eq!(op(Splat, i3, &[I32], &[[7, 0, 0, 0]]), [7, 7, 7, 0]);
    assert_eq!(op(Build, i3, &[I32; 3], &[[1, 0, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0]]), [1, 2, 3, 0]);
    let e = |o, imm, ty, types: &[Type], args: &[[u32; 4]]| eval(&Reference, o, &imm, ty, types, args).expect("pure");
    assert_eq!(e(Extract, Imm::Lane(1), I32, &[i3], &[[1, 2, 3, 0]]), [2, 0, 0, 0]);
    assert_eq!(e(Insert, Imm::Lane(1), i3, &[i3, I32], &[[1, 2, 3, 0], [9, 0, 0, 0]]), [1, 9, 3, 0]);
    let mask = Imm::Lanes([3, 0, 2, 4].as_slice().into());
    assert_eq!(e(Shuffle, mask, I32.with_lanes(4), &[i3, i3], &[[1, 2, 3, 0], [4, 5, 6, 0]]), [4, 1, 3, 5]);
    let b2 = I1.with_lanes(2);
    let i2 = I32.with_lanes(2);
    assert_eq!(op(Select, i2, &[b2, i2, i2], &[[1, 0, 0, 0], [1, 2, 0, 0], [3, 4, 0, 0]]), [1, 4, 0, 0]);
    assert_eq!(op(Select, i2, &[I1, i2, i2], &[[0, 0, 0, 0], [1, 2, 0, 0], [3, 4, 0, 0]]), [3, 4, 0, 0]);
    assert_eq!(op(Any, I1, &[b2], &[[0, 1, 0, 0]])[0], 1);
    assert_eq!(op(All, I1, &[b2], &[[0, 1, 0, 0]])[0], 0);
    assert_eq!(op(Inot, I1, &[I1], &[[1, 0, 0, 0]])[0], 0);
    let nan = [f(f32::NAN), 0, 0, 0];
    for cc in FloatCC::ALL {
        assert_eq!(e(Fcmp, Imm::FloatCC(*cc), I1, &[F32, F32], &[nan, [0; 4]])[0] == 1, cc.when_unordered());
        assert_eq!(e(Fcmp, Imm::FloatCC(cc.inverse()), I1, &[F32, F32], &[nan, [0; 4]])[0] == 0, cc.when_unordered());
    }
    assert_eq!(e(Icmp, Imm::IntCC(IntCC::Slt), I1, &[I32, I32], &[[u32::MAX, 0, 0, 0], [0; 4]])[0], 1);
    assert!(eval(&Reference, Ext, &Imm::Ext("none".into()), F32, &[], &[]).is_none());
}

/// A module whose entry block is empty.
fn module(stage: Stage) -> (Module, Block) {
    let mut m = Module::new("main", stage);
    let b = m.main_mut().add_block();
    (m, b)
}
fn one(inputs: Vec<Vec<u32>>) -> ShaderEnv {
    ShaderEnv { invocations: vec![InvocationInputs { inputs }], ..ShaderEnv::default() }
}
fn out(m: &mut Module, ty: Type) -> MemRef {
    let n = m.outputs.len() as u32;
    MemRef::Output(m.outputs.push(IoDecl::at_location(&format!("o{n}"), ty, n)))
}
fn input(m: &mut Module, ty: Type) -> MemRef {
    let n = m.inputs.len() as u32;
    MemRef::Input(m.inputs.push(IoDecl::at_location(&format!("i{n}"), ty, n)))
}

#[test]
fn loop_call_and_local() {
    // sum of local[i & 3] for i in 0..n, the local filled by a helper that squares.
    let (mut m, entry) = module(Stage::Vertex);
    let (n, o) = (input(&mut m, I32), out(&mut m, I32));
    let mut square = crate::function::Function::new("square");
    square.results = vec![I32];
    let b = square.add_block();
    let x = square.add_param(b, I32);
    let mut s = Builder::new(&mut square, b);
    let y = s.ins(Opcode::Imul, &[x, x]);
    s.ret(&[y]);
    let square = m.functions.push(square);
    let func = m.main_mut();
    let local = MemRef::Local(func.locals.push(crate::function::LocalDecl { name: "a".to_string(), ty: I32, count: 4 }));
    let (head, body, done) = (func.add_block(), func.add_block(), func.add_block());
    let (i, sum) = (func.add_param(head, I32), func.add_param(head, I32));
    let mut s = Builder::new(func, entry);
    for k in 0..4 {
        let c = s.iconst(I32, k);
        let call = s.push(InstData::new(Opcode::Call, &[c], Imm::Func(square)), &[I32]);
        let r = s.func.insts[call].results[0];
        s.store(local, 0, r, Some(c));
    }
    let limit = s.load(I32, n, 0, None);
    let zero = s.iconst(I32, 0);
    s.jump(head, &[zero, zero]);
    s.switch_to(head);
    let more = s.icmp(IntCC::Ult, i, limit);
    s.br_if(more, (body, &[]), (done, &[]));
    s.switch_to(body);
    let three = s.iconst(I32, 3);
    let at = s.ins(Opcode::Iand, &[i, three]);
    let v = s.load(I32, local, 0, Some(at));
    let next = s.ins(Opcode::Iadd, &[sum, v]);
    let unit = s.iconst(I32, 1);
    let i2 = s.ins(Opcode::Iadd, &[i, unit]);
    s.jump(head, &[i2, next]);
    s.switch_to(done);
    s.store(o, 0, sum, None);
    s.ret(&[]);
    let r = run(&m, &one(vec![vec![6]]), &Reference).expect("runs");
    assert_eq!(r.invocations[0].outputs, vec![vec![1 + 4 + 9 + 1]]);
    let limits = Limits { fuel: 100, ..Limits::default() };
    assert_eq!(run_with(&m, &one(vec![vec![1000]]), &Reference, &limits), Err(InterpError::OutOfFuel(100)));
    assert!(matches!(run(&m, &one(vec![]), &Reference), Err(InterpError::BadEnv(e)) if e.contains("`i0`")));
}

#[test]
fn uniforms_by_unit() {
    let (mut m, entry) = module(Stage::Vertex);
    let (n, o) = (input(&mut m, I32), out(&mut m, F32.with_lanes(2)));
    // Two elements of a struct array, each with a matrix of two columns: unit 16, strides 48 and 16.
    let u = UniformDecl {
        name: "s[].m".to_string(),
        ty: F32.with_lanes(2),
        dims: vec![Dim { count: 2, stride: 48 }, Dim { count: 2, stride: 16 }],
        matrix: true,
        rows: false,
        unit: 16,
        group: 0,
        binding: 0,
        offset: 16,
        range: None,
        source_type: None,
        size_of: None,
        span: crate::diag::Span::NONE,
    };
    let u = MemRef::Uniform(m.uniforms.push(u));
    let mut s = Builder::new(m.main_mut(), entry);
    let i = s.load(I32, n, 0, None);
    let v = s.load(F32.with_lanes(2), u, 1, Some(i));
    s.store(o, 0, v, None);
    s.ret(&[]);
    let run_at = |i: u32| {
        let env = ShaderEnv { uniforms: vec![(0..8).collect()], ..one(vec![vec![i]]) };
        run(&m, &env, &Reference).expect("runs").invocations[0].outputs[0].clone()
    };
    assert_eq!(run_at(0), [2, 3]);
    assert_eq!(run_at(2), [4, 5]);
    assert_eq!(run_at(3), [6, 7]);
    assert_eq!(run_at(900), [6, 7]);
}

#[test]
fn quads_wait_for_each_other() {
    // Lane 3 leaves early; the others take differences after a loop of different lengths.
    let (mut m, entry) = module(Stage::Fragment);
    let (n, o) = (input(&mut m, I32), out(&mut m, F32.with_lanes(2)));
    let func = m.main_mut();
    let (head, body, done, gone) = (func.add_block(), func.add_block(), func.add_block(), func.add_block());
    let i = func.add_param(head, I32);
    let mut s = Builder::new(func, entry);
    let limit = s.load(I32, n, 0, None);
    let (zero, unit, big) = (s.iconst(I32, 0), s.iconst(I32, 1), s.iconst(I32, 100));
    let leaves = s.icmp(IntCC::Eq, limit, big);
    s.br_if(leaves, (gone, &[]), (head, &[zero]));
    s.switch_to(gone);
    s.branch(Opcode::Kill, &[], Imm::None, &[]);
    s.switch_to(head);
    let more = s.icmp(IntCC::Ult, i, limit);
    s.br_if(more, (body, &[]), (done, &[]));
    s.switch_to(body);
    let i2 = s.ins(Opcode::Iadd, &[i, unit]);
    s.jump(head, &[i2]);
    s.switch_to(done);
    let x = s.typed(Opcode::S2f, F32, &[i], Imm::None);
    let dx = s.ins_imm(Opcode::Ddx, &[x], Imm::Hint(0));
    let dy = s.ins_imm(Opcode::Ddy, &[x], Imm::Hint(0));
    let v = s.build(&[dx, dy]);
    s.store(o, 0, v, None);
    s.ret(&[]);
    let env = ShaderEnv {
        invocations: [1, 3, 6, 100].iter().map(|n| InvocationInputs { inputs: vec![vec![*n]] }).collect(),
        ..ShaderEnv::default()
    };
    let r = run(&m, &env, &Reference).expect("runs");
    let got: Vec<_> = r.invocations.iter().map(|i| i.outputs[0].iter().map(|w| f32::from_bits(*w)).collect::<Vec<_>>()).collect();
    assert_eq!(got, [[2.0, 5.0], [2.0, 0.0], [0.0, 5.0], [0.0, 0.0]]);
    assert_eq!(r.invocations.iter().map(|i| i.discarded).collect::<Vec<_>>(), [false, false, false, true]);
}

#[test]
fn geometry_strips() {
    let (mut m, entry) = module(Stage::Geometry);
    m.geometry = Some(GeometryInfo { input: Primitive::Triangles, output: Primitive::LineStrip, max_vertices: 4, invocations: 1 });
    let mut p = IoDecl::at_location("p", I32, 0);
    p.count = 3;
    let (n, o) = (MemRef::Input(m.inputs.push(p)), out(&mut m, I32));
    let mut s = Builder::new(m.main_mut(), entry);
    for k in [0, 1, 2, 0, 1] {
        let v = s.load(I32, n, k, None);
        s.store(o, 0, v, None);
        s.effect(Opcode::EmitVertex, &[], Imm::Stream(0));
        if k == 1 {
            s.effect(Opcode::EndPrimitive, &[], Imm::Stream(0));
        }
    }
    s.ret(&[]);
    let r = run(&m, &one(vec![vec![7, 8, 9]]), &Reference).expect("runs");
    let v = |n: u32| vec![vec![n]];
    assert_eq!(r.invocations[0].primitives, vec![vec![v(7), v(8)], vec![v(9), v(7)]]);
}

#[test]
fn compute_reduction() {
    let (mut m, entry) = module(Stage::Compute);
    m.workgroup_size = [4, 2, 1];
    let id = MemRef::Input(m.inputs.push(IoDecl::builtin(I32, Builtin::LocalInvocationIndex)));
    let group = MemRef::Input(m.inputs.push(IoDecl::builtin(I32.with_lanes(3), Builtin::WorkgroupId)));
    let shared = MemRef::Shared(m.shared.push(SharedDecl { name: "s".to_string(), ty: I32, count: 1, span: crate::diag::Span::NONE }));
    let buf = MemRef::Storage(m.storage.push(StorageDecl {
        name: "buf".to_string(),
        head: vec![],
        repeat: vec![Scalar::I32],
        source_type: "array<u32>".to_string(),
        access: Access::ReadWrite,
        group: 0,
        binding: 0,
        span: crate::diag::Span::NONE,
    }));
    let mut s = Builder::new(m.main_mut(), entry);
    let i = s.load(I32, id, 0, None);
    let g = s.load(I32.with_lanes(3), group, 0, None);
    let gx = s.extract(g, 0);
    let v = s.load(I32, buf, 2, Some(i));
    s.typed(Opcode::Atomic, I32, &[v], Imm::Atomic { var: shared, offset: 0, op: AtomicOp::Add });
    s.effect(Opcode::Barrier, &[], Imm::None);
    let sum = s.load(I32, shared, 0, None);
    s.store(buf, 0, sum, Some(gx));
    s.ret(&[]);
    let env = ShaderEnv { storage: vec![vec![0, 0, 1, 2, 3, 4, 5, 6, 7, 8]], workgroups: [2, 1, 1], ..ShaderEnv::default() };
    let r = run(&m, &env, &Reference).expect("runs");
    assert_eq!(r.storage[0][..2], [36, 36]);
}

#[test]
fn discard_makes_a_helper() {
    let (mut m, entry) = module(Stage::Fragment);
    let (n, o) = (input(&mut m, F32), out(&mut m, F32));
    let mut s = Builder::new(m.main_mut(), entry);
    let x = s.load(F32, n, 0, None);
    let limit = s.fconst(F32, 2.5);
    let c = s.fcmp(FloatCC::Ogt, x, limit);
    s.effect(Opcode::Discard, &[c], Imm::None);
    let d = s.ins_imm(Opcode::Ddx, &[x], Imm::Hint(0));
    s.store(o, 0, d, None);
    s.ret(&[]);
    let env = ShaderEnv {
        invocations: [1.0f32, 3.0, 1.0, 2.0, 1.0].iter().map(|n| InvocationInputs { inputs: vec![vec![n.to_bits()]] }).collect(),
        ..ShaderEnv::default()
    };
    let r = run(&m, &env, &Reference).expect("runs");
    assert_eq!(
        r.invocations.iter().map(|i| (i.outputs[0][0], i.discarded)).collect::<Vec<_>>(),
        [(f(2.0), false), (0, true), (f(1.0), false), (f(1.0), false), (f(0.0), false)]
    );
}

#[test]
fn closed_runs_end_at_what_is_open() {
    let run = |code: &str, i: u32, closed| {
        let io = "input %i : i32 @location(0)\noutput %o : i32 @location(0)\n";
        let m = crate::parse("t.ir", &format!("shader vertex \"t\"\n{io}{code}    output %o, v1\n    return\n")).expect("parses");
        run_with(&m, &one(vec![vec![i]]), &Reference, &Limits { closed, ..Limits::default() }).err()
    };
    let local = "local %l : i32[2]\nblock0:\n    v0 = input.i32 %i\n    local_store %l, v0\n    v1 = local_load.i32 %l[v0]\n";
    assert_eq!(run(local, 0, true), None);
    for (i, what) in [(1, "never written"), (2, "out of range")] {
        assert_eq!(run(local, i, false), None);
        assert!(matches!(run(local, i, true), Some(InterpError::Open(m)) if m.contains(what)), "{what}");
    }
    assert!(matches!(run("block0:\n    v1 = undef.i32\n", 0, true), Some(InterpError::Open(_))));
}

#[test]
fn closed_runs_end_where_a_parted_quad_takes_a_derivative() {
    let text = "shader fragment \"t\"
input %i : f32 @location(0)
output %o : f32 @location(0)
block0:
    v0 = input.f32 %i
    v1 = fconst.f32 1.5
    v2 = fcmp olt v0, v1
    br_if v2, block1, block2
block1:
    v3 = ddx v0
    output %o, v3
    return
block2:
    output %o, v1
    return
";
    let m = crate::parse("t.ir", text).expect("parses");
    let run = |inputs: [f32; 4], closed| {
        let env = ShaderEnv { invocations: inputs.map(|x| InvocationInputs { inputs: vec![vec![f(x)]] }).into(), ..ShaderEnv::default() };
        run_with(&m, &env, &Reference, &Limits { closed, ..Limits::default() }).err()
    };
    assert_eq!(run([0.0, 1.0, 0.0, 1.0], true), None);
    assert_eq!(run([0.0, 1.0, 2.0, 3.0], false), None);
    assert!(matches!(run([0.0, 1.0, 2.0, 3.0], true), Some(InterpError::Open(m)) if m.contains("quad")));
}

#[test]
fn all_invocations_share_the_total() {
    let m = crate::parse("t.ir", "shader vertex \"t\"\nblock0:\n    return\n").expect("parses");
    let env = ShaderEnv { invocations: vec![InvocationInputs::default(); 3], ..ShaderEnv::default() };
    let run = |total| run_with(&m, &env, &Reference, &Limits { total, ..Limits::default() });
    assert!(run(3).is_ok());
    assert_eq!(run(2), Err(InterpError::OutOfFuel(2)));
}

/// A loop of a million rounds, and a place behind a condition that nothing fulfils: what is left is (rounds, 7 where the place was passed).
const FAR: &str = "shader vertex \"far\"
input %i : i32 @location(0)
output %o : i32 @location(0)
output %p : i32 @location(1)
block0:
    v0 = input.i32 %i
    v1 = iconst.i32 0
    v2 = iconst.i32 1
    v3 = iconst.i32 1000000
    v4 = iconst.i32 7
    jump block1(v1)
block1(v5: i32):
    v6 = iadd v5, v2
    v7 = icmp slt v6, v3
    br_if v7, block1(v6), block2
block2:
    output %o, v6
    v8 = icmp slt v0, v0
    br_if v8, block3, block4(v1)
block3:
    v9 = iadd v0, v4
    jump block4(v9)
block4(v10: i32):
    output %p, v10
    return
";

#[test]
fn detours_take_sides_and_say_where_they_turned() {
    let m = crate::parse("t.ir", FAR).expect("parses");
    let at = |n: usize| Branch { func: m.entry, block: m.main().layout[n] };
    let (round, place) = (at(1), at(2));
    let env = ShaderEnv { invocations: [5, 6].map(|x| InvocationInputs { inputs: vec![vec![x]] }).into(), ..ShaderEnv::default() };
    let run = |detour: &mut Detour, closed| {
        let mut watch = Watch::new(&m);
        let limits = Limits { closed, ..Limits::default() };
        let r = run_detour(&m, &env, &Reference, &limits, Some(&mut watch), detour);
        r.map(|r| (r.invocations.into_iter().map(|i| i.outputs.concat()).collect::<Vec<_>>(), watch.reached()))
    };
    let mut detour = Detour::default();
    assert!(detour.is_empty());
    detour.send(round, 3..u32::MAX, 1);
    detour.send(place, 0..1, 0);
    assert!(!detour.is_empty());
    assert_eq!(run(&mut detour, false).expect("runs"), (vec![vec![4, 12], vec![4, 13]], 3), "the loop's two sides, and one of the place's");
    let turned = [0, 1].map(|invocation| [(round, 3), (place, 0)].map(|(branch, nth)| Visit { invocation, branch, nth })).concat();
    assert_eq!(detour.turned().iter().copied().collect::<Vec<_>>(), turned);
    // A side that the program takes by itself is no turn; a later rule goes before an earlier one.
    let mut back = detour.again();
    assert!(back.turned().is_empty());
    back.send(place, 0..2, 1);
    assert_eq!(run(&mut back, false).expect("runs").0, [vec![4, 0], vec![4, 0]]);
    assert!(back.turned().iter().all(|v| v.branch == round));
    // The place is one that no number comes to, and behind the loop the counter is known to be large.
    let mut ranges = cranelift_entity::SecondaryMap::new();
    ranges[m.entry] = crate::analysis::Ranges::new(&m, m.main());
    assert!(run(&mut detour.again(), true).is_ok());
    assert!(matches!(run(&mut detour.within(ranges), true), Err(InterpError::Open(m)) if m.contains("cannot have")));
}
