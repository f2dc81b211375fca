//! Compares the interpreter with an independent implementation: fragment and compute programs of a corpus run on a software Vulkan driver
//! through wgpu, on the same random inputs. GLSL goes to the driver as glslang's SPIR-V, so that the judge shares nothing with this project's
//! reader; WGSL by way of wgpu's own compiler.
//!
//! `cargo run --manifest-path tools/lavapipe/Cargo.toml -- CORPUS [--only TEXT] [--form glsl|wgsl] [--seeds N] [--show]`, CORPUS a folder with
//! MANIFEST.tsv. Prints a line for what differs and ends with 0 only if nothing does; says so and ends with 0 where no driver is installed.
#![deny(unsafe_code)]

mod gpu;
mod inputs;
mod resources;

use gpu::{Gpu, Output, Program, UNTOUCHED};
use inputs::{Case, SIZE, case, pixel};
use retroshade_frontend::{FrontOptions, glsl, glsl_words, wgsl};
use retroshade_ir::{Binding, Module, Reference, Scalar, ShaderResult, Stage, interp};
use std::path::Path;
use std::process::ExitCode;

/// Relative and absolute difference that rounding, contraction and approximated functions explain.
const TOLERANCE: f32 = 2e-3;
/// Share of the values that may be further off: on edges of branches and of texels.
const FAR: f64 = 0.02;

fn near(a: f32, b: f32) -> bool {
    a == b || !a.is_finite() || !b.is_finite() || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(1.0)
}

/// Programs that differ, and why they may.
const EXPLAINED: [(&str, &str); 2] = [
    ("raylib/palette_switch.frag", "random texels make its index run past the end of a uniform array, where any value will do"),
    ("raylib/hybrid_raymarch.frag", "rays that graze an edge hit or miss by the rounding of many steps"),
];

/// A program that fetches texels outside its texture: the driver reads what is there, and may end, since nobody puts checks into glslang's SPIR-V.
const OUTSIDE: &str = "vulkan_samples/postprocessing_outline.frag";

/// How many values differ, of how many, and the first of them.
#[derive(Default)]
struct Score {
    far: usize,
    all: usize,
    first: String,
}

impl Score {
    fn add(&mut self, good: bool, what: impl FnOnce() -> String) {
        self.all += 1;
        if !good {
            self.far += 1;
            if self.first.is_empty() {
                self.first = what();
            }
        }
    }
}

fn compare(m: &Module, want: &ShaderResult, got: &Output, score: &mut Score) {
    for (n, d) in m.outputs.values().enumerate() {
        let Binding::Location(l) = d.binding else { continue };
        let Some((_, words)) = got.targets.iter().find(|(at, _)| *at == l) else { continue };
        for (k, i) in want.invocations.iter().enumerate() {
            let (x, y) = pixel(k as u32);
            let at = (y * SIZE + x) as usize * 4;
            if d.ty.scalar == Scalar::F32 {
                let discarded = words[at..at + 4].iter().all(|w| f32::from_bits(*w) == UNTOUCHED);
                if i.discarded || discarded {
                    score.add(i.discarded == discarded, || {
                        format!("pixel {x},{y}: the driver {} it", if discarded { "discards" } else { "keeps" })
                    });
                    continue;
                }
            } else if i.discarded {
                continue;
            }
            // Of three lanes the driver keeps two.
            for lane in 0..if d.ty.lanes == 3 { 2 } else { usize::from(d.ty.lanes) } {
                let Some(a) = i.outputs[n].get(lane).copied() else { continue };
                let b = words[at + lane];
                let good = if d.ty.scalar == Scalar::F32 { near(f32::from_bits(a), f32::from_bits(b)) } else { a == b };
                score.add(good, || {
                    format!("pixel {x},{y} location {l} lane {lane}: {} on the driver, {} here", f32::from_bits(b), f32::from_bits(a))
                });
            }
        }
    }
    for (s, words) in m.storage.values().zip(&want.storage) {
        let Some((_, other)) = got.storage.iter().find(|(at, _)| *at == (s.group, s.binding)) else { continue };
        for (n, (a, b)) in words.iter().zip(other).enumerate() {
            let float = s.word(n) == Scalar::F32;
            let good = if float { near(f32::from_bits(*a), f32::from_bits(*b)) } else { a == b };
            score.add(good, || format!("{} word {n}: {} on the driver, {} here", s.name, f32::from_bits(*b), f32::from_bits(*a)));
        }
    }
}

