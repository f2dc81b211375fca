//! `docs/ir.md` against the sources: the table of operations, the verifier's rules, and every example.
//! `SHADERC_BLESS=1` rewrites the generated parts.

use std::path::Path;

const OPERATIONS: (&str, &str) = ("<!-- operations: generated -->\n", "<!-- end of operations -->\n");
const RULES: (&str, &str) = ("<!-- rules: generated -->\n", "<!-- end of rules -->\n");

fn replace(text: &str, marks: (&str, &str), new: &str) -> String {
    let start = text.find(marks.0).expect("start mark") + marks.0.len();
    let end = text.find(marks.1).expect("end mark");
    format!("{}{new}{}", &text[..start], &text[end..])
}

/// The verifier's rules as a table.
fn rules() -> String {
    let rows: String = retroshade_ir::verify::RULES.iter().map(|(code, rule)| format!("| {code} | {rule} |\n")).collect();
    format!("\n| code | rule |\n|---|---|\n{rows}\n")
}

#[test]
fn the_generated_parts_are_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ir.md");
    let old = std::fs::read_to_string(&path).expect("docs/ir.md");
    let new = replace(&replace(&old, OPERATIONS, &retroshade_ir::docs::operations()), RULES, &rules());
    if std::env::var_os("SHADERC_BLESS").is_some() {
        std::fs::write(&path, &new).expect("docs/ir.md is writable");
    } else {
        assert!(old == new, "docs/ir.md is not current: run `SHADERC_BLESS=1 cargo test -p retroshade-ir --test reference`");
    }
}

#[test]
fn the_examples_are_valid() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ir.md")).expect("docs/ir.md");
    let mut n = 0;
    for block in text.split("```ir\n").skip(1) {
        let source = block.split("```").next().unwrap_or("");
        let m = retroshade_ir::parse("docs/ir.md", source).unwrap_or_else(|e| panic!("{source}\n{:?}", e.diagnostics));
        retroshade_ir::verify(&m).unwrap_or_else(|e| panic!("{source}\n{e:?}"));
        n += 1;
    }
    assert!(n >= 2, "docs/ir.md has {n} examples");
}
