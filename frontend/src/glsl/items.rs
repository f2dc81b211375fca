//! The declarations of a GLSL text, as far as the rewriting needs to know them.

use super::names::is_qualifier;
use super::tokens::Tok;
use std::ops::Range;

/// A part of the token list.
pub(crate) type Part = Range<usize>;

/// Everything before the type of a declaration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quals {
    /// Words such as `in`, `flat`, `const`.
    pub(crate) words: Vec<Tok>,
    /// `layout(key = value, key)`.
    pub(crate) layout: Vec<(Tok, Vec<Tok>)>,
}

impl Quals {
    /// Whether a word is among them.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|t| t.is(word))
    }

    /// The number that a layout key is given.
    pub(crate) fn number(&self, key: &str) -> Option<u32> {
        let (_, value) = self.layout.iter().find(|(k, _)| k.is(key))?;
        match &value[..] {
            [one] => one.text.trim_end_matches('u').parse().ok(),
            _ => None,
        }
    }

    /// The token of a layout key.
    pub(crate) fn key(&self, key: &str) -> Option<&Tok> {
        self.layout.iter().map(|(k, _)| k).find(|k| k.is(key))
    }
}

/// One variable of a declaration.
#[derive(Clone, Debug)]
pub(crate) struct Declarator {
    /// Its name.
    pub(crate) name: Tok,
    /// `[n][m]`, with the brackets.
    pub(crate) array: Part,
    /// What stands after `=`.
    pub(crate) init: Part,
}

/// A declaration at the outermost level.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// A function: everything before its parameters, the parameters, its body with braces (none: a prototype).
    Function { name: usize, head: Part, params: Part, body: Option<Part> },
    /// An interface block.
    Block { quals: Quals, name: Tok, members: Part, instance: Option<Tok>, array: Part },
    /// A structure without variables.
    Struct(Part),
    /// Variables.
    Vars { quals: Quals, ty: Part, names: Vec<Declarator> },
    /// `layout(…) in;`
    Default(Quals, Tok),
    /// Anything else, which naga may judge.
    Other(Part),
}

/// The index behind the bracket that closes the one at `open`.
pub(crate) fn close(toks: &[Tok], open: usize) -> usize {
    let mut depth = 0usize;
    for (n, t) in toks.iter().enumerate().skip(open) {
        match &*t.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return n + 1;
                }
            }
            _ => {}
        }
    }
    toks.len()
}

/// The index of the next token `what` outside brackets.
fn find(toks: &[Tok], from: usize, what: &[&str]) -> usize {
    let mut n = from;
    while n < toks.len() {
        if what.contains(&&*toks[n].text) {
            return n;
        }
        n = if matches!(&*toks[n].text, "(" | "[" | "{") { close(toks, n) } else { n + 1 };
    }
    n
}

/// The end of array brackets that begin at `from`.
fn brackets(toks: &[Tok], mut from: usize) -> usize {
    while toks.get(from).is_some_and(|t| t.is("[")) {
        from = close(toks, from);
    }
    from
}

/// Splits a part at commas outside brackets.
pub(crate) fn list(toks: &[Tok], part: Part) -> Vec<Part> {
    let mut out = Vec::new();
    let mut from = part.start;
    while from < part.end {
        let to = find(&toks[..part.end], from, &[","]);
        out.push(from..to);
        from = to + 1;
    }
    out
}

/// Reads the qualifiers at `n`; gives the index behind them.
pub(crate) fn quals(toks: &[Tok], mut n: usize) -> (Quals, usize) {
    let mut q = Quals::default();
    while let Some(t) = toks.get(n).filter(|t| is_qualifier(&t.text)) {
        if !t.is("layout") {
            q.words.push(t.clone());
            n += 1;
            continue;
        }
        let end = if toks.get(n + 1).is_some_and(|t| t.is("(")) { close(toks, n + 1) } else { n + 1 };
        for part in list(toks, (n + 2).min(end)..end.saturating_sub(1).max((n + 2).min(end))) {
            if let Some((key, rest)) = toks[part].split_first() {
                q.layout.push((key.clone(), rest.get(1..).unwrap_or_default().to_vec()));
            }
        }
        n = end;
    }
    (q, n)
}

