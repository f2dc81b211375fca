//! Jumps that lead to jumps, over jumps, or nowhere: what structured code leaves behind goes away before addresses are known.
//!
//! A jump that is always taken is a JMPU on a boolean constant. Facts: ISA sheet section 10; a jump must not become the last
//! word of a block, so parts keep the NOP that they end with.

use crate::emit::Item;
use crate::isa::forms::Op;
use crate::isa::word::Instr;
use std::collections::HashMap;

/// Shortens the jumps of one function; `truth` is the boolean that is always true.
pub fn thread(items: &mut Vec<Item>, truth: u8) {
    loop {
        let mut wanted = Vec::new();
        targets(items, &mut wanted);
        drop_labels(items, &wanted);
        if !shorten(items, truth) {
            return;
        }
    }
}

/// Labels that a jump leads to.
fn targets(items: &[Item], out: &mut Vec<usize>) {
    for i in items {
        match i {
            Item::Jump(_, to) => out.push(*to),
            Item::If(_, a, b) => {
                targets(a, out);
                targets(b, out);
            }
            Item::For(_, a) => targets(a, out),
            _ => {}
        }
    }
}

/// Labels that no jump leads to would only hide what stands behind.
fn drop_labels(items: &mut Vec<Item>, wanted: &[usize]) {
    items.retain(|i| !matches!(i, Item::Label(l) if !wanted.contains(l)));
    for i in items {
        match i {
            Item::If(_, a, b) => {
                drop_labels(a, wanted);
                drop_labels(b, wanted);
            }
            Item::For(_, a) => drop_labels(a, wanted),
            _ => {}
        }
    }
}

/// Whether a jump is always taken.
fn always(i: &Instr, truth: u8) -> bool {
    i.op == Op::Jmpu && i.uniform == truth && i.num & 1 == 0
}

/// The jump that is taken where this one is not.
fn inverse(i: &Instr) -> Instr {
    match i.op {
        Op::Jmpu => Instr { num: i.num ^ 1, ..*i },
        _ => Instr { cond: i.cond.not(), ..*i },
    }
}

/// Whether a label stands right here.
fn here(items: &[Item], label: usize) -> bool {
    items.iter().take_while(|i| matches!(i, Item::Label(_))).any(|i| matches!(i, Item::Label(l) if *l == label))
}

/// One round over a list and what it contains; whether anything became shorter.
fn shorten(items: &mut Vec<Item>, truth: u8) -> bool {
    let mut changed = false;
    for i in items.iter_mut() {
        match i {
            Item::If(_, a, b) => changed |= shorten(a, truth) | shorten(b, truth),
            Item::For(_, a) => changed |= shorten(a, truth),
            _ => {}
        }
    }
    // Where the jumps behind labels lead.
    let mut leads: HashMap<usize, usize> = HashMap::new();
    for (k, i) in items.iter().enumerate() {
        let Item::Label(l) = i else { continue };
        let next = items[k..].iter().find(|i| !matches!(i, Item::Label(_)));
        if let Some(Item::Jump(j, to)) = next
            && always(j, truth)
            && to != l
        {
            leads.insert(*l, *to);
        }
    }
    for i in items.iter_mut() {
        if let Item::Jump(_, to) = i {
            // Loops without an end lead in circles.
            for _ in 0..leads.len() {
                let Some(next) = leads.get(to) else { break };
                *to = *next;
            }
        }
    }
    let mut k = 0;
    while k < items.len() {
        let behind = &items[k + 1..];
        match (&items[k], behind.first()) {
            (Item::Jump(_, to), _) if here(behind, *to) => {
                items.remove(k);
                changed = true;
            }
            (Item::Jump(i, over), Some(Item::Jump(j, to))) if !always(i, truth) && always(j, truth) && here(&behind[1..], *over) => {
                items[k] = Item::Jump(inverse(i), *to);
                items.remove(k + 1);
                changed = true;
            }
            (Item::Jump(i, _), Some(next)) if always(i, truth) && !matches!(next, Item::Label(_)) && dead(next, behind.len()) => {
                items.remove(k + 1);
                changed = true;
            }
            _ => k += 1,
        }
    }
    changed
}

/// Whether an item behind a jump that is always taken may go: nothing inside is a target from elsewhere, and it is not the
/// last word, which a block's end needs.
fn dead(i: &Item, left: usize) -> bool {
    left > 1 && matches!(i, Item::I(..) | Item::Jump(..))
}
