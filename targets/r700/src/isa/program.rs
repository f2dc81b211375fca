//! Whole programs: the control-flow list and the clauses it starts, decoded from words; their listing and its inverse.
//!
//! Addresses count 64-bit units from the program's start. Which words belong to which clause follows from the control-flow
//! list alone; words that nobody starts are padding.

use super::{parse, text};
use crate::isa::forms::{self, Format, cf, field};
use crate::isa::word::{Group, Word};
use retroshade_lower::{Syntax, TextError};
use std::collections::BTreeMap;

/// The instructions of a clause with their addresses.
#[derive(Clone, Debug)]
pub enum Clause {
    /// Groups.
    Alu(Vec<(u32, Group)>),
    /// Texture or vertex fetches.
    Fetch(Vec<(u32, Word)>),
}

/// A decoded program.
#[derive(Clone, Debug)]
pub struct Program {
    /// All words.
    pub words: Vec<u32>,
    /// The control-flow list; its index is its address.
    pub cf: Vec<Word>,
    /// Clauses by address.
    pub clauses: BTreeMap<u32, Clause>,
}

/// The decode space of a fetch clause's instructions, if the word starts one.
pub fn fetch_space(w: &Word) -> Option<u32> {
    match w.form() {
        cf::TEX | cf::TEX_ACK => Some(forms::TEX),
        cf::VTX | cf::VTX_TC | cf::VTX_ACK | cf::VTX_TC_ACK => Some(forms::VTX),
        _ => None,
    }
}

/// Bytes to words.
pub fn words_of(code: &[u8]) -> Result<Vec<u32>, TextError> {
    if !code.len().is_multiple_of(8) {
        return Err(TextError::new(format!("{} bytes are no whole number of 64-bit words", code.len())));
    }
    Ok(code.as_chunks::<4>().0.iter().map(|c| u32::from_le_bytes(*c)).collect())
}

fn error(unit: u32, message: impl Into<String>) -> TextError {
    TextError { offset: Some(unit as u64 * 8), ..TextError::new(message) }
}

impl Program {
    /// Decodes the control-flow list up to END_OF_PROGRAM and every clause.
    pub fn decode(words: &[u32]) -> Result<Program, TextError> {
        let mut p = Program { words: words.to_vec(), cf: Vec::new(), clauses: BTreeMap::new() };
        let units = words.len() as u32 / 2;
        loop {
            let at = p.cf.len() as u32;
            if at >= units {
                return Err(error(at, "the control-flow list has no END_OF_PROGRAM"));
            }
            let w = Word::decode_cf(words[at as usize * 2], words[at as usize * 2 + 1])
                .ok_or_else(|| error(at, "not a control-flow instruction"))?;
            let end = w.get(field!(END_OF_PROGRAM)) == 1;
            // A fetch shader returns to its caller.
            let end = end || w.form() == cf::RETURN;
            p.cf.push(w);
            if end {
                break;
            }
        }
        for (i, w) in p.cf.iter().enumerate() {
            let at = w.get(field!(ADDR)) as u32;
            if w.info().format == Format::CfAlu {
                let end = at + w.get(field!(COUNT)) as u32 + 1;
                if end > units {
                    return Err(error(i as u32, format!("the clause at {at} reaches beyond the program")));
                }
                let mut groups = Vec::new();
                let mut pos = at;
                while pos < end {
                    let (g, used) = Group::decode(&words[pos as usize * 2..end as usize * 2])
                        .ok_or_else(|| error(pos, "not a group of ALU operations within its clause"))?;
                    groups.push((pos, g));
                    pos += used as u32 / 2;
                }
                p.clauses.insert(at, Clause::Alu(groups));
            } else if let Some(space) = fetch_space(w) {
                let n = (w.get(field!(COUNT)) | w.get(field!(COUNT_3)) << 3) as u32 + 1;
                let mut fetches = Vec::new();
                for k in 0..n {
                    let u = at + 2 * k;
                    let quad = words
                        .get(u as usize * 2..u as usize * 2 + 4)
                        .ok_or_else(|| error(i as u32, format!("the clause at {at} reaches beyond the program")))?;
                    let f = Word::decode_fetch(space, [quad[0], quad[1], quad[2], quad[3]])
                        .ok_or_else(|| error(u, "not a fetch instruction"))?;
                    fetches.push((u, f));
                }
                p.clauses.insert(at, Clause::Fetch(fetches));
            }
        }
        Ok(p)
    }

