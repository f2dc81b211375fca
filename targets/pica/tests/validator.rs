//! The validator on damaged words: MOVA beside MOVA, outputs written twice, words that are gone.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Stage;
use retroshade_lower::CompiledShader;
use retroshade_lower::testing::{Noticed, Profile, noticed, noticed_by_meaning};
use retroshade_pica::container::{Constant, Shbin};
use retroshade_pica::isa::dis::decode_all;
use retroshade_pica::isa::forms::Op;
use retroshade_pica::isa::registers::Reg;
use retroshade_pica::isa::word::Instr;

/// NOP.
const NOTHING: u32 = 0x21 << 26;

/// The shader once for each word that `change` makes another one of.
fn each(s: &CompiledShader, change: &dyn Fn(&[Instr], &mut Vec<u32>, usize) -> bool) -> Vec<CompiledShader> {
    let bin = Shbin::read(&s.container).unwrap();
    let code = decode_all(&bin).unwrap();
    let changed = (0..code.len()).filter_map(|n| {
        let mut bin = bin.clone();
        let yes = change(&code, &mut bin.code, n);
        yes.then(|| CompiledShader { container: bin.write(), ..s.clone() })
    });
    changed.collect()
}

fn damaged(stage: Stage, programs: u64, change: &dyn Fn(&[Instr], &mut Vec<u32>, usize) -> bool) -> Noticed {
    let found = noticed(retroshade_pica::isa(), &Profile::pica().only(&[stage]), 0..programs, &|s| each(s, change));
    println!("{found:?}");
    found
}

fn plain(i: &Instr) -> bool {
    i.writes_register() && !matches!(i.op, Op::Mova)
}

#[test]
fn two_movas_freeze_the_chip() {
    let found = damaged(Stage::Vertex, 200, &|code, words, n| {
        let twice = code[n].op == Op::Mova && code.get(n + 1).is_some_and(plain);
        if twice {
            words[n + 1] = words[n];
        }
        twice
    });
    assert!(found.at_least(100), "{found:?}");
}

#[test]
fn an_output_is_written_once() {
    for stage in [Stage::Vertex, Stage::Geometry] {
        let found = damaged(stage, 40, &|code, words, n| {
            let output = |i: &Instr| plain(i) && matches!(i.dst, Reg::O(_));
            let twice = output(&code[n]) && code.get(n + 1).is_some_and(output) && words[n] != words[n + 1];
            if twice {
                words[n + 1] = words[n];
            }
            twice
        });
        assert!(found.at_least(95), "{found:?}");
    }
}

/// Each word for itself does nothing any more where `which` says so.
fn without(programs: u64, which: fn(&Instr) -> bool) -> Noticed {
    damaged(Stage::Vertex, programs, &|code, words, n| {
        words[n] = NOTHING;
        which(&code[n])
    })
}

#[test]
fn words_that_are_gone_are_missed() {
    // The others' registers hold something else, which only their values would tell.
    let found = without(30, |i| plain(i) || matches!(i.op, Op::Mova | Op::Cmp));
    assert!(found.at_least(40), "{found:?}");
}

#[test]
fn a_flag_is_set_before_it_is_asked() {
    let found = without(150, |i| i.op == Op::Cmp);
    assert!(found.at_least(35), "{found:?}");
}

#[test]
fn other_operands_mean_something_else() {
    // Another register read, another one written, the operands exchanged (those of MAD have other places) where that means something else:
    // sums and products of the same components do not mind.
    let symmetric = |i: &Instr| matches!(i.op, Op::Add | Op::Mul | Op::Min | Op::Max | Op::Dp3 | Op::Dp4);
    let alike = |i: &Instr| (i.src[0].swz, i.src[0].neg) == (i.src[1].swz, i.src[1].neg);
    let two = |i: &Instr| plain(i) && i.op != Op::Mad && i.sources().len() == 2 && !(symmetric(i) && alike(i));
    let swap = |w: u32| w & !0x7_ff80 | w >> 5 & 0xf80 | (w & 0xf80) << 5;
    type Case<'a> = (&'a dyn Fn(&[Instr], &mut Vec<u32>, usize) -> bool, usize);
    let cases: [Case; 3] = [
        (
            &|code, words, n| {
                words[n] ^= 1 << 12;
                plain(&code[n]) && code[n].op != Op::Mad
            },
            79,
        ),
        (
            &|code, words, n| {
                words[n] ^= 1 << 21;
                plain(&code[n]) && code[n].op != Op::Mad
            },
            87,
        ),
        (
            &|code, words, n| {
                let old = words[n];
                words[n] = swap(old);
                two(&code[n]) && old & 0x7_f000 < 0x2_0000 && words[n] != old
            },
            91,
        ),
    ];
    for (change, percent) in cases {
        let found = noticed_by_meaning(retroshade_pica::isa(), &Profile::pica(), 0..200, &|s| each(s, change));
        println!("{found:?}");
        assert!(found.at_least(percent), "{found:?}");
    }
}

#[test]
fn other_constants_mean_something_else() {
    let found = noticed_by_meaning(retroshade_pica::isa(), &Profile::pica(), 0..200, &|s| {
        let bin = Shbin::read(&s.container).unwrap();
        let with = |n: usize| {
            let mut bin = bin.clone();
            let Constant::Float(_, words) = &mut bin.executables[0].constants[n] else { return None };
            words.iter_mut().for_each(|w| *w ^= 1 << 15);
            Some(CompiledShader { container: bin.write(), ..s.clone() })
        };
        (0..bin.executables[0].constants.len()).filter_map(with).collect()
    });
    println!("{found:?}");
    assert!(found.at_least(89), "{found:?}");
}
