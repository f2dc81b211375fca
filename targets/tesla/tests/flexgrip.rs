//! `--chip flexgripplus`: random programs of whole numbers on the simulator in both branch orders, and the memory images read back.
//! That no word is one which the model lacks is checked by the compiler itself and by `lint` here.
#![allow(clippy::unwrap_used)]

use retroshade_ir::types::I32;
use retroshade_ir::{FloatCC, Function, Imm, IntCC, Module, Opcode, Scalar, Stage, parse, verify};
use retroshade_lower::testing::{Profile, Verdict, diff_with, program_seeds, random_program};
use retroshade_lower::{CompiledShader, OptLevel, Options, TextOptions};
use std::collections::BTreeMap;

fn options(seed: u64) -> Options {
    let opt = [OptLevel::O2, OptLevel::Os, OptLevel::O0, OptLevel::O1][(seed % 4) as usize];
    Options { chip: Some("flexgripplus".into()), opt, fp_contract: false, validate: true, ..Options::default() }
}

/// An operation of whole numbers with as many operands and the same kind of result as one of floats.
fn of_integers(op: Opcode) -> Option<Opcode> {
    use Opcode::*;
    Some(match op {
        Fadd | Fma | Fmad => Iadd,
        Fsub => Isub,
        Fmul => Imul,
        Fmin => Smin,
        Fmax => Umax,
        Fdiv | Fpow => Ixor,
        Fneg | Fsign => Ineg,
        // Never below 0: what the generator takes for a condition that never holds.
        Fabs => Bitcount,
        Ffloor | Fceil | Ftrunc | Fround | Ffract | Frcp | Frsqrt | Fsqrt | Fexp2 | Flog2 | Fsin | Fcos | Fsaturate | F2s | F2u | S2f
        | U2f | Fcvt => Inot,
        _ => return None,
    })
}

fn integers(f: &mut Function) {
    use Opcode::*;
    for (ty, _) in f.values.values_mut() {
        whole(ty);
    }
    f.results.iter_mut().for_each(whole);
    f.locals.values_mut().for_each(|l| whole(&mut l.ty));
    for d in f.insts.values_mut() {
        let (op, operands, imm) = match d.op {
            PackHalf2x16 | PackUnorm2x16 | PackSnorm2x16 | PackUnorm4x8 | PackSnorm4x8 | Dot => (Extract, 1, Imm::Lane(0)),
            UnpackHalf2x16 | UnpackUnorm2x16 | UnpackSnorm2x16 | UnpackUnorm4x8 | UnpackSnorm4x8 => (Splat, 1, Imm::None),
            // The model has none.
            Atomic => (Inot, 1, Imm::None),
            op => (of_integers(op).unwrap_or(op), if of_integers(op).is_some() { 2 } else { usize::MAX }, d.imm.clone()),
        };
        (d.op, d.imm) = (op, imm);
        d.args.truncate(operands);
        if d.op == Fcmp {
            let Imm::FloatCC(cc) = d.imm else { continue };
            d.op = Icmp;
            d.imm = Imm::IntCC(match cc {
                FloatCC::Oeq | FloatCC::Ueq | FloatCC::Ord => IntCC::Eq,
                FloatCC::One | FloatCC::Une | FloatCC::Uno => IntCC::Ne,
                FloatCC::Olt => IntCC::Slt,
                FloatCC::Ole => IntCC::Sle,
                FloatCC::Ogt => IntCC::Sgt,
                FloatCC::Oge => IntCC::Sge,
                FloatCC::Ult => IntCC::Ult,
                FloatCC::Ule => IntCC::Ule,
                FloatCC::Ugt => IntCC::Ugt,
                FloatCC::Uge => IntCC::Uge,
            });
        }
    }
}

fn whole(ty: &mut retroshade_ir::Type) {
    if ty.is_float() {
        *ty = I32.with_lanes(ty.lanes);
    }
}

