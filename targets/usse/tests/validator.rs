//! The validator on damaged words: waits that are missing, flags that are wrong, words that are gone or name other registers.
#![allow(clippy::unwrap_used)]

use retroshade_ir::Stage;
use retroshade_lower::CompiledShader;
use retroshade_lower::testing::{Noticed, Profile, noticed, noticed_by_meaning};
use retroshade_usse::container::{self, Gxp};
use retroshade_usse::isa::forms::{NOP, SMP, TABLE, WDF, decode};

/// A word that does nothing.
const NOTHING: u64 = 0xf800_0140_0000_0000;

/// The shader with each word changed for itself, where `change` has something to change.
fn each(shader: &CompiledShader, change: &dyn Fn(&[u64], usize) -> Option<u64>) -> Vec<CompiledShader> {
    let g = container::read(&shader.container).unwrap();
    let with = |primary: Vec<u64>| {
        let g = Gxp { primary, ..g.clone() };
        CompiledShader { container: container::write(&g), ..shader.clone() }
    };
    let changed = (0..g.primary.len()).filter_map(|n| {
        let mut words = g.primary.clone();
        words[n] = change(&g.primary, n)?;
        (words != g.primary).then(|| with(words))
    });
    changed.collect()
}

fn damaged(stage: Stage, programs: u64, change: &dyn Fn(&[u64], usize) -> Option<u64>) -> Noticed {
    let found = noticed(retroshade_usse::isa(), &Profile::usse().only(&[stage]), 0..programs, &|s| each(s, change));
    println!("{found:?}");
    found
}

/// The bits of a word's field.
fn field(word: u64, name: &str) -> Option<u64> {
    let form = TABLE.form(decode(word)?.form);
    let f = form.fields().find(|f| f.name == name)?;
    Some(f.bits.iter().map(|b| ((1u64 << b.width) - 1) << b.lo).sum())
}

fn is(word: u64, form: retroshade_emit::form::FormId) -> bool {
    decode(word).is_some_and(|d| d.form == form)
}

#[test]
fn a_texture_read_is_waited_for() {
    let found = damaged(Stage::Fragment, 120, &|w, n| is(w[n], WDF).then_some(NOTHING));
    assert!(found.at_least(95), "{found:?}");
}

#[test]
fn internal_registers_are_protected() {
    let found = damaged(Stage::Vertex, 40, &|w, n| Some(w[n] & !field(w[n], "nosched").filter(|_| !is(w[n], SMP))?));
    assert!(found.at_least(90), "{found:?}");
}

#[test]
fn instances_that_do_not_count_compute_coordinates() {
    // Everything that can is left out for them.
    let all = |shader: &CompiledShader| {
        let g = container::read(&shader.container).unwrap();
        let implicit = g.primary.iter().any(|w| is(*w, SMP));
        let primary: Vec<u64> = g.primary.iter().map(|w| if is(*w, SMP) { *w } else { w | field(*w, "skipinv").unwrap_or(0) }).collect();
        let damaged = implicit && primary != g.primary;
        let container = container::write(&Gxp { primary, ..g });
        Vec::from_iter(damaged.then(|| CompiledShader { container, ..shader.clone() }))
    };
    let found = noticed(retroshade_usse::isa(), &Profile::usse().only(&[Stage::Fragment]), 0..150, &all);
    assert!(found.at_least(70), "{found:?}");
}

#[test]
fn quads_enter_texture_reads_together() {
    let found = damaged(Stage::Fragment, 150, &|w, n| Some(w[n] & !field(w[n], "syncstart").filter(|_| is(w[n], SMP))?));
    assert!(found.at_least(100), "{found:?}");
}

#[test]
fn words_that_are_gone_are_missed() {
    // A control: the word does nothing but end lifetimes of internal registers.
    assert!(is(NOTHING, NOP));
    let found = damaged(Stage::Vertex, 30, &|w, n| (!is(w[n], NOP)).then_some(NOTHING));
    assert!(found.at_least(43), "{found:?}");
}

#[test]
fn other_registers_hold_nothing() {
    let found = damaged(Stage::Vertex, 30, &|w, n| Some(w[n] ^ (field(w[n], "src1_n")? & 0x1f << 9)));
    assert!(found.at_least(50), "{found:?}");
}

#[test]
fn other_operands_and_literals_mean_something_else() {
    let check = |damage: &dyn Fn(&CompiledShader) -> Vec<CompiledShader>| {
        let found = noticed_by_meaning(retroshade_usse::isa(), &Profile::usse(), 0..200, damage);
        println!("{found:?}");
        found
    };
    // Another source, another destination, the sources exchanged.
    let low = |word: u64, name: &str| field(word, name).map(|mask| mask & mask.wrapping_neg());
    let found = check(&|s| each(s, &|w, n| Some(w[n] ^ low(w[n], "src1_n")?)));
    assert!(found.at_least(59), "{found:?}");
    let found = check(&|s| each(s, &|w, n| Some(w[n] ^ low(w[n], "dest_n")?)));
    assert!(found.at_least(60), "{found:?}");
    let found = check(&|s| {
        each(s, &|w, n| {
            let (one, two) = (field(w[n], "src1_n")?, field(w[n], "src2_n")?);
            (one == two << 6).then_some(w[n] & !(one | two) | (w[n] & one) >> 6 | (w[n] & two) << 6)
        })
    });
    assert!(found.at_least(61), "{found:?}");
    let found = check(&|s| {
        let g = container::read(&s.container).unwrap();
        let with = |n: usize| {
            let mut g = g.clone();
            g.literals[n].1 ^= 1 << 20;
            CompiledShader { container: container::write(&g), ..s.clone() }
        };
        (0..g.literals.len()).map(with).collect()
    });
    assert!(found.at_least(48), "{found:?}");
}