    /// The whole program as text: native in LLVM's manner, or the listing that [`assemble`] reads back.
    pub fn listing(&self, syntax: Syntax) -> String {
        let mut out = String::new();
        let mut pos = self.cf.len() as u32;
        for (i, w) in self.cf.iter().enumerate() {
            let kind = if matches!(w.info().format, Format::ExpSwiz | Format::ExpBuf) { "export" } else { "cf" };
            match syntax {
                Syntax::Fields => out.push_str(&format!("{kind}: {}\n", text::word(w, syntax))),
                Syntax::Native => out.push_str(&format!("{:<60}; {i}\n", parse::word(w))),
            }
        }
        for (at, clause) in &self.clauses {
            self.padding(&mut pos, *at, syntax, &mut out);
            match clause {
                Clause::Alu(groups) => {
                    if syntax == Syntax::Native {
                        out.push_str(&format!("ALU clause starting at {at}:\n"));
                    }
                    for (_, g) in groups {
                        match syntax {
                            Syntax::Fields => out.push_str(&format!("alu: {}\n", text::group(g, syntax))),
                            Syntax::Native => text::complete_lines(g).iter().for_each(|l| out.push_str(&format!("    {l}\n"))),
                        }
                    }
                    pos = groups.last().map_or(pos, |(u, g)| u + g.size() as u32);
                }
                Clause::Fetch(fetches) => {
                    if syntax == Syntax::Native {
                        out.push_str(&format!("Fetch clause starting at {at}:\n"));
                    }
                    for (u, f) in fetches {
                        let kind = if f.info().format == Format::Tex { "tex" } else { "vtx" };
                        match syntax {
                            Syntax::Fields => out.push_str(&format!("{kind}: {}\n", text::word(f, syntax))),
                            Syntax::Native => out.push_str(&format!("    {}\n", parse::word(f))),
                        }
                        pos = u + 2;
                    }
                }
            }
        }
        self.padding(&mut pos, self.words.len() as u32 / 2, syntax, &mut out);
        out
    }

    /// One instruction per line, in hex with its kind, as `dis --hex` reads it.
    pub fn hex_lines(&self) -> String {
        let words = |u: u32, n: usize| text::hex(&self.words[u as usize * 2..u as usize * 2 + n]);
        let mut out = String::new();
        for (i, w) in self.cf.iter().enumerate() {
            let kind = if matches!(w.info().format, Format::ExpSwiz | Format::ExpBuf) { "export" } else { "cf" };
            out.push_str(&format!("{kind}: {}\n", words(i as u32, 2)));
        }
        for clause in self.clauses.values() {
            match clause {
                Clause::Alu(g) => g.iter().for_each(|(u, g)| out.push_str(&format!("alu: {}\n", words(*u, g.size() * 2)))),
                Clause::Fetch(f) => f.iter().for_each(|(u, f)| {
                    let kind = if f.info().format == Format::Tex { "tex" } else { "vtx" };
                    out.push_str(&format!("{kind}: {}\n", words(*u, 4)));
                }),
            }
        }
        out
    }

    fn padding(&self, pos: &mut u32, to: u32, syntax: Syntax, out: &mut String) {
        while *pos < to {
            let words = &self.words[*pos as usize * 2..*pos as usize * 2 + 2];
            match syntax {
                Syntax::Native if words == [0, 0] => out.push_str("PAD\n"),
                _ => out.push_str(&format!("pad: {}\n", text::hex(words))),
            }
            *pos += 1;
        }
    }
}

/// Assembles a listing: a line per instruction in the order of memory; `;` begins a comment.
pub fn assemble(source: &str) -> Result<Vec<u32>, Vec<TextError>> {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    // In LLVM's syntax the kind of a line follows from the clause that it stands in.
    let mut space = forms::CF | forms::EXPORT;
    for (n, line) in source.lines().enumerate() {
        let line = line.split(';').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        if let Some(s) = parse::header(line) {
            space = s;
            continue;
        }
        let words = match line.strip_prefix("pad:") {
            Some(rest) => rest
                .split_whitespace()
                .map(|w| u32::from_str_radix(w, 16).map_err(|_| TextError::new(format!("`{w}` is not a word in hex"))))
                .collect::<Result<Vec<_>, _>>(),
            None if line == "PAD" => Ok(vec![0; 2]),
            None if text::split_kind(line).0.is_some() || text::is_listing(line) => text::asm_line(line),
            None => parse::read(space, line),
        };
        match words {
            Ok(w) => out.extend(w),
            Err(e) => errors.push(TextError { line: n as u32 + 1, column: 1, ..e }),
        }
    }
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}
