//! The programs in `examples/r700`: size of the code (golden, beside the best that LLVM's R600 back end makes of the same
//! function), and simulator = interpreter on a wavefront of random inputs. `SHADERC_BLESS=1` rewrites the table.
#![allow(clippy::unwrap_used)]

use retroshade_lower::Options;
use retroshade_lower::testing::{Rng, Verdict, diff_with, golden, random_env};
use retroshade_r700::place::sched::GROUP_COST;
use std::path::PathBuf;

#[test]
fn examples_keep_their_size() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/density.tsv");
    let old = std::fs::read_to_string(&table).unwrap();
    let isa = retroshade_r700::isa();
    let mut sums = [0u64; 4];
    let mut logs = [0.0f64; 2];
    let mut programs = 0;
    let mut new = String::new();
    for line in old.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        if line.starts_with('#') || cells.len() < 3 {
            new.push_str(&format!("{line}\n"));
            continue;
        }
        let text = std::fs::read_to_string(root.join(format!("examples/r700/{}.ir", cells[0]))).unwrap();
        let m = retroshade_ir::parse(cells[0], &text).unwrap_or_else(|_| panic!("{} does not parse", cells[0]));
        let s = isa.compile(&m, &Options::default()).unwrap();
        let [bytes, groups] = [1, 2].map(|k| cells[k].parse::<u64>().unwrap());
        let own = [s.stats.bytes as u64, s.stats.detail.get("alu_groups").copied().unwrap_or(0)];
        // Never more groups; bytes only as far as a group's four cycles are worth a slot each, and two slots or a tenth at most.
        let worth = own[0] + GROUP_COST * own[1] <= bytes + GROUP_COST * groups && own[0] <= bytes + (bytes / 10).max(16);
        assert!(own[1] <= groups && worth, "{} is larger than LLVM's: {own:?}", cells[0]);
        new.push_str(&format!("{}\t{bytes}\t{groups}\t{}\t{}\t{}\n", cells[0], own[0], own[1], s.stats.registers));
        for (sum, n) in sums.iter_mut().zip([bytes, groups, own[0], own[1]]) {
            *sum += n;
        }
        logs[0] += (own[0] as f64 / bytes as f64).ln();
        logs[1] += (own[1] as f64 / groups as f64).ln();
        programs += 1;
        let env = random_env(&m, 64, 23, &mut Rng::new(11));
        match diff_with(isa, &m, &env, &Options::default()) {
            Ok(Verdict::Agrees { .. }) => {}
            other => panic!("{}: {other:?}", cells[0]),
        }
    }
    golden(&table, &new).unwrap();
    let mean = |k: usize| (logs[k] / programs as f64).exp();
    println!("bytes {} of {}, mean {:.3}; groups {} of {}, mean {:.3}", sums[2], sums[0], mean(0), sums[3], sums[1], mean(1));
    assert!(sums[2] * 100 <= sums[0] * 85 && mean(0) <= 0.85 && sums[3] * 100 <= sums[1] * 65 && mean(1) <= 0.65);
}
