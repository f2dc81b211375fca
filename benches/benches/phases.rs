//! `cargo bench`: each phase over programs of 100 to 50,000 IR instructions.

use divan::Bencher;
use retroshade_benches::{SIZES, synthetic, targets};
use retroshade_ir::{passes, text, verify};
use retroshade_lower::Options;

fn main() {
    divan::main();
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

#[divan::bench(args = ["tesla", "usse", "r700", "pica"], consts = [100, 1_000], sample_count = 5)]
fn compile<const SIZE: usize>(bencher: Bencher, target: &str) {
    let module = synthetic(SIZE);
    let options = Options { check_allocation: false, ..Options::default() };
    let Some(isa) = targets().into_iter().find(|t| t.name() == target) else { return };
    bencher.bench(|| isa.compile(&module, &options).is_ok());
}
