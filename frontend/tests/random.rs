//! Random WGSL programs: what the interpreter computes from the translation, from WGSL and from naga's SPIR-V of it, is what a tree walk on Rust's
//! own numbers computes. `RETROSHADE_RANDOM` is the number of programs.
#![allow(clippy::unwrap_used)]

mod common;
mod generator;

use common::{checked, run};
use generator::{Dice, Inputs, Program};
use retroshade_frontend::{FrontOptions, spirv, wgsl};
use retroshade_ir::Module;

fn inputs(d: &mut Dice) -> Inputs {
    let odd = |d: &mut Dice| if d.one_in(6) { *d.pick(&[0, 1 << 31, u32::MAX, 0x7fff_ffff]) } else { d.below(17).wrapping_sub(8) };
    Inputs {
        a: [0; 4].map(|_| (d.below(65) as f32 - 32.0) * 0.125),
        b: [0; 4].map(|_| odd(d) as i32),
        c: [0; 4].map(|_| if d.one_in(6) { d.bits() } else { d.below(9) }),
    }
}

/// The same program after naga has written it as SPIR-V, where naga can.
fn through_spirv(source: &str) -> Option<Module> {
    let bytes = std::panic::catch_unwind(|| {
        let module = naga::front::wgsl::parse_str(source).ok()?;
        let flags = naga::valid::ValidationFlags::all();
        let info = naga::valid::Validator::new(flags, naga::valid::Capabilities::all()).validate(&module).ok()?;
        let options = naga::back::spv::Options { flags: naga::back::spv::WriterFlags::empty(), ..Default::default() };
        let words = naga::back::spv::write_vec(&module, &info, &options, None).ok()?;
        Some(words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>())
    });
    let bytes = bytes.ok().flatten()?;
    match spirv("random.spv", &bytes, &FrontOptions::default()) {
        Ok(m) => Some(checked(m)),
        Err(e) => panic!("{e}\n{source}"),
    }
}

/// Without the sign of zeros, which WGSL leaves open.
fn plain(all: &[Vec<u32>], floats: bool) -> Vec<Vec<u32>> {
    let one = |(n, w): (usize, &Vec<u32>)| w.iter().map(|w| if (n == 0 || floats) && *w == 1 << 31 { 0 } else { *w }).collect();
    all.iter().enumerate().map(one).collect()
}

/// The outputs by location: every program has the position and then one output after the other.
fn outputs(m: &Module, i: &Inputs) -> Vec<Vec<u32>> {
    let words = m.inputs.values().map(|d| match d.binding {
        retroshade_ir::module::Binding::Location(0) => i.a.iter().map(|x| x.to_bits()).collect(),
        retroshade_ir::module::Binding::Location(1) => i.b.iter().map(|x| *x as u32).collect(),
        _ => i.c.to_vec(),
    });
    let all = run(m, words.collect(), Vec::new());
    let mut out: Vec<(u32, Vec<u32>)> = Vec::new();
    for (d, w) in m.outputs.values().zip(all) {
        if let retroshade_ir::module::Binding::Location(l) = d.binding {
            out.push((l, w));
        }
    }
    out.sort_by_key(|o| o.0);
    out.into_iter().map(|o| o.1).collect()
}

#[test]
fn programs_compute_what_they_say() {
    let seeds = retroshade_lower::testing::program_seeds(400);
    let (mut compared, mut through, mut special) = (0, 0, 0);
    for seed in seeds.clone() {
        let p = Program::new(seed, seed % 4 == 3);
        let source = p.wgsl();
        let m = match wgsl("random.wgsl", &source, &FrontOptions::default()) {
            Ok(m) => checked(m),
            Err(e) => panic!("seed {seed}: {e}\n{source}"),
        };
        let other = if seed % 2 == 0 { through_spirv(&source) } else { None };
        through += usize::from(other.is_some());
        let mut d = Dice::new(seed + 1_000_000);
        for _ in 0..4 {
            let i = inputs(&mut d);
            let (want, odd) = p.run(&i);
            if odd {
                special += 1;
                continue;
            }
            compared += 1;
            let want = plain(&want, seed % 4 == 3);
            assert_eq!(plain(&outputs(&m, &i), seed % 4 == 3), want, "seed {seed}: {i:?}\n{source}");
            if let Some(o) = &other {
                assert_eq!(plain(&outputs(o, &i), seed % 4 == 3), want, "seed {seed} through SPIR-V: {i:?}\n{source}");
            }
        }
    }
    let count = seeds.end - seeds.start;
    println!("{count} programs, {compared} runs compared, {special} with special values, {through} programs through SPIR-V as well");
    assert!(compared > count * 2 && through > count as usize / 8, "{compared} of {} runs, {through} through SPIR-V", 4 * count);
}
