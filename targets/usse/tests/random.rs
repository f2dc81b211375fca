//! Random programs: the simulator on compiled code against the interpreter on the legalised module, bit for bit.
//!
//! `RETROSHADE_RANDOM=N` sets the number of programs of each test, `RETROSHADE_FROM=n` the first, `RETROSHADE_SEED=n` runs one of them,
//! `RETROSHADE_SURVEY=1` lists every kind of failure instead of stopping at the first.

use retroshade_ir::surface::{Block, BlockKind};
use retroshade_ir::{Module, Stage};
use retroshade_lower::testing::{Profile, Verdict, check_random_with, diff_with, program_seeds, random_program};
use retroshade_lower::{ColorFormat, Options};
use std::collections::BTreeMap;

/// How a random program is compiled. What has one right result keeps its colour as it is.
fn options(seed: u64, relaxed: bool) -> Options {
    let contract = seed % 2 == 1;
    let color_format = match seed % 4 {
        1 => ColorFormat::F16,
        3 => ColorFormat::U8,
        _ => ColorFormat::F32,
    };
    Options {
        fp_contract: contract,
        relaxed_precision: relaxed,
        color_format,
        validate: true,
        check_allocation: true,
        ..Options::default()
    }
}

/// Blocks for the uniforms of a program: every third one stays in the default buffer, the others have buffers of their own.
fn blocks(m: &mut Module) {
    for (n, u) in m.uniforms.values_mut().enumerate() {
        u.binding = [2, 0, 5][n % 3];
    }
    let block = |binding| Block { kind: BlockKind::Uniform, name: format!("Block{binding}"), binding, ..Block::default() };
    m.surface.blocks = vec![block(2), block(5)];
}

/// What a test compiles, and how.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// As they are.
    Plain,
    /// With f16 values and colours.
    Relaxed,
    /// With uniform blocks as buffers.
    Buffers,
}

/// Programs `0..n` of a profile. At most one in `refusals` may be refused.
fn check(profile: &Profile, n: u64, how: How, refusals: u64) {
    let relaxed = how == How::Relaxed;
    let isa = retroshade_usse::isa();
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let seeds = program_seeds(n);
    let survey = std::env::var_os("RETROSHADE_SURVEY").is_some();
    if !survey && how == How::Plain {
        let s = check_random_with(isa, profile, seeds, &|seed| options(seed, false)).unwrap_or_else(|e| panic!("{e}"));
        assert!(s.refused * refusals <= s.agree, "{s:?}");
        return;
    }
    let mut seen = BTreeMap::<String, (u64, u32)>::new();
    let (mut agree, mut refused) = (0, 0);
    for seed in seeds {
        let (mut module, env) = random_program(profile, seed);
        let mut options = options(seed, relaxed);
        if how == How::Buffers {
            blocks(&mut module);
            options.uniform_buffers = true;
        }
        if relaxed && options.color_format == ColorFormat::F32 {
            options.color_format = ColorFormat::F16;
        }
        let line = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| diff_with(isa, &module, &env, &options))) {
            Ok(Ok(Verdict::Agrees { .. })) => {
                agree += 1;
                continue;
            }
            Ok(Ok(Verdict::Refused { message, .. })) => {
                refused += 1;
                format!("refused: {message}")
            }
            Ok(Err(m)) => m.to_string(),
            Err(_) => "panic".to_string(),
        };
        if number("RETROSHADE_SEED").is_some() {
            println!("{}", retroshade_ir::print(&module));
            let legal = isa.legalise(&module, &options).map(|m| retroshade_ir::print(&m));
            println!("{}\n{}", legal.unwrap_or_default(), isa.compile(&module, &options).map(|s| s.asm).unwrap_or_default());
        }
        assert!(survey || line.starts_with("refused"), "seed {seed}: {line}");
        let key: String = line.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
        let of = seen.entry(key).or_insert((seed, 0));
        of.1 += 1;
        if of.1 <= 2 {
            println!("seed {seed}: {}", line.chars().take(300).collect::<String>());
        }
    }
    println!("{agree} agree, {refused} refused");
    for (k, (seed, n)) in &seen {
        println!("{n} times, first seed {seed}: {k}");
    }
    assert!(seen.keys().all(|k| k.starts_with("refused")) && refused * refusals <= agree, "see above");
}

/// Floats, plain textures, control flow.
#[test]
fn float_programs() {
    check(&Profile { ints: false, rich_textures: false, f16: false, ..Profile::usse() }, 260, How::Plain, 20);
}

/// All that vertex programs can do: integers, f16, truth values, computed indices, arrays, calls, loops.
#[test]
fn vertex_programs() {
    check(&Profile::usse().only(&[Stage::Vertex]), 300, How::Plain, 20);
}

/// The same and all kinds of sampling, derivatives, dropped pixels.
#[test]
fn fragment_programs() {
    check(&Profile::usse().only(&[Stage::Fragment]), 300, How::Plain, 20);
}

/// A few instructions each, so that very many of them can run.
#[test]
fn small_programs() {
    check(&Profile { size: (3, 24), lanes: 4, ..Profile::usse() }, 320, How::Plain, 20);
}

/// Long straight code: lanes, swizzles and registers under pressure.
#[test]
fn straight_line_programs() {
    check(&Profile { size: (60, 200), ..Profile::usse().straight_line() }, 200, How::Plain, 10);
}

/// As many values alive as there are temporaries, more than these and the outputs hold, nearly all that attributes hold, too.
#[test]
fn crowded_programs() {
    for (alive, programs) in [(118, 60), (135, 60), (220, 30)] {
        check(&Profile::usse().crowded(alive), programs, How::Plain, 6);
    }
}

/// Uniform blocks as buffers beside the default one, in registers and in memory.
#[test]
fn programs_with_uniform_buffers() {
    check(&Profile::usse(), 230, How::Buffers, 20);
}

/// f16 texels and colours.
#[test]
fn relaxed_programs() {
    check(&Profile { f16: false, ..Profile::usse().only(&[Stage::Fragment]) }, 230, How::Relaxed, 20);
}