/// The program with whole numbers in place of floats: the model's floating-point unit is not right.
fn whole_numbers(mut m: Module) -> Module {
    m.functions.values_mut().for_each(integers);
    m.uniforms.values_mut().for_each(|u| whole(&mut u.ty));
    m.shared.values_mut().for_each(|s| whole(&mut s.ty));
    for s in m.storage.values_mut() {
        s.head.iter_mut().chain(&mut s.repeat).for_each(|w| *w = Scalar::I32);
    }
    // An index that was a float may be anything now, and the model has one memory for all buffers.
    retroshade_ir::passes::robust::run(&mut m);
    m
}

#[test]
fn random_programs_of_whole_numbers() {
    let profile = Profile { f16: false, locals: false, textures: false, rich_textures: false, ..Profile::tesla().only(&[Stage::Compute]) };
    let (mut agree, mut reasons, mut unusable) = (0, BTreeMap::<String, u32>::new(), 0);
    for seed in program_seeds(600) {
        let (module, env) = random_program(&profile, seed);
        let module = whole_numbers(module);
        if verify(&module).is_err() {
            unusable += 1;
            continue;
        }
        match diff_with(retroshade_tesla::isa(), &module, &env, &options(seed)) {
            Ok(Verdict::Agrees { .. }) => agree += 1,
            Ok(Verdict::Refused { message, .. }) => *reasons.entry(message).or_default() += 1,
            Err(e) => panic!("program {seed}: {e}\n{}", retroshade_ir::print(&module)),
        }
    }
    println!("{agree} agree, {unusable} unusable, refused: {reasons:#?}");
    assert!(agree >= 150, "{agree} agree, {unusable} unusable, {reasons:#?}");
}

const SOURCE: &str = r#"
shader compute "images"
workgroup_size(48, 2, 1)
input %id : i32x3 @global_invocation_id
uniform %k : i32 @binding(0) @offset(4)
storage %in : i32[] @binding(1)
storage %out : i32[] @binding(2)
block0:
    v0 = input.i32x3 %id
    v1 = extract v0, 0
    v2 = storage_load.i32 %in[v1]
    v3 = uniform.i32 %k
    v4 = smax v2, v3
    storage_store %out[v1], v4
    return
"#;

fn compiled() -> CompiledShader {
    retroshade_tesla::isa().compile(&parse("images.ir", SOURCE).unwrap(), &options(0)).unwrap()
}

/// Lines of an image as `dp_ram.vhd` reads them: one number of so many digits each.
fn lines(image: &[u8], digits: usize) -> Vec<u32> {
    let text = std::str::from_utf8(image).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines()
        .map(|l| {
            assert_eq!(l.len(), digits, "{l}");
            u32::from_str_radix(l, 16).unwrap()
        })
        .collect()
}

/// The constants of a VHDL package: name, type, value.
fn constants(package: &[u8]) -> BTreeMap<String, (String, String)> {
    let text = std::str::from_utf8(package).unwrap();
    let of = |l: &str| {
        let (name, rest) = l.trim().strip_prefix("constant ")?.split_once(" : ")?;
        let (ty, value) = rest.split_once(" := ")?;
        Some((name.to_string(), (ty.to_string(), value.split(';').next()?.to_string())))
    };
    text.lines().filter_map(of).collect()
}

#[test]
fn system_memory_holds_the_program() {
    let s = compiled();
    let words: Vec<u8> = lines(&s.extra["mif"], 8).into_iter().flat_map(u32::to_le_bytes).collect();
    assert_eq!(words, s.code);
    assert_eq!(compiled().extra, s.extra);
}

#[test]
fn constant_memory_has_a_line_for_each_byte_of_the_uniforms() {
    assert_eq!(lines(&compiled().extra["mif-constants"], 2), vec![0; 8]);
}

