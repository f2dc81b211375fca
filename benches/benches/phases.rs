//! `cargo bench`: each phase over programs of 100 to 50,000 IR instructions. Behind the benchmarks stand the phases of a
//! compilation for Tesla, which cannot be run alone.

use divan::Bencher;
use retroshade::targets;
use retroshade_benches::{SIZES, options, synthetic, tesla_phases};
use retroshade_ir::{passes, text, verify};

fn main() {
    divan::main();
    for size in SIZES {
        for (phase, time) in tesla_phases(&synthetic(*size), 3) {
            println!("tesla, {size} instructions, {phase}: {:.3} ms", time.as_secs_f64() * 1e3);
        }
    }
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn parse(bencher: Bencher, size: usize) {
    let printed = text::print(&synthetic(size));
    bencher.bench(|| text::parse("synthetic.ir", &printed));
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn verification(bencher: Bencher, size: usize) {
    let module = synthetic(size);
    bencher.bench(|| verify(&module));
}

#[divan::bench(args = SIZES, sample_count = 5)]
fn optimise(bencher: Bencher, size: usize) {
    let module = synthetic(size);
    bencher.with_inputs(|| module.clone()).bench_values(|mut m| {
        passes::pipeline(&mut m, &passes::PassOptions::default(), &mut |_, _| {});
        m
    });
}

#[divan::bench(args = SIZES, sample_count = 3)]
fn compile_for_tesla(bencher: Bencher, size: usize) {
    let module = synthetic(size);
    bencher.bench(|| retroshade_tesla::isa().compile(&module, &options()).is_ok());
}

#[divan::bench(args = ["usse", "r700", "pica"], consts = [100, 1_000], sample_count = 5)]
fn compile<const SIZE: usize>(bencher: Bencher, target: &str) {
    let module = synthetic(SIZE);
    let options = options();
    let Some(isa) = targets().into_iter().find(|t| t.name() == target) else { return };
    bencher.bench(|| isa.compile(&module, &options).is_ok());
}
