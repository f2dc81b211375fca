//! A whole `.shbin` as text that picasso takes: directives from the tables, procedures and blocks from the flow fields.

use crate::container::{Constant, Executable, OUTPUT_TYPES, Shbin, numbering};
use crate::isa::asm::{FILE_MARK, NAME_MARK, OWN_UNIFORMS, UNIFORM_MARK};
use crate::isa::forms::Op;
use crate::isa::parse::letters;
use crate::isa::text::instruction;
use crate::isa::word::{Instr, decode, descriptor_index};
use crate::legal::numerics::from_bits24;
use retroshade_lower::TextError;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Decodes every word of a program; the error names the word.
pub fn decode_all(bin: &Shbin) -> Result<Vec<Instr>, TextError> {
    let word = |(n, w): (usize, &u32)| {
        let desc = match descriptor_index(*w) {
            None => 0,
            Some(d) => *bin.descriptors.get(d as usize).ok_or_else(|| error(n, format!("descriptor {d} does not exist")))?,
        };
        decode(*w, desc).map_err(|_| error(n, format!("{w:08x} is not an instruction")))
    };
    bin.code.iter().enumerate().map(word).collect()
}

fn error(word: usize, message: String) -> TextError {
    TextError { offset: Some(4 * word as u64), ..TextError::new(format!("word {word}: {message}")) }
}

/// The field listing of every word with its descriptor.
pub fn listing(bin: &Shbin) -> Result<String, TextError> {
    let options = retroshade_lower::TextOptions { syntax: retroshade_lower::Syntax::Fields, ..Default::default() };
    let mut out = String::new();
    for w in &bin.code {
        let desc = descriptor_index(*w).and_then(|d| bin.descriptors.get(d as usize)).map_or(String::new(), |d| format!(" {d:08x}"));
        out.push_str(&crate::isa::text::dis_line(&format!("{w:08x}{desc}"), &options)?);
        out.push('\n');
    }
    Ok(out)
}

/// The fields of code words without their descriptors.
pub fn bare(bytes: &[u8]) -> Result<String, TextError> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(4) {
        return Err(TextError::new("neither a .shbin nor whole code words"));
    }
    let options = retroshade_lower::TextOptions { syntax: retroshade_lower::Syntax::Fields, ..Default::default() };
    let mut out = String::new();
    for (n, w) in bytes.chunks_exact(4).enumerate() {
        let w = u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
        let line = format!("{w:08x}{}", if descriptor_index(w).is_some() { " 00000000" } else { "" });
        let text = crate::isa::text::dis_line(&line, &options).map_err(|e| error(n, e.message))?;
        out.push_str(text.split(" ;").next().unwrap_or(""));
        out.push('\n');
    }
    Ok(out)
}

/// Disassembles a container.
pub fn disassemble(bin: &Shbin) -> Result<String, TextError> {
    let code = decode_all(bin)?;
    let procs = procedures(bin, &code);
    let files = files(bin, &code, &procs);
    let mut out = String::new();
    for (n, (e, own)) in bin.executables.iter().zip(files).enumerate() {
        if n > 0 {
            let own = if e.geometry { String::new() } else { format!(" {OWN_UNIFORMS}") };
            out.push_str(&format!("{FILE_MARK} {}{own}\n", n + 1));
        }
        header(&mut out, e, &entry_name(bin, n));
        program(&mut out, &code, &procs, own);
    }
    if bin.executables.is_empty() {
        out.push_str(".nodvle\n");
        program(&mut out, &code, &procs, 0..procs.len());
    }
    Ok(out)
}

/// The name of a program's entry, which several may share.
fn entry_name(bin: &Shbin, n: usize) -> String {
    match bin.executables.iter().position(|e| e.entry == bin.executables[n].entry).unwrap_or(n) {
        0 => "main".to_string(),
        first => format!("main_{}", first + 1),
    }
}

