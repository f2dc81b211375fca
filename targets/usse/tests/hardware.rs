//! The simulator against runs recorded on a console (vertex programs; outputs clamped to 0…1 and stored in a byte).
#![allow(clippy::unwrap_used)]

use retroshade_lower::testing::text_beside;
use retroshade_usse::sim::{Code, Draw, Instance};

fn words(s: &str) -> Vec<u64> {
    s.split_whitespace().map(|w| u64::from_str_radix(w, 16).unwrap()).collect()
}

fn regs(s: &str) -> Vec<u32> {
    s.split_whitespace().map(|w| u32::from_str_radix(w, 16).unwrap()).collect()
}

#[test]
fn recorded_runs() {
    let Some(all) = text_beside("vectors/usse-hardware.tsv") else { return };
    let mut programs = std::collections::BTreeMap::new();
    let (mut bytes, mut wrong) = (0, Vec::new());
    for line in all.lines().filter(|l| !l.starts_with('#')) {
        let c: Vec<&str> = line.split('\t').collect();
        if let Some(name) = c[0].strip_prefix("program ") {
            let literals: Vec<(usize, u32)> = c[3]
                .split_whitespace()
                .filter_map(|l| l.strip_prefix("sa")?.split_once('='))
                .map(|(n, v)| (n.parse().unwrap(), u32::from_str_radix(v, 16).unwrap()))
                .collect();
            programs.insert(name, (Code::new(&words(c[1]), true).unwrap(), Code::new(&words(c[2]), false).unwrap(), literals));
            continue;
        }
        let (secondary, primary, literals) = &programs[c[0].strip_prefix("run ").unwrap()];
        let mut sa = regs(c[1]);
        sa.resize(256, 0);
        for (n, v) in literals {
            sa[*n] = *v;
        }
        let mut draw = Draw { sa, samplers: Vec::new(), memory: Vec::new(), strict: false, quads: false, turning: Default::default() };
        draw.run_secondary(secondary).unwrap();
        let mut one = Instance::default();
        one.pa[..36].copy_from_slice(&regs(c[2])[..36]);
        let mut lanes = [one];
        draw.run_primary(primary, &mut lanes).unwrap();
        for (k, want) in c[3].split_whitespace().enumerate().filter(|(_, w)| *w != "--") {
            let want = i32::from_str_radix(want, 16).unwrap();
            let got = (f32::from_bits(lanes[0].o[4 + k]).clamp(0.0, 1.0) * 255.0).round() as i32;
            bytes += 1;
            if (got - want).abs() > 1 {
                wrong.push(format!("{} o{}: {got} instead of {want}", c[0], 4 + k));
            }
        }
    }
    println!("{bytes} bytes, {} wrong", wrong.len());
    assert!(wrong.is_empty() && bytes > 1000, "{} of {bytes} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(400)].join("\n"));
}
