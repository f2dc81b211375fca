//! What a text must not exceed before it is handed to naga, whose parsers recurse and expand without bound.
//!
//! The scan is a rough lexer that both languages share: it knows comments, brackets, prefix operators, statements that nest
//! without braces, template lists and preprocessor definitions. Its limits are far above what any shader of these machines needs.

use retroshade_ir::{Diagnostic, FileId, Span};
use std::collections::HashMap;

/// Bytes of source text or binary.
pub(crate) const MAX_BYTES: usize = 2 << 20;
/// Tokens after macro expansion.
const MAX_TOKENS: u64 = 250_000;
/// Nested brackets, or anything else that makes a parser recurse; WGSL asks for 127 braces.
const MAX_DEPTH: usize = 136;
/// Links of a chain such as `else if` or `a ? b : c ? …`: naga takes time that grows with the square of it.
const MAX_CHAIN: usize = 400;
/// Operators of one expression: naga recurses into the first operand.
const MAX_OPERATORS: usize = 1000;
/// Cases of all switches together: naga compares each with all before. WGSL asks for 1,023 in one.
const MAX_CASES: usize = 1100;

/// Parts of a structure: naga walks through all of them, and n structures can hold 2^n.
const MAX_PARTS: u64 = 1 << 18;
/// Structures within structures.
const MAX_TYPE_DEPTH: usize = 500;

/// A token: its text, and where it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
}

/// Refuses texts that would overwhelm a parser.
pub(crate) fn check_text(text: &str, file: FileId, macros: bool) -> Result<(), Diagnostic> {
    let span = |at: usize| Span::new(file, at as u32, at as u32 + 1);
    if text.len() > MAX_BYTES {
        return Err(Diagnostic::error("L0001", span(0), format!("the source has {} bytes; the limit is {MAX_BYTES}", text.len())));
    }
    let (tokens, defines) = tokens(text);
    check_types(&tokens).map_err(|at| {
        Diagnostic::error("L0004", span(at), format!("the structure has more than {MAX_PARTS} parts, those of its members included"))
    })?;
    let mut expander = Expander { defines: &defines, known: HashMap::new(), copies: HashMap::new() };
    let mut weights = vec![1u64];
    let mut total = 0u64;
    let mut scan = Scan::default();
    for (n, t) in tokens.iter().enumerate() {
        if let Some((what, limit)) = scan.step(t.text, tokens.get(n + 1).map_or("", |t| t.text)) {
            return Err(Diagnostic::error("L0002", span(t.at), format!("{what} nested or chained more than {limit} deep")));
        }
        if !macros {
            total += 1;
        } else {
            let here = weights.last().copied().unwrap_or(1);
            total = total.saturating_add(expander.weight(t.text, 0).saturating_mul(here));
            match t.text {
                "(" => {
                    let callee = if n > 0 { tokens[n - 1].text } else { "" };
                    weights.push(here.saturating_mul(expander.repeats(callee)));
                }
                ")" if weights.len() > 1 => {
                    weights.pop();
                }
                _ => {}
            }
        }
        if total > MAX_TOKENS {
            return Err(Diagnostic::error("L0003", span(t.at), format!("the source has more than {MAX_TOKENS} tokens")));
        }
    }
    Ok(())
}

