//! Where NOPs stand: between two MOVAs, and behind what may not be the last word of an arm.

use super::*;

fn word(op: Op) -> Item {
    Item::I(Instr::new(op), Span::NONE)
}

fn flat(items: Vec<Item>) -> Vec<Op> {
    let mut out = Emitted::default();
    flatten(items, 0, &mut out, &mut [0; 4], &mut Vec::new()).expect("short enough");
    assert_eq!(out.code.len(), out.spans.len());
    out.code.iter().map(|i| i.op).collect()
}

#[test]
fn two_movas_have_a_nop_between_them() {
    assert_eq!(flat(vec![word(Op::Mova), word(Op::Mova), word(Op::Add)]), [Op::Mova, Op::Nop, Op::Mova, Op::Add]);
    assert_eq!(flat(vec![word(Op::Mova), Item::Label(0), word(Op::Mova)]), [Op::Mova, Op::Nop, Op::Mova], "a label is no word");
    assert_eq!(flat(vec![word(Op::Mova), word(Op::Add), word(Op::Mova)]), [Op::Mova, Op::Add, Op::Mova]);
}

#[test]
fn arms_and_loops_end_where_their_last_word_stands() {
    let items = vec![
        word(Op::Add),
        Item::If(Instr::new(Op::Ifu), None, vec![word(Op::Mul), word(Op::Mul)], vec![word(Op::Max)]),
        Item::For(Instr::new(Op::For), vec![word(Op::Min), word(Op::Min)]),
        word(Op::End),
    ];
    let mut out = Emitted::default();
    flatten(items, 0, &mut out, &mut [], &mut Vec::new()).expect("short enough");
    let flow: Vec<(Op, u16, u8)> = out.code.iter().filter(|i| matches!(i.op, Op::Ifu | Op::For)).map(|i| (i.op, i.target, i.num)).collect();
    // The else part begins at 4 and has one word; the loop's last word is 7.
    assert_eq!(flow, [(Op::Ifu, 4, 1), (Op::For, 7, 0)]);
}

#[test]
fn a_call_is_no_last_word() {
    let body = [Op::Add, Op::Mul, Op::Max].map(Instr::new);
    let call = Instr::new(Op::Call);
    let words = || body.iter().map(|i| Item::I(*i, Span::NONE)).collect::<Vec<_>>();
    let mut items = vec![Item::If(Instr::new(Op::Ifu), None, words(), words()), Item::For(Instr::new(Op::For), words()), word(Op::End)];
    assert_eq!(replace(&mut items, &body, call), 3);
    assert_eq!(flat(items), [Op::Ifu, Op::Call, Op::Nop, Op::Call, Op::Nop, Op::For, Op::Call, Op::Nop, Op::End]);
}