fn one(gpu: &Gpu, path: &Path, entry: &str, stage: Stage, seeds: u64) -> Result<Score, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let options = FrontOptions { stage: Some(stage), entry: Some(entry.to_string()), ..Default::default() };
    let name = path.display().to_string();
    let words;
    let (read, program) = if path.extension().is_some_and(|e| e == "wgsl") {
        let naga = naga::front::wgsl::parse_str(&text).map_err(|e| e.to_string())?;
        (wgsl(&name, &text, &options), Program::Wgsl(&text, naga))
    } else {
        let options = FrontOptions { entry: None, ..options };
        words = glsl_words(&name, &text, &options).map_err(|e| format!("front end: {e}"))?;
        (glsl(&name, &text, &options), Program::Spirv(&words))
    };
    let m = read.map_err(|e| format!("front end: {e}"))?;
    let mut score = Score::default();
    for seed in 1..=seeds {
        let c: Case = case(&m, seed);
        let want = interp::run(&m, &c.env, &Reference).map_err(|e| format!("interpreter: {e}"))?;
        let got = gpu.run(&program, entry, &m, &c).map_err(|e| format!("driver: {e}"))?;
        compare(&m, &want, &got, &mut score);
    }
    Ok(score)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|n| args.get(n + 1));
    let Some(root) = args.first().map(Path::new).filter(|r| r.join("MANIFEST.tsv").exists()) else {
        eprintln!("usage: retroshade-lavapipe CORPUS [--only TEXT] [--form glsl|wgsl] [--seeds N] [--show]");
        return ExitCode::from(2);
    };
    let only = option("--only").map_or("", String::as_str);
    let form = option("--form").map_or("", String::as_str);
    let seeds = option("--seeds").and_then(|n| n.parse().ok()).unwrap_or(4);
    let show = args.iter().any(|a| a == "--show");
    let gpu = match Gpu::open() {
        Ok(g) => g,
        Err(e) => {
            println!("skipped: no software Vulkan driver ({e}); Debian has one in mesa-vulkan-drivers");
            return ExitCode::SUCCESS;
        }
    };
    println!("driver: {}", gpu.name);
    let Ok(manifest) = std::fs::read_to_string(root.join("MANIFEST.tsv")) else { return ExitCode::from(2) };
    let mut sum = Sum::default();
    for line in manifest.lines().skip(1) {
        let f: Vec<&str> = line.split('\t').collect();
        let stage = match f.get(1) {
            Some(&"frag") => Stage::Fragment,
            Some(&"comp") => Stage::Compute,
            _ => continue,
        };
        // A column of each form: its file, or `-`.
        for (column, language, entry) in [(4, "glsl", "main"), (2, "wgsl", f[3])] {
            if !f[0].contains(only) || !language.contains(form) || f.get(column).is_none_or(|f| *f == "-") {
                continue;
            }
            let shown = format!("{} ({language})", f[0]);
            if language == "glsl" && f[0] == OUTSIDE {
                sum.explained += 1;
                println!("{shown:48} not run: it fetches texels outside its texture, which may end the driver");
                continue;
            }
            sum.add(&shown, f[0], one(&gpu, &root.join(f[column]), entry, stage, seeds), show);
        }
    }
    println!("{} agree, {} differ for a known reason, {} differ, {} skipped", sum.agree, sum.explained, sum.differ, sum.skipped);
    if sum.differ == 0 && sum.agree > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How programs ended.
#[derive(Default)]
struct Sum {
    agree: usize,
    explained: usize,
    differ: usize,
    skipped: usize,
}

impl Sum {
    fn add(&mut self, shown: &str, name: &str, score: Result<Score, String>, show: bool) {
        match score {
            Ok(s) if s.all > 0 && s.far as f64 <= FAR * s.all as f64 => {
                self.agree += 1;
                if show {
                    println!("{shown:48} agrees: {} of {} values are further off", s.far, s.all);
                }
            }
            Ok(s) if s.all == 0 => {
                self.skipped += 1;
                println!("{shown:48} skipped: nothing to compare");
            }
            Ok(_) if EXPLAINED.iter().any(|(n, _)| *n == name) => {
                self.explained += 1;
                let why = EXPLAINED.iter().find(|(n, _)| *n == name).map_or("", |(_, w)| w);
                println!("{shown:48} differs: {why}");
            }
            Ok(s) => {
                self.differ += 1;
                println!("{shown:48} {} of {} values differ; {}", s.far, s.all, s.first);
            }
            Err(e) => {
                self.skipped += 1;
                println!("{shown:48} skipped: {}", e.chars().take(700).collect::<String>());
            }
        }
    }
}