/// Refuses structures that hold too many parts; the error is the place of one. Every word of a structure's body counts as a part, or as
/// the parts of the structure that it names.
fn check_types(tokens: &[Token<'_>]) -> Result<(), usize> {
    let mut bodies: HashMap<&str, (usize, usize, usize)> = HashMap::new();
    for (n, t) in tokens.iter().enumerate() {
        let end = match t.text {
            "struct" => "}",
            "alias" => ";",
            _ => continue,
        };
        if let Some(name) = tokens.get(n + 1) {
            let length = tokens[n..].iter().position(|t| t.text == end).unwrap_or(tokens.len() - n);
            bodies.insert(name.text, (n + 2, n + length, t.at));
        }
    }
    let mut known: HashMap<&str, u64> = HashMap::new();
    for t in tokens.iter().filter(|t| bodies.contains_key(t.text)) {
        if parts(t.text, tokens, &bodies, &mut known, 0) > MAX_PARTS {
            return Err(bodies[t.text].2);
        }
    }
    Ok(())
}

fn parts<'a>(
    name: &'a str,
    tokens: &[Token<'a>],
    bodies: &HashMap<&'a str, (usize, usize, usize)>,
    known: &mut HashMap<&'a str, u64>,
    depth: usize,
) -> u64 {
    if let Some(n) = known.get(name) {
        return *n;
    }
    let Some((from, to, _)) = bodies.get(name).copied() else { return 1 };
    if depth > MAX_TYPE_DEPTH {
        return u64::MAX;
    }
    // A cycle is an error that naga reports.
    known.insert(name, 1);
    let body = tokens.get(from..to.max(from)).unwrap_or_default();
    let n = body.iter().fold(0u64, |n, t| n.saturating_add(parts(t.text, tokens, bodies, known, depth + 1)));
    known.insert(name, n.max(1));
    n.max(1)
}

/// Counters of everything that nests.
#[derive(Default)]
struct Scan {
    /// Open brackets, and how many operators the expression around each has so far.
    brackets: Vec<(char, usize)>,
    operators: usize,
    cases: usize,
    templates: usize,
    prefix: usize,
    open_statements: usize,
    chain: usize,
    questions: usize,
    previous_operator: bool,
}

impl Scan {
    fn step(&mut self, t: &str, next: &str) -> Option<(&'static str, usize)> {
        let first = t.chars().next().unwrap_or(' ');
        match first {
            '(' | '[' | '{' => {
                self.brackets.push((first, self.operators));
                self.operators = 0;
                if first == '{' {
                    self.templates = 0;
                }
                self.questions = 0;
            }
            ')' | ']' | '}' => {
                self.operators = self.brackets.pop().map_or(0, |(_, n)| n);
            }
            '+' | '-' | '*' | '/' | '%' | '&' | '|' | '^' | '<' | '>' | '.' => self.operators += 1,
            ',' | ';' | '=' => self.operators = 0,
            _ => {}
        }
        if first == '{' || first == '}' {
            self.operators = 0;
        }
        let parens = self.brackets.iter().rev().take_while(|(c, _)| *c != '{').count();
        let operator = matches!(first, '-' | '!' | '~' | '*' | '&' | '+');
        self.prefix = if operator && self.previous_operator { self.prefix + 1 } else { 0 };
        self.previous_operator = operator;
        if parens == 0 {
            match t {
                "if" | "for" | "while" | "do" | "switch" => self.open_statements += 1,
                ";" | "{" | "}" => {
                    self.open_statements = 0;
                    self.questions = 0;
                }
                _ => {}
            }
        }
        match t {
            "?" => self.questions += 1,
            "else" if next == "if" => self.chain += 1,
            "case" => self.cases += 1,
            ";" => self.templates = 0,
            "array" | "ptr" | "atomic" | "binding_array" if next == "<" => self.templates += 1,
            ">" => self.templates = self.templates.saturating_sub(1),
            _ => {}
        }
        if self.brackets.len() > MAX_DEPTH {
            return Some(("brackets", MAX_DEPTH));
        }
        if self.templates > MAX_DEPTH / 4 {
            return Some(("types", MAX_DEPTH / 4));
        }
        if self.prefix > MAX_DEPTH {
            return Some(("operators", MAX_DEPTH));
        }
        if self.open_statements > MAX_DEPTH {
            return Some(("statements", MAX_DEPTH));
        }
        if self.chain > MAX_CHAIN || self.questions > MAX_CHAIN {
            return Some(("conditions", MAX_CHAIN));
        }
        if self.operators > MAX_OPERATORS {
            return Some(("operators", MAX_OPERATORS));
        }
        if self.cases > MAX_CASES {
            return Some(("cases", MAX_CASES));
        }
        None
    }
}

/// A preprocessor definition.
#[derive(Debug, Default)]
pub(crate) struct Define<'a> {
    parameters: Vec<&'a str>,
    body: Vec<&'a str>,
}

/// Estimates how many tokens macros expand to.
struct Expander<'a, 'd> {
    defines: &'d HashMap<&'a str, Define<'a>>,
    known: HashMap<&'a str, u64>,
    copies: HashMap<&'a str, u64>,
}

