//! Codes of the IR's text.

use super::Row;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    ("E0001", "another word is expected here", "The text of a `.ir` file does not follow the grammar.", "The message says what may stand there; `docs/ir.md` has the grammar."),
    ("E0002", "this is not text", "The file holds bytes that are no UTF-8, or characters that no text has.", "Save it as UTF-8. In comments of the other languages any bytes may stand; elsewhere they are F0011 or F0010. SPIR-V ends in `.spv`, containers are read by `dis`, `lint` and `run`."),
    ("E0003", "the text is too large", "A `.ir` file may have 16 MiB.", "No program for these machines is that large."),
    ("E0004", "the file is empty", "There is nothing to read.", "An IR file begins with `shader STAGE \"NAME\"`."),
    ("E0005", "an unexpected character", "The character belongs to nothing in the grammar, or a string has no end.", "Remove it; comments begin with `;`."),
    ("E0006", "there is no such operation", "The word names no operation of the IR.", "`docs/ir.md` lists the operations; the message has the nearest one."),
    ("E0007", "there is no such type", "Types are `i1`, `i32`, `f32`, `f16` and their vectors `x2`, `x3`, `x4`.", "Use one of these; constants carry theirs: `fconst.f32x2`."),
    ("E0008", "a number does not fit", "The literal is no number of the kind that is needed here, or too large for it.", "Use a number within the range that the message shows."),
    ("E0009", "something is defined twice", "Two values, blocks, functions or declarations have one name.", "Rename one of them."),
    ("E0010", "a value is not defined", "No instruction or parameter of the function has this number.", "Define it before it is used, or mend the number."),
    ("E0011", "there is no such block", "A branch names a block that the function does not have.", "Write the block, or mend the name."),
    ("E0012", "there is no such variable", "No declaration of this kind has the name.", "Declare it before the code: `uniform %name : f32x4 @binding(0)`."),
    ("E0013", "there is no such function", "A call names a function that the module does not have.", "Write the function: `func @name(v0: f32) -> f32 { … }`."),
    ("E0014", "the type of a value cannot be found", "Its type follows from operands that are missing, or depends on itself.", "Write the type behind the operation: `fadd.f32x4`."),
    ("E0016", "there is no such attribute", "The attribute does not belong to this kind of declaration.", "`docs/ir.md` lists the attributes of each."),
    ("E0017", "an operation needs a type", "The result's type follows from nothing.", "Write it behind the operation: `uniform.f32x4 %u`."),
    ("E0018", "the number of results is wrong", "The operation gives another number of values than the line has names for.", "Give each result one name; most operations have one."),
    ("E0019", "a constant has the wrong number of lanes", "The list has another length than the type has lanes.", "Write one number a lane, or a single one for all."),
    ("E0020", "parameters stand in the wrong place", "The first block's parameters are the function's, which its header lists.", "Move them into the header."),
    ("E0021", "a function has no block", "A function needs at least `block0:` with a terminator.", "Write the block; an empty program is `block0:` and `return`."),
];