/// Reads `name[…] = …, name …` from `n` to the semicolon; gives the index behind that.
pub(crate) fn declarators(toks: &[Tok], mut n: usize) -> (Vec<Declarator>, usize) {
    let mut names = Vec::new();
    while let Some(name) = toks.get(n).filter(|t| t.is_word()) {
        let array = n + 1..brackets(toks, n + 1);
        let end = find(toks, array.end, &[",", ";"]);
        let init = if toks.get(array.end).is_some_and(|t| t.is("=")) { array.end + 1..end } else { end..end };
        names.push(Declarator { name: name.clone(), array, init });
        n = end;
        if !toks.get(n).is_some_and(|t| t.is(",")) {
            break;
        }
        n += 1;
    }
    let end = find(toks, n, &[";"]);
    (names, (end + 1).min(toks.len()))
}

/// All declarations in order.
pub(crate) fn items(toks: &[Tok]) -> Vec<Item> {
    let mut out = Vec::new();
    let mut n = 0;
    while n < toks.len() {
        if toks[n].is(";") {
            n += 1;
            continue;
        }
        if toks[n].is("precision") {
            n = find(toks, n, &[";"]) + 1;
            continue;
        }
        let start = n;
        let (q, at) = quals(toks, n);
        let Some(t) = toks.get(at) else {
            out.push(Item::Other(start..toks.len()));
            break;
        };
        let next = |k: usize| toks.get(at + k).map_or("", |t| &*t.text);
        if t.is(";") {
            out.push(Item::Default(q, toks[start].clone()));
            n = at + 1;
        } else if t.is("struct") {
            let open = find(toks, at, &["{", ";"]);
            let behind = if toks.get(open).is_some_and(|t| t.is("{")) { close(toks, open) } else { open };
            let end = (find(toks, behind, &[";"]) + 1).min(toks.len());
            if toks.get(behind).is_some_and(|t| t.is(";")) && q.words.is_empty() {
                out.push(Item::Struct(start..end));
                n = end;
            } else if toks.get(at + 1).is_some_and(Tok::is_word) && toks.get(behind).is_some_and(Tok::is_word) {
                // The structure by itself, then the variables.
                out.push(Item::Struct(at..behind));
                let (names, end) = declarators(toks, behind);
                out.push(Item::Vars { quals: q, ty: at + 1..at + 2, names });
                n = end;
            } else {
                out.push(Item::Other(start..end));
                n = end;
            }
        } else if t.is_word() && next(1) == "{" {
            let behind = close(toks, at + 1);
            let instance = toks.get(behind).filter(|t| t.is_word()).cloned();
            let from = behind + usize::from(instance.is_some());
            let array = from..brackets(toks, from);
            out.push(Item::Block {
                quals: q,
                name: t.clone(),
                members: at + 2..behind.saturating_sub(1).max(at + 2),
                instance,
                array: array.clone(),
            });
            n = (find(toks, array.end, &[";"]) + 1).min(toks.len());
        } else if t.is_word() {
            let name = brackets(toks, at + 1);
            if toks.get(name).is_some_and(Tok::is_word) && toks.get(name + 1).is_some_and(|t| t.is("(")) {
                let behind = close(toks, name + 1);
                let body = if toks.get(behind).is_some_and(|t| t.is("{")) { Some(behind..close(toks, behind)) } else { None };
                n = body.as_ref().map_or((behind + 1).min(toks.len()), |b| b.end);
                out.push(Item::Function { name, head: start..name + 1, params: name + 2..behind.saturating_sub(1).max(name + 2), body });
            } else if toks.get(name).is_some_and(Tok::is_word) {
                let (names, end) = declarators(toks, name);
                out.push(Item::Vars { quals: q, ty: at..name, names });
                n = end;
            } else {
                let end = (find(toks, at, &[";"]) + 1).min(toks.len());
                out.push(Item::Other(start..end));
                n = end;
            }
        } else {
            let end = (find(toks, at, &[";", "{"]) + 1).min(toks.len());
            out.push(Item::Other(start..end));
            n = end;
        }
    }
    out
}