#[test]
fn the_launch_says_what_the_program_needs() {
    let s = compiled();
    let c = constants(&s.extra["mif-bench"]);
    let value = |name: &str| c[name].1.as_str();
    let vector = |bits: u32| format!("std_logic_vector({} downto 0)", bits - 1);
    for (name, want) in [("BENCH_K_BLKX", 48), ("BENCH_K_BLKY", 2), ("BENCH_K_BLKZ", 1), ("BENCH_K_GRDX", 1), ("BENCH_K_GRDY", 1)] {
        assert_eq!(c[name], (vector(16), format!("x\"{want:04X}\"")), "{name}");
    }
    assert_eq!(c["BENCH_KERNEL_GPRS"], (vector(9), format!("\"{:09b}\"", s.stats.registers)));
    // The grid's z, two lengths, two addresses.
    assert_eq!(c["BENCH_KERNEL_PARAM_SIZE"], (vector(4), "x\"5\"".to_string()));
    let parameters: Vec<&str> =
        (0..16).map(|n| value(["BENCH_KREG", &n.to_string()].concat().as_str())).map(|v| v.trim_matches(['x', '"'])).collect();
    assert_eq!(parameters[..5], ["00000001", "00008000", "00008000", "00000000", "00020000"]);
    assert!(parameters[5..].iter().all(|p| *p == "00000000"));
    assert_eq!(value("BENCH_KERNEL_SHMEM_SIZE"), "x\"00000020\"");
    assert_eq!(value("BENCH_BLOCKS_PER_CORE"), "x\"8\"");
    assert_eq!(value("BENCH_CMEM_PARAM_SIZE"), "\"000000\"");
    assert_eq!((value("BENCH_CORES"), value("BENCH_WARP_LANES")), ("8", "4"));
    assert_eq!(value("BENCH_APP"), "\"TP\"");
    // All that the sources of the model name.
    let numbered = (0..16).flat_map(|n| [format!("BENCH_KREG{n}"), format!("BENCH_CMEMREG{n}")]);
    let named = ["BENCH_APP_INST", "BENCH_DYN_SHMEM_SIZE", "READ_DATA_SIZE"].map(String::from);
    numbered.chain(named).for_each(|n| assert!(c.contains_key(&n), "{n}"));
}

#[test]
fn other_chips_have_no_images() {
    let s = retroshade_tesla::isa().compile(&parse("images.ir", SOURCE).unwrap(), &Options::default()).unwrap();
    assert!(!s.extra.contains_key("mif"));
}

/// Every instruction of other chips that the model lacks is named, in code that did not come from this compiler, too.
#[test]
fn lint_names_what_the_model_lacks() {
    let isa = retroshade_tesla::isa();
    let text = |chip: &str| TextOptions { chip: Some(chip.into()), stage: Some(Stage::Compute), ..TextOptions::default() };
    for (line, what) in [
        ("and b32 $r1 $r2 0xff00", "this form"),
        ("max s32 $r1 $r2 $r3", "this form"),
        ("breakaddr 0x0", "this form"),
        ("cvt rni s32 $r1 f32 $r2", "this form"),
        ("ld $r1 b32 c0[$a1+0x8]", "c[] through an address register"),
        ("exit mov b32 $r70 $r2", "the `exit` bit"),
        ("mul $r70 high u24 $r1 $r2", "the upper half of a product"),
        ("and b32 $r70 not $r1 $r2", "a complemented operand"),
        ("add b32 $r1 b32 s[$a1+0x40] $r2", "s[] through an address register in arithmetic"),
        ("(l $c0) mov b32 $r70 $r2", "a condition on sign and overflow"),
        ("ld b64 $r2d g0[$r1]", "an access to anything but words"),
        ("add b32 $r70 $r1 $r100", "a third operand beyond `$r63`"),
        ("ld $r1 b32 c0[0x204]", "a load from c[] beyond 512 bytes"),
        ("mul $r6 u16 $r62l u16 $r4l", "a register beyond `$r123`, or a half beyond `$r61`,"),
        ("shl b32 $c0 $r1 $r2 0x1", "the flags of this operation"),
    ] {
        let bytes = isa.assemble(line, &text("g80")).unwrap().code;
        assert_eq!(isa.lint(&bytes, &text("g80")).unwrap().iter().filter(|e| e.message.contains("does not execute")).count(), 0, "{line}");
        let found = isa.lint(&bytes, &text("flexgripplus")).unwrap();
        let want = format!("flexgripplus does not execute {what} right");
        assert!(found.iter().any(|e| e.message.contains(&want)), "{line}: {found:?}");
    }
}
