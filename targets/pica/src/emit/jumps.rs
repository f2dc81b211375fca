//! Jumps that lead to jumps, over jumps, or nowhere: what structured code leaves behind goes away before addresses are known.
//!
//! A jump that is always taken is a JMPU on a boolean constant. Facts: ISA sheet section 10; a jump must not become the last
//! word of a block, so parts keep the NOP that they end with.

use crate::emit::Item;
use crate::isa::forms::Op;
use crate::isa::word::Instr;
use rustc_hash::FxHashMap;

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
            Item::Jump(_, to, _) => out.push(*to),
            Item::If(_, _, a, b) => {
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
            Item::If(_, _, a, b) => {
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
            Item::If(_, _, a, b) => changed |= shorten(a, truth) | shorten(b, truth),
            Item::For(_, a) => changed |= shorten(a, truth),
            _ => {}
        }
    }
    // Where the jumps behind labels lead.
    let mut leads: FxHashMap<usize, usize> = FxHashMap::default();
    for (k, i) in items.iter().enumerate() {
        let Item::Label(l) = i else { continue };
        let next = items[k..].iter().find(|i| !matches!(i, Item::Label(_)));
        if let Some(Item::Jump(j, to, _)) = next
            && always(j, truth)
            && to != l
        {
            leads.insert(*l, *to);
        }
    }
    for i in items.iter_mut() {
        if let Item::Jump(_, to, _) = i {
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
            (Item::Jump(_, to, _), _) if here(behind, *to) => {
                items.remove(k);
                changed = true;
            }
            (Item::Jump(i, over, decides), Some(Item::Jump(j, to, _)))
                if !always(i, truth) && always(j, truth) && here(&behind[1..], *over) =>
            {
                items[k] = Item::Jump(inverse(i), *to, *decides);
                items.remove(k + 1);
                changed = true;
            }
            (Item::Jump(i, ..), Some(next)) if always(i, truth) && !matches!(next, Item::Label(_)) && dead(next, behind.len()) => {
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

/// Takes the NOP off that a part ends with because what stands before it may not be a part's last word; whether there was one.
fn without_nop(items: &mut Vec<Item>) -> bool {
    let [before @ .., Item::I(last, _)] = &items[..] else { return false };
    let padded = last.op == Op::Nop && !before.is_empty() && !super::ends_plain(before);
    if padded {
        items.pop();
    }
    padded
}

/// Branches whose parts need more NOPs than jumps around them would take become jumps; whether one is always taken. New labels count on from
/// `labels`.
pub fn instead(items: &mut Vec<Item>, truth: Option<u8>, labels: &mut usize) -> bool {
    let mut always_taken = false;
    let mut k = 0;
    while k < items.len() {
        match &mut items[k] {
            Item::For(_, body) => always_taken |= instead(body, truth, labels),
            Item::If(flow, from, a, b) => {
                let (mut then, mut other) = (a.clone(), b.clone());
                let nops = usize::from(without_nop(&mut then)) + usize::from(without_nop(&mut other));
                let around = usize::from(!other.is_empty());
                if nops > around && (around == 0 || truth.is_some()) {
                    let jump = match flow.op {
                        Op::Ifu => Instr { uniform: flow.uniform, num: 1, ..Instr::new(Op::Jmpu) },
                        _ => Instr { cond: flow.cond.not(), ..Instr::new(Op::Jmpc) },
                    };
                    let (second, end) = (*labels, *labels + 1);
                    *labels += 2;
                    let mut flat = vec![Item::Jump(jump, second, *from)];
                    flat.append(&mut then);
                    if let Some(truth) = truth.filter(|_| around > 0) {
                        always_taken = true;
                        flat.push(Item::Jump(Instr { uniform: truth, ..Instr::new(Op::Jmpu) }, end, None));
                    }
                    flat.push(Item::Label(second));
                    flat.append(&mut other);
                    flat.push(Item::Label(end));
                    // What the parts hold comes next.
                    items.splice(k..=k, flat);
                } else {
                    always_taken |= instead(a, truth, labels) | instead(b, truth, labels);
                }
            }
            _ => {}
        }
        k += 1;
    }
    always_taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::word::{Cond, CondOp};
    use retroshade_ir::Span;

    const TRUTH: u8 = 15;

    fn always_to(label: usize) -> Item {
        Item::Jump(Instr { uniform: TRUTH, ..Instr::new(Op::Jmpu) }, label, None)
    }
    fn when(bit: u8, set: bool, label: usize) -> Item {
        Item::Jump(Instr { uniform: bit, num: u8::from(!set), ..Instr::new(Op::Jmpu) }, label, None)
    }
    fn plain() -> Item {
        Item::I(Instr::new(Op::Nop), Span::NONE)
    }
    /// The items as a line: `.` for a plain word, jumps with their condition and label, labels.
    fn text(items: &[Item]) -> String {
        let of = |i: &Item| match i {
            Item::I(..) => ".".to_string(),
            Item::Label(l) => format!("{l}:"),
            Item::Jump(i, to, _) if i.op == Op::Jmpu && i.uniform == TRUTH => format!("jump{to}"),
            Item::Jump(i, to, _) if i.op == Op::Jmpu => format!("{}b{}->{to}", if i.num & 1 == 1 { "not " } else { "" }, i.uniform),
            Item::Jump(i, to, _) => format!("{:?}{}{}->{to}", i.cond.op, u8::from(i.cond.x), u8::from(i.cond.y)),
            Item::If(_, _, a, b) => format!("if({})({})", text(a), text(b)),
            Item::Break(..) => "break".to_string(),
            Item::For(_, a) => format!("for({})", text(a)),
        };
        items.iter().map(of).collect::<Vec<_>>().join(" ")
    }
    fn threaded(mut items: Vec<Item>) -> String {
        thread(&mut items, TRUTH);
        text(&items)
    }

    #[test]
    fn jumps_around_jumps_are_inverted() {
        let around = |first| vec![first, always_to(2), Item::Label(1), plain(), Item::Label(2), plain()];
        assert_eq!(threaded(around(when(3, true, 1))), "not b3->2 . 2: .");
        assert_eq!(threaded(around(when(3, false, 1))), "b3->2 . 2: .");
        let flags = Cond { op: CondOp::And, x: true, y: false };
        let jump = Item::Jump(Instr { cond: flags, ..Instr::new(Op::Jmpc) }, 1, None);
        assert_eq!(threaded(around(jump)), "Or01->2 . 2: .");
    }

    #[test]
    fn jumps_lead_where_their_target_leads() {
        let items = vec![
            when(3, true, 1),
            plain(),
            always_to(9),
            Item::Label(1),
            always_to(2),
            plain(),
            Item::Label(9),
            plain(),
            Item::Label(2),
            plain(),
        ];
        assert_eq!(threaded(items), "b3->2 . . 2: .");
    }

    /// What no jump may be: the last word of an arm, a loop or a function.
    #[test]
    fn the_word_behind_the_last_jump_stays() {
        let arm = vec![plain(), always_to(1), plain(), plain()];
        let items = vec![Item::If(Instr::new(Op::Ifu), None, arm, Vec::new()), plain(), Item::Label(1), plain()];
        assert_eq!(threaded(items), "if(. jump1 .)() . 1: .");
        assert_eq!(threaded(vec![Item::Label(1), plain(), always_to(1), plain()]), "1: . jump1 .");
        // Behind a jump that may not be taken everything stays.
        assert_eq!(threaded(vec![Item::Label(1), when(3, true, 1), plain(), plain()]), "1: b3->1 . .");
    }

    fn call() -> Item {
        Item::I(Instr::new(Op::Call), Span::NONE)
    }
    fn when_flags(a: Vec<Item>, b: Vec<Item>) -> Item {
        Item::If(Instr { cond: Cond { op: CondOp::And, x: true, y: false }, ..Instr::new(Op::Ifc) }, None, a, b)
    }
    fn jumping(mut items: Vec<Item>, truth: Option<u8>) -> (String, bool) {
        let mut labels = 1;
        let always_taken = instead(&mut items, truth, &mut labels);
        (text(&items), always_taken)
    }

    #[test]
    fn branches_with_more_nops_than_jumps_become_jumps() {
        let padded = || vec![call(), plain()];
        // Without an else part one NOP is enough.
        assert_eq!(jumping(vec![when_flags(padded(), vec![])], None), ("Or01->1 . 1: 2:".to_string(), false));
        assert_eq!(jumping(vec![when_flags(padded(), vec![plain()])], Some(TRUTH)), ("if(. .)(.)".to_string(), false));
        let both = || vec![when_flags(padded(), padded())];
        assert_eq!(jumping(both(), Some(TRUTH)), ("Or01->1 . jump2 1: . 2:".to_string(), true));
        // A jump that is always taken needs a boolean.
        assert_eq!(jumping(both(), None), ("if(. .)(. .)".to_string(), false));
        // Code that is nothing but a NOP stays.
        assert_eq!(jumping(vec![when_flags(vec![plain()], vec![])], None), ("if(.)()".to_string(), false));
    }

    #[test]
    fn a_chain_of_branches_becomes_jumps_as_a_whole() {
        let inner = when_flags(vec![call(), plain()], vec![call(), plain()]);
        let chain = vec![when_flags(vec![call(), plain()], vec![inner, plain()]), plain()];
        assert_eq!(jumping(chain, Some(TRUTH)), ("Or01->1 . jump2 1: Or01->3 . jump4 3: . 4: 2: .".to_string(), true));
        let by_uniform = Item::If(Instr { uniform: 3, ..Instr::new(Op::Ifu) }, None, vec![call(), plain()], vec![]);
        assert_eq!(jumping(vec![Item::For(Instr::new(Op::For), vec![by_uniform, plain()])], None).0, "for(not b3->1 . 1: 2: .)");
    }
}
