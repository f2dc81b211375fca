//! The linter: one program for each thing that the hardware forbids, and its neighbour that is allowed.
#![allow(clippy::unwrap_used)]

use retroshade_lower::TextOptions;
use retroshade_pica::container::Shbin;
use retroshade_pica::isa::dis::decode_all;
use retroshade_pica::isa::flow::places;
use retroshade_pica::isa::forms::Op;
use retroshade_pica::isa::lint::program;
use retroshade_pica::isa::registers::{Reg, Src};
use retroshade_pica::isa::word::Instr;

fn plain() -> Instr {
    Instr::alu(Op::Mov, Reg::R(0), 15, &[Src::new(Reg::V(0))])
}

fn flow(op: Op, target: u16, num: u8) -> Instr {
    Instr { target, num, ..Instr::new(op) }
}

fn findings(code: &[Instr]) -> String {
    program(code).into_iter().map(|f| f.error.message).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn says(code: &[Instr], what: &str) {
    let found = findings(code);
    assert!(found.contains(what), "`{found}` does not say `{what}`");
}

fn end() -> Instr {
    Instr::new(Op::End)
}

fn mova() -> Instr {
    Instr { mask: 1, ..Instr::alu(Op::Mova, Reg::R(0), 1, &[Src::new(Reg::V(0))]) }
}

#[test]
fn words_that_freeze_the_chip() {
    says(&[mova(), mova(), end()], "two MOVA in a row");
    assert_eq!(findings(&[mova(), plain(), mova(), end()]), "");
    says(&[Instr::alu(Op::Add, Reg::R(0), 15, &[Src::new(Reg::V(0)), Src::new(Reg::V(1))]), end()], "two different input registers");
    says(&[Instr::new(Op::Break), end()], "BREAK outside a loop");
    // Words: for, ifc, break, nop, nop, end.
    let nop = || Instr::new(Op::Nop);
    says(&[flow(Op::For, 4, 0), flow(Op::Ifc, 4, 0), Instr::new(Op::Break), nop(), nop(), end()], "leaves the if's entry");
    assert_eq!(findings(&[flow(Op::For, 4, 0), flow(Op::Jmpc, 3, 0), Instr::new(Op::Break), nop(), nop(), end()]), "");
    // The end of a loop's body leads to its first word, that of an if part behind the else part, that of a procedure behind the call.
    says(&[flow(Op::For, 3, 0), mova(), plain(), mova(), end()], "two MOVA in a row");
    says(&[flow(Op::Ifc, 2, 1), mova(), plain(), mova(), end()], "two MOVA in a row");
    says(&[flow(Op::Call, 4, 2), mova(), plain(), end(), plain(), mova()], "two MOVA in a row");
    assert_eq!(findings(&[flow(Op::For, 3, 0), plain(), mova(), plain(), end()]), "");
    says(&[flow(Op::Jmpc, 9, 0), end()], "beyond the program");
}

#[test]
fn blocks_need_plain_ends() {
    // Words: ifc, body, end.
    assert_eq!(findings(&[flow(Op::Ifc, 2, 0), plain(), end()]), "");
    says(&[flow(Op::Ifc, 1, 0), end()], "is empty");
    says(&[flow(Op::Ifc, 0, 0), end()], "leads backward");
    says(&[flow(Op::Ifc, 3, 0), plain(), flow(Op::Jmpc, 1, 0), end()], "ends with a jump or call");
    says(&[flow(Op::For, 2, 0), plain(), Instr::new(Op::Breakc), end()], "ends with a jump or call");
    says(&[flow(Op::For, 0, 0), end()], "loop body is empty");
    // Two blocks that end together.
    says(&[flow(Op::Ifc, 3, 0), flow(Op::Ifc, 3, 0), plain(), end()], "an inner if part ends there too");
    assert_eq!(findings(&[flow(Op::Ifc, 4, 0), flow(Op::Ifc, 3, 0), plain(), Instr::new(Op::Nop), end()]), "");
    says(&[flow(Op::Ifc, 9, 0), plain(), end()], "reaches beyond the program");
}

#[test]
fn jumps_and_the_stacks() {
    says(&[flow(Op::Ifc, 4, 0), flow(Op::Jmpc, 4, 0), plain(), plain(), end()], "passes by the end of the if part");
    says(&[flow(Op::For, 2, 0), flow(Op::Jmpc, 3, 0), plain(), end()], "passes by the end of the loop body");
    says(&[flow(Op::For, 2, 0), flow(Op::Jmpc, 4, 0), plain(), plain(), end()], "a jump out of a loop");
}

/// `n` blocks inside each other, each with a NOP before its end.
fn nested(op: Op, n: u16) -> Vec<Instr> {
    let mut code: Vec<Instr> = (0..n).map(|k| flow(op, 2 * n - k + u16::from(op != Op::For), 0)).collect();
    code.push(plain());
    code.extend((0..n).map(|_| Instr::new(Op::Nop)));
    code.push(end());
    code
}

#[test]
fn stacks_have_a_depth() {
    assert_eq!(findings(&nested(Op::Ifc, 8)), "");
    says(&nested(Op::Ifc, 9), "more than 8 nested ifs");
    assert_eq!(findings(&nested(Op::For, 4)), "");
    says(&nested(Op::For, 5), "more than 4 nested loops");
    // Procedures that call the next one, each padded: word 0 calls the first, which stands behind the end.
    let calls = |n: u16| {
        let mut code = vec![flow(Op::Call, 2, if n == 1 { 1 } else { 2 }), end()];
        for k in 1..=n {
            if k == n {
                code.push(plain());
            } else {
                let len = if k + 1 == n { 1 } else { 2 };
                code.extend([flow(Op::Call, 2 + 2 * k, len), Instr::new(Op::Nop)]);
            }
        }
        code
    };
    assert_eq!(findings(&calls(4)), "");
    says(&calls(5), "more than 4 nested calls");
}

/// Marks that are asked once each: every branch could double the places if marks that nobody asks for again were told apart.
#[test]
fn marks_are_forgotten_when_they_were_asked() {
    let mut text = String::from(".entry main\n.in a v0\n.setf c95(0.0, 1.0, 0.0, 0.0)\n.out - position o0\n.proc main\n");
    for n in 0..24 {
        let (r, c) = (n / 4, ["x", "y", "z", "w"][n % 4]);
        text += &format!("mov r{r}.{c}, c95.x\ncmp v0.x, lt, eq, v0.xy\nifc cmp.x || cmp.y\nmov r{r}.{c}, c95.y\nnop\n.end\n");
        text += &format!("cmp c95.xy, eq, eq, r{r}.{c}\nifc cmp.x\nadd r15, r15, v0\nnop\n.end\n");
    }
    text += "mov o0, v0\nend\n.end\n";
    let asm = retroshade_pica::isa().assemble(&text, &TextOptions::default()).unwrap();
    let bin = Shbin::read(&asm.container.unwrap()).unwrap();
    let all = places(&decode_all(&bin).unwrap(), bin.executables[0].entry as usize, &bin.executables[0].constants).unwrap();
    assert!(all.len() < 2000, "{} places", all.len());
}