/// Which procedures stand in the file of each program: a file whose code sets up vertices is a geometry program's. Where the programs do
/// not stand in order, all are in the first.
fn files(bin: &Shbin, code: &[Instr], procs: &[Procedure]) -> Vec<Range<usize>> {
    let mut cuts = vec![0];
    for pair in bin.executables.windows(2) {
        let at = |e: &Executable| procs.iter().position(|p| p.0 == e.entry as usize).unwrap_or(0);
        let (before, entry) = (at(&pair[0]), at(&pair[1]));
        let emits = |p: &Procedure| code[p.0..p.1].iter().any(|i| matches!(i.op, Op::Setemit | Op::Emit));
        let geometry = pair[1].geometry && !pair[0].geometry;
        let first = (before + 1..entry).find(|n| geometry && emits(&procs[*n])).unwrap_or(entry);
        let last = cuts[cuts.len() - 1];
        cuts.push(if first > before { first.max(last) } else { procs.len() });
    }
    cuts.push(procs.len());
    cuts.windows(2).map(|c| c[0]..c[1]).collect()
}

/// A number that reads back as the same float.
fn float(bits: u32) -> String {
    let v = from_bits24(bits);
    if v.is_nan() { "nan".to_string() } else { format!("{v:?}") }
}

/// A name as the assembler's identifiers allow it: `$` for a dot, `lamp_0$place` for `lamp[0].place`.
fn symbol(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            '.' => out.push('$'),
            c if c.is_ascii_alphanumeric() || c == '_' || c == '$' => out.push(c),
            ']' => {}
            _ => out.push('_'),
        }
    }
    if out.chars().next().is_none_or(|c| c.is_ascii_digit()) { format!("u{out}") } else { out }
}

/// A name without what would end its line.
fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}

/// What an identifier cannot say stands behind it, for our assembler.
fn real_name(symbol: &str, name: &str, hidden: bool) -> String {
    if symbol.replace('$', ".") == name && !hidden { String::new() } else { format!(" {NAME_MARK}{}", one_line(name)) }
}

/// An input register as picasso takes it: by number it knows v0 to v14 only.
fn input(n: u16) -> String {
    if n == 15 { "v14[1]".to_string() } else { format!("v{n}") }
}

fn header(out: &mut String, e: &Executable, entry: &str) {
    let mut line = |s: String| {
        out.push_str(&s);
        out.push('\n');
    };
    // Uniforms come behind the vertices that float registers hold.
    let floats = e.uniforms.iter().filter(|u| (numbering::FLOAT..numbering::INT).contains(&u.first)).map(|u| u.first - numbering::FLOAT);
    let free = floats.min().unwrap_or(u16::from(e.array) + 1);
    if e.geometry {
        match e.mode {
            1 => line(format!(".gsh variable c{free} {}", e.whole)),
            2 => line(format!(".gsh fixed c{free} c{} {}", e.array, e.vertices)),
            _ => line(".gsh point c0".to_string()),
        }
    }
    line(format!(".entry {entry}"));
    // Uniforms are allocated upward: names without an underscore are exported, gaps get names with one.
    let kinds = [(".fvec", numbering::FLOAT, numbering::INT), (".ivec", numbering::INT, numbering::BOOL), (".bool", numbering::BOOL, 0x88)];
    for (word, first, end) in kinds {
        let mut next = if word == ".fvec" && e.geometry && e.mode != 0 { first + free } else { first };
        for u in e.uniforms.iter().filter(|u| (first..end).contains(&u.first)) {
            if u.first < next {
                // It lies over other uniforms.
                let letter = &word[1..2].replace('f', "c");
                line(format!("{UNIFORM_MARK}{letter}{} {} {}", u.first - first, u.last - u.first + 1, one_line(&u.name)));
                continue;
            }
            if u.first > next {
                line(format!("{word} _gap{next}[{}]", u.first - next));
            }
            let size = u.last - u.first + 1;
            let name = symbol(&u.name);
            let real = real_name(&name, &u.name, name.starts_with('_'));
            line(if size == 1 { format!("{word} {name}{real}") } else { format!("{word} {name}[{size}]{real}") });
            next = u.last + 1;
        }
    }
    for u in e.uniforms.iter().filter(|u| u.last < 16) {
        let name = symbol(&u.name);
        line(format!(".in {name} {}{}", input(u.first), real_name(&name, &u.name, false)));
    }
    for c in &e.constants {
        line(match c {
            Constant::Bool(n, v) => format!(".setb b{n} {v}"),
            Constant::Int(n, v) => format!(".seti i{n}({}, {}, {}, {})", v[0], v[1], v[2], v[3]),
            Constant::Float(n, v) => format!(".setf c{n}({}, {}, {}, {})", float(v[0]), float(v[1]), float(v[2]), float(v[3])),
        });
    }
    for o in &e.outputs {
        let mask = if o.mask == 15 { String::new() } else { format!(".{}", letters(o.mask)) };
        line(format!(".out - {} o{}{mask}", OUTPUT_TYPES[o.kind as usize], o.reg));
    }
}

