//! The generated part of `docs/ir.md`: the table of operations, from the list in `opcode.rs`.

use crate::opcode::{Effect, Opcode, ResultRule};

/// How an operation is written, operands as `a`, `b`, ….
fn spelling(op: Opcode) -> String {
    use Opcode::*;
    let name = op.name();
    match op {
        Const => "`iconst.i32 3`, `fconst.f32x2 [1.0, -0.5]`, `iconst.i1 true`".into(),
        Fcmp => "`fcmp olt a, b`".into(),
        Icmp => "`icmp slt a, b`".into(),
        Extract => "`extract a, 2`".into(),
        Insert => "`insert a, b, 2`".into(),
        Shuffle => "`shuffle a, b, [0, 3, 4]`".into(),
        Build => "`build a, b, c`".into(),
        Input | Uniform | LocalLoad | SharedLoad | StorageLoad => format!("`{name}.T %x[i + 1]`"),
        Output | LocalStore | SharedStore | StorageStore => format!("`{name} %x[i + 1], a`"),
        StorageLen => "`storage_len.i32 %x`".into(),
        Atomic => "`atomic.i32 add %x[i], a`, `atomic.i32 cas %x[i], compare, new`".into(),
        Tex => "`tex.T sample bias compare offset(1, 0, 0) %t, a, …`".into(),
        Ddx | Ddy => format!("`{name} a`, `{name} coarse a`, `{name} fine a`"),
        EmitVertex | EndPrimitive => format!("`{name}`, `{name} 1`"),
        Call => "`a, b = call @f(c, d)`".into(),
        Jump => "`jump block1(a)`".into(),
        BrIf => "`br_if a, block1(b), block2`".into(),
        Switch => "`switch a, [0: block1, -5: block2(b)], block3`".into(),
        Return => "`return`, `return a, b`".into(),
        Ext => "`ext.T target.name a, b`".into(),
        _ => {
            let operands: Vec<String> = (0..op.arity().max(0)).map(|n| char::from(b'a' + n as u8).to_string()).collect();
            let suffix = if op.rule() == ResultRule::Explicit { ".T" } else { "" };
            format!("`{name}{suffix} {}`", operands.join(", ")).replace(" `", "`")
        }
    }
}

/// One section per group, one row per operation.
pub fn operations() -> String {
    let mut out = String::new();
    let mut group = "";
    for op in Opcode::ALL {
        if op.group() != group {
            group = op.group();
            out.push_str(&format!("\n### {group}\n\n| written | result | effect | meaning |\n|---|---|---|---|\n"));
        }
        let result = match op.rule() {
            ResultRule::None => "none",
            ResultRule::Explicit => "`T`, as written",
            ResultRule::Same => "type of `a`",
            ResultRule::Second => "type of the second operand",
            ResultRule::Compare => "`i1` per lane of `a`",
            ResultRule::Lane => "a lane of `a`",
            ResultRule::Build => "a vector of the operands",
            ResultRule::Shuffle => "a lane per mask entry",
            ResultRule::I1 => "`i1`",
            ResultRule::Call => "the callee's",
        };
        let effect = match op.effect() {
            Effect::Pure => "",
            Effect::Convergent => "convergent",
            Effect::Read => "reads",
            Effect::Write => "writes",
            Effect::Terminator => "ends the block",
        };
        out.push_str(&format!("| {} | {result} | {effect} | {} |\n", spelling(*op), op.doc().replace('|', "\\|")));
    }
    out.push('\n');
    out
}
