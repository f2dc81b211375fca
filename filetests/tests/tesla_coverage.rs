//! Says which selection patterns, instruction forms and error codes of Tesla have no case.

use retroshade_filetests::discover;
use retroshade_ir::Module;
use retroshade_lower::{CompiledShader, OptLevel, Options};
use retroshade_tesla::isa::chip::EVERYTHING;
use retroshade_tesla::isa::decode::{decode, size_of, space};
use retroshade_tesla::isa::forms::TABLE;
use retroshade_tesla::select::patterns::patterns;
use std::collections::BTreeSet;
use std::path::Path;

/// The texts of all cases.
fn cases() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = discover(&[root]).expect("cases");
    files.iter().map(|p| (p.display().to_string(), String::from_utf8_lossy(&std::fs::read(p).expect("readable")).into_owned())).collect()
}

/// Every case that compiles for Tesla, with the options of its `target` lines.
fn compiled() -> Vec<(Module, CompiledShader)> {
    let mut out = Vec::new();
    for (path, text) in cases() {
        if !path.ends_with(".ir") || text.contains("expect-fail") {
            continue;
        }
        for line in text.lines().filter_map(|l| l.strip_prefix("; target tesla")) {
            let mut options = Options::default();
            for setting in line.split_whitespace() {
                match setting.split_once('=') {
                    Some(("chip", c)) => options.chip = Some(c.to_string()),
                    Some(("contract", v)) => options.fp_contract = v == "on",
                    Some(("opt", "0")) => options.opt = OptLevel::O0,
                    _ => {}
                }
            }
            let module = retroshade_ir::parse(&path, &text).unwrap_or_else(|e| panic!("{path}: {e}"));
            let shader = retroshade_tesla::isa().compile(&module, &options).unwrap_or_else(|e| panic!("{path}: {e}"));
            out.push((module, shader));
        }
    }
    out
}

#[test]
fn every_selection_pattern_has_a_case() {
    let mut fired = BTreeSet::new();
    for (_, shader) in compiled() {
        let mir = String::from_utf8_lossy(&shader.extra["mir"]).into_owned();
        let line = mir.lines().rev().find_map(|l| l.strip_prefix("; patterns: ")).expect("patterns").to_string();
        fired.extend(line.split_whitespace().map(str::to_string));
    }
    let unknown: Vec<_> = fired.iter().filter(|f| !patterns().any(|p| p.0 == **f)).collect();
    assert!(unknown.is_empty(), "not in the list of patterns: {unknown:?}");
    let missing: Vec<_> = patterns().map(|p| p.0).filter(|p| !fired.contains(*p)).collect();
    assert!(missing.is_empty(), "no case for the patterns {missing:?}");
}

/// Forms that the compiler never chooses: they exist for the assembler, the disassembler and the simulator, and have their
/// rows in `targets/tesla/tests/vectors.tsv`.
#[rustfmt::skip]
const ASSEMBLER_ONLY: &[&str] = &[
    // 16-bit arithmetic.
    "s.mov.h", "s.add.h", "s.sad.h", "i.mov.h", "i.add.h", "mov.h", "add.h", "set.h", "max.h", "min.h", "shl.h", "shr.h",
    "shl.h.count", "shr.h.count", "sad.h", "logic.h", "cvt.int.h",
    // Absolute differences and mads of 16 and 24 bits.
    "s.sad", "s.mad.s16", "s.mad.sat.s16", "s.mad.u24", "i.mad.s16", "i.mad.sat.s16", "i.mad.u24", "sad", "mad.s16",
    "mad.sat.s16", "mad.u24", "mad.s24", "mad.sat.s24", "mad.high.u24", "mad.high.s24", "mad.sat.high.s24",
    // Double precision and 64-bit integers.
    "dfma", "dadd", "dmul", "dmin", "dmax", "dset", "cvt.f32.f64", "cvt.f64.f64", "cvt.int.f64.f64", "cvt.f64.f32",
    "cvt.i32.f64", "cvt.i64.f32", "cvt.i64.f64", "cvt.f64.i32", "cvt.f32.i64", "cvt.f64.i64",
    // Conversions from and to halves other than through f32.
    "cvt.f16.f16", "cvt.int.f16.f16", "cvt.i16.f16", "cvt.i16.f32", "cvt.i32.f16", "cvt.f16.int", "cvt.int.w",
    // Accesses of 8 and 16 bits.
    "ld.c.u8", "ld.c.u16", "ld.c.s16", "ld.s.u8", "ld.s.u16", "ld.s.s16", "st.s.b8", "st.s.b16",
    // What no operation of the IR asks for: votes, counters, calls, traps, performance events, queries of the level.
    "s.trap", "s.brkpt", "mov.from.a", "add.a", "red.inc", "red.dec", "atom.inc", "atom.dec", "vote.any", "vote.all",
    "texquerylod", "texquerylod.cube", "texcsaa", "pmevent", "call", "quadon", "quadpop", "bar.warps",
    "trap", "brkpt", "bra.c", "preret",
];

#[test]
fn every_form_that_the_compiler_uses_has_a_case() {
    let mut used = BTreeSet::new();
    for (module, shader) in compiled() {
        let mut at = 0;
        while at < shader.code.len() {
            let word = |n: usize| u32::from_le_bytes(shader.code[n..n + 4].try_into().expect("a word"));
            let size = size_of(word(at)) as usize;
            let high = if size == 8 { word(at + 4) } else { 0 };
            let insn = decode(u64::from(word(at)) | u64::from(high) << 32, space(module.stage), &EVERYTHING).expect("code decodes");
            used.insert(insn.form().name);
            at += size;
        }
    }
    let missing: Vec<_> = TABLE.forms.iter().map(|f| f.name).filter(|n| !used.contains(n) && !ASSEMBLER_ONLY.contains(n)).collect();
    assert!(missing.is_empty(), "no case for the forms {missing:?}");
    let stale: Vec<_> = ASSEMBLER_ONLY.iter().filter(|n| used.contains(**n)).collect();
    assert!(stale.is_empty(), "the compiler does use {stale:?}");
}

/// Codes in the sources of the target, in quotes.
fn codes() -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut stack = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../targets/tesla/src")];
    while let Some(p) = stack.pop() {
        for e in std::fs::read_dir(&p).expect("sources") {
            let e = e.expect("entry").path();
            if e.is_dir() {
                stack.push(e);
                continue;
            }
            let text = std::fs::read_to_string(&e).expect("source");
            let code = |w: &&str| w.len() == 5 && w.starts_with('T') && w[1..].bytes().all(|b| b.is_ascii_digit());
            out.extend(text.split('"').filter(code).map(str::to_string));
        }
    }
    out
}

#[test]
fn every_error_code_has_a_case() {
    // Guards behind the verifier and the legaliser (T0010, T0011, T0012, T0032, T0033); allocation spills to l[] before it
    // gives up (T0100); 16 MiB of code (T0103); warnings (T0035) are tested where the command gives them.
    let elsewhere = ["T0010", "T0011", "T0012", "T0032", "T0033", "T0035", "T0100", "T0103"];
    let all: String = cases().into_iter().map(|c| c.1).collect();
    let missing: Vec<_> = codes().into_iter().filter(|c| !elsewhere.contains(&c.as_str()) && !all.contains(&format!("{c}@"))).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}