/// First word, word behind the last, name.
type Procedure = (usize, usize, String);

/// Procedures as ranges: called ones, entries, and what lies between.
fn procedures(bin: &Shbin, code: &[Instr]) -> Vec<Procedure> {
    let mut starts: BTreeMap<usize, usize> = BTreeMap::new();
    for i in code.iter().filter(|i| matches!(i.op, Op::Call | Op::Callc | Op::Callu)) {
        starts.insert(i.target as usize, i.target as usize + i.num as usize);
    }
    let mut names: BTreeMap<usize, String> = BTreeMap::new();
    for (n, e) in bin.executables.iter().enumerate() {
        let at = e.entry as usize;
        starts.entry(at).or_insert_with(|| (e.end as usize).max(at + 1));
        names.insert(at, entry_name(bin, n));
    }
    let mut out = Vec::new();
    let mut at = 0;
    let bounds: Vec<(usize, usize)> = starts.into_iter().filter(|(s, _)| *s < code.len()).collect();
    for (k, (s, e)) in bounds.iter().enumerate() {
        if at < *s {
            out.push((at, *s, format!("words_{at}")));
        }
        let limit = bounds.get(k + 1).map_or(code.len(), |n| n.0);
        let e = (*e).min(limit);
        out.push((*s, e, names.get(s).cloned().unwrap_or_else(|| format!("p_{s}"))));
        at = e;
    }
    if at < code.len() {
        out.push((at, code.len(), format!("words_{at}")));
    }
    out
}

/// Some of the procedures.
fn program(out: &mut String, code: &[Instr], procs: &[Procedure], which: Range<usize>) {
    let jumps: BTreeSet<usize> = code.iter().filter(|i| matches!(i.op, Op::Jmpc | Op::Jmpu)).map(|i| i.target as usize).collect();
    for (start, end, name) in &procs[which] {
        out.push_str(&format!(".proc {name}\n"));
        // (position, what to print there); inner blocks end first.
        let mut open: Vec<(usize, &str)> = Vec::new();
        for (at, i) in code.iter().enumerate().take(*end).skip(*start) {
            while let Some((p, word)) = open.last().copied() {
                if p != at {
                    break;
                }
                open.pop();
                out.push_str(&format!(
                    "{}{word}\n",
                    "    ".repeat(open.len() + usize::from(word == ".end") + usize::from(word == ".else"))
                ));
                if word == ".else" {
                    continue;
                }
            }
            if jumps.contains(&at) {
                out.push_str(&format!("l_{at}:\n"));
            }
            let text = instruction(i, &|t| format!("l_{t}"), &|s, _| {
                procs.iter().find(|p| p.0 == s as usize).map_or_else(|| format!("p_{s}"), |p| p.2.clone())
            });
            let text = text.replace("v15", &input(15));
            out.push_str(&format!("{}{text}\n", "    ".repeat(open.iter().filter(|o| o.1 == ".end").count() + 1)));
            let (t, n) = (i.target as usize, i.num as usize);
            match i.op {
                Op::Ifc | Op::Ifu if n == 0 => open.push((t, ".end")),
                Op::Ifc | Op::Ifu => {
                    open.push((t + n, ".end"));
                    open.push((t, ".else"));
                }
                Op::For => open.push((t + 1, ".end")),
                _ => {}
            }
        }
        for (_, word) in open.into_iter().rev() {
            out.push_str(&format!("    {word}\n"));
        }
        if jumps.contains(end) && *end == code.len() {
            out.push_str(&format!("l_{end}:\n"));
        }
        out.push_str(".end\n");
    }
}