impl<'a> Expander<'a, '_> {
    fn weight(&mut self, name: &'a str, depth: usize) -> u64 {
        let Some(d) = self.defines.get(name) else { return 1 };
        if let Some(w) = self.known.get(name) {
            return *w;
        }
        if depth > MAX_DEPTH {
            return u64::MAX;
        }
        // A macro does not expand inside itself.
        self.known.insert(name, 1);
        let mut weights = vec![1u64];
        let mut total = 1u64;
        for (n, t) in d.body.iter().enumerate() {
            let here = weights.last().copied().unwrap_or(1);
            total = total.saturating_add(self.weight(t, depth + 1).saturating_mul(here));
            match *t {
                "(" => weights.push(here.saturating_mul(if n > 0 { self.repeats(d.body[n - 1]) } else { 1 })),
                ")" if weights.len() > 1 => {
                    weights.pop();
                }
                _ => {}
            }
        }
        self.known.insert(name, total);
        total
    }

    /// How often a function-like macro writes its most used parameter, calls of other macros around it included.
    fn repeats(&mut self, name: &'a str) -> u64 {
        let Some(d) = self.defines.get(name) else { return 1 };
        if let Some(n) = self.copies.get(name) {
            return *n;
        }
        // A macro does not expand inside itself; but its arguments do.
        self.copies.insert(name, d.parameters.iter().map(|p| d.body.iter().filter(|t| *t == p).count() as u64).max().unwrap_or(1).max(1));
        let mut weights = vec![1u64];
        let mut counts = vec![0u64; d.parameters.len()];
        for (n, t) in d.body.iter().enumerate() {
            let here = weights.last().copied().unwrap_or(1);
            for (c, p) in counts.iter_mut().zip(&d.parameters) {
                if p == t {
                    *c = c.saturating_add(here);
                }
            }
            match *t {
                "(" => {
                    let callee = if n > 0 { self.repeats(d.body[n - 1]) } else { 1 };
                    weights.push(here.saturating_mul(callee));
                }
                ")" if weights.len() > 1 => {
                    weights.pop();
                }
                _ => {}
            }
        }
        let most = counts.into_iter().max().unwrap_or(1).max(1);
        self.copies.insert(name, most);
        most
    }
}

/// Splits a text into tokens and definitions; comments and blanks are dropped.
pub(crate) fn tokens(text: &str) -> (Vec<Token<'_>>, HashMap<&str, Define<'_>>) {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut defines = HashMap::new();
    let mut i = 0;
    let mut fresh_line = true;
    while i < bytes.len() {
        let c = bytes[i];
        if c == b'\n' {
            fresh_line = true;
            i += 1;
        } else if c.is_ascii_whitespace() {
            i += 1;
        } else if bytes[i..].starts_with(b"//") {
            while i < bytes.len() && bytes[i] != b'\n' {
                i += 1;
            }
        } else if bytes[i..].starts_with(b"/*") {
            i = find(bytes, i + 2, b"*/").map_or(bytes.len(), |e| e + 2);
        } else if c == b'#' && fresh_line {
            let mut end = i;
            while end < bytes.len() && (bytes[end] != b'\n' || bytes[end - 1] == b'\\') {
                end += 1;
            }
            let line = &text[i..end];
            if let Some((name, d)) = define(line) {
                defines.insert(name, d);
            }
            i = end;
        } else {
            fresh_line = false;
            let end = token_end(bytes, i);
            // A token never splits a character: other characters than ASCII are taken whole.
            let mut end = end;
            while !text.is_char_boundary(end) {
                end += 1;
            }
            out.push(Token { text: &text[i..end], at: i });
            i = end;
        }
    }
    (out, defines)
}

fn find(b: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    (from..b.len().saturating_sub(what.len() - 1)).find(|i| b[*i..].starts_with(what))
}

fn token_end(b: &[u8], i: usize) -> usize {
    let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80;
    if !word(b[i]) {
        return i + 1;
    }
    let mut e = i;
    while e < b.len() && (word(b[e]) || b[e] == b'.' && b[i].is_ascii_digit()) {
        e += 1;
    }
    e
}

fn define(line: &str) -> Option<(&str, Define<'_>)> {
    let rest = line.strip_prefix('#')?.trim_start().strip_prefix("define")?;
    let rest = rest.trim_start();
    let name_end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(name_end);
    let mut d = Define::default();
    let mut body = rest;
    if let Some(inner) = rest.strip_prefix('(') {
        let close = inner.find(')')?;
        d.parameters = inner[..close].split(',').map(str::trim).collect();
        body = &inner[close + 1..];
    }
    let b = body.as_bytes();
    let mut i = 0;
    while i < b.len() {
        if b[i].is_ascii_whitespace() || b[i] == b'\\' {
            i += 1;
            continue;
        }
        let mut e = token_end(b, i);
        while !body.is_char_boundary(e) {
            e += 1;
        }
        d.body.push(&body[i..e]);
        i = e;
    }
    (!name.is_empty()).then_some((name, d))
}
