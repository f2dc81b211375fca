//! Every code that a message can have: what it means, why it comes, what to do. `shaderc explain` and `docs/codes.md` are made of this.

mod command;
mod front;
mod machines;
mod text;

use std::fmt::Write as _;

/// What there is to say about a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The code: a letter for the area, four digits.
    pub code: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// Why that is so.
    pub cause: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

/// A row of a table: code, title, cause, remedy.
type Row = (&'static str, &'static str, &'static str, &'static str);

/// Areas, by the letter that their codes begin with.
const AREAS: &[(char, &str)] = &[
    ('A', "Assembly and binaries"),
    ('C', "The command, and what all machines share"),
    ('E', "The IR's text"),
    ('F', "Sources in other languages"),
    ('L', "Limits of the front end"),
    ('P', "PICA200"),
    ('R', "Running (R000x) and R700 (R01xx, R03xx)"),
    ('S', "Structured control flow"),
    ('T', "Tesla"),
    ('U', "USSE"),
    ('V', "Rules of the IR"),
    ('W', "Warnings"),
    ('X', "Bugs of the compiler"),
];

/// Every code, in order.
pub fn all() -> Vec<Entry> {
    let tables = [command::ROWS, text::ROWS, front::ROWS, machines::ROWS];
    let rows = tables.into_iter().flatten().map(|(code, title, cause, remedy)| Entry { code, title, cause, remedy });
    let rules = retroshade_ir::verify::RULES.iter().map(|(code, rule)| Entry {
        code,
        title: rule,
        cause: "A module breaks this rule of the IR. Text in `.ir` files and modules that a program builds are checked before anything else.",
        remedy: "Mend the place that the message names; `docs/ir.md` has the rules of every operation. If the source was in another language, \
                 this is a bug of the front end: please report it.",
    });
    let mut all: Vec<Entry> = rows.chain(rules).collect();
    all.sort_by_key(|e| e.code);
    all
}

/// What there is to say about a code, in upper or lower case.
pub fn explain(code: &str) -> Option<Entry> {
    all().into_iter().find(|e| e.code.eq_ignore_ascii_case(code))
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}: {}\n\n{}\n\n{}", self.code, self.title, self.cause, self.remedy)
    }
}

/// The page `docs/codes.md`.
pub fn page() -> String {
    let mut out = String::from(
        "# Codes\n\nEvery message has a code that stays the same; `shaderc explain CODE` prints what stands here. This page is made by the test \
         `codes` (`SHADERC_BLESS=1 cargo test -p retroshade --test codes`) from `core/src/codes`.\n",
    );
    let mut area = ' ';
    for e in all() {
        let letter = e.code.chars().next().unwrap_or(' ');
        if letter != area {
            area = letter;
            let title = AREAS.iter().find(|a| a.0 == letter).map_or("", |a| a.1);
            let _ = write!(out, "\n## {letter}: {title}\n");
        }
        let _ = write!(out, "\n### {}\n\n**{}.** {}\n\n{}\n", e.code, e.title, e.cause, e.remedy);
    }
    out
}
