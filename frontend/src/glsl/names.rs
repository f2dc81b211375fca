//! What a text in HLSL declares, read off its tokens. Scopes are not told apart: what is said of a name holds for all that have it, so that checks
//! which rest on it refuse nothing that is right.

use super::hlsl::is_statement;
use super::lex::{Kind, Token, close};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A variable, a parameter or a member.
#[derive(Clone, Debug)]
pub(super) struct Variable<'t> {
    pub(super) ty: &'t str,
    /// What stands in the angle brackets of its type.
    pub(super) of: Range<usize>,
    /// The brackets of its lengths, one after the other.
    pub(super) lengths: Vec<Range<usize>>,
    pub(super) constant: bool,
    /// What it is set to.
    pub(super) value: Range<usize>,
    /// The structure that it is a member of; empty where that has no name.
    pub(super) within: Option<&'t str>,
    pub(super) at: usize,
}

/// What a text declares.
pub(super) struct Names<'a, 't> {
    pub(super) toks: &'a [Token<'t>],
    variables: BTreeMap<&'t str, Vec<Variable<'t>>>,
    /// Where the parameters of the functions of a name begin.
    pub(super) functions: BTreeMap<&'t str, Vec<usize>>,
    pub(super) structures: BTreeSet<&'t str>,
    aliases: BTreeSet<&'t str>,
    /// Names that may be declared in a way that is not read here.
    maybe: BTreeSet<&'t str>,
}

impl<'a, 't> Names<'a, 't> {
    pub(super) fn new(toks: &'a [Token<'t>]) -> Names<'a, 't> {
        let mut names = Names {
            toks,
            variables: BTreeMap::new(),
            functions: BTreeMap::new(),
            structures: BTreeSet::new(),
            aliases: BTreeSet::new(),
            maybe: BTreeSet::new(),
        };
        // Of each brace the structure that it opens, and of what parentheses stand within it how many are open.
        let mut scopes: Vec<(Option<&'t str>, usize)> = Vec::new();
        for (n, t) in toks.iter().enumerate() {
            match t.text {
                "{" => scopes.push((structure(toks, n), 0)),
                "}" => drop(scopes.pop()),
                "(" => scopes.last_mut().into_iter().for_each(|s| s.1 += 1),
                ")" => scopes.last_mut().into_iter().for_each(|s| s.1 = s.1.saturating_sub(1)),
                "struct" | "class" | "interface" => names.structures.extend(toks.get(n + 1).filter(|t| t.is_word()).map(|t| t.text)),
                "typedef" => {
                    let end = toks[n..].iter().position(|t| t.is(";")).map_or(toks.len(), |e| n + e);
                    names.aliases.extend(toks[n..end].iter().filter(|t| t.is_word()).map(|t| t.text));
                }
                _ if t.is_word() => {
                    // In parentheses commas stand between arguments, or a type comes behind them.
                    let listed = |n: usize| toks[n].is(",") && scopes.last().is_none_or(|s| s.1 == 0);
                    if n > 0 && (introduces(&toks[n - 1]) || listed(n - 1)) {
                        names.maybe.insert(t.text);
                    }
                    names.declaration(n, scopes.last().and_then(|(s, open)| s.filter(|_| *open == 0)));
                }
                _ => {}
            }
        }
        names
    }

    /// Reads the declaration whose type stands at `n`, if one does.
    fn declaration(&mut self, n: usize, within: Option<&'t str>) {
        let toks = self.toks;
        let is = |n: usize, what: &str| toks.get(n).is_some_and(|t| t.is(what));
        let ty = toks[n].text;
        if is_statement(ty) && ty != "void" || matches!(ty, "class" | "interface" | "enum" | "typedef") || n > 0 && toks[n - 1].is(".") {
            return;
        }
        let of = arguments(toks, n + 1);
        let mut name = if of.is_empty() { n + 1 } else { of.end + 1 };
        if !toks.get(name).is_some_and(Token::is_word) {
            return;
        }
        if is(name + 1, "(") {
            self.functions.entry(toks[name].text).or_default().push(name + 1);
            return;
        }
        let before = toks[..n].iter().rev().take_while(|t| t.is_word());
        let constant = before.clone().any(|t| t.is("const"));
        while toks.get(name).is_some_and(Token::is_word) {
            let mut end = name + 1;
            let mut lengths = Vec::new();
            while is(end, "[") {
                lengths.push(end..close(toks, end));
                end = close(toks, end);
            }
            if !toks.get(end).is_some_and(|t| matches!(t.text, ";" | "=" | "," | ")" | ":")) {
                return;
            }
            let mut set = 0;
            while end < toks.len() && !matches!(toks[end].text, ";" | "," | ")" | "}" | "]") {
                if toks[end].is("=") && set == 0 {
                    set = end + 1;
                }
                end = if matches!(toks[end].text, "(" | "[" | "{") { close(toks, end) } else { end + 1 };
            }
            let value = if set == 0 { end..end } else { set.min(end)..end };
            let v = Variable { ty, of: of.clone(), lengths, constant, value, within, at: name };
            self.variables.entry(toks[name].text).or_default().push(v);
            // `int a, b` goes on, while in `f(int a, int b)` a type comes next.
            let another = is(end, ",") && toks.get(end + 2).is_some_and(|t| matches!(t.text, ";" | "=" | "," | "[" | ":"));
            name = if another { end + 1 } else { toks.len() };
        }
    }

    /// What all variables of this name that are no members have in common: type and number of lengths.
    pub(super) fn variable(&self, name: &str) -> Option<&Variable<'t>> {
        self.common(name, |v| v.within.is_none())
    }

    /// The member of a structure.
    pub(super) fn member(&self, structure: &str, name: &str) -> Option<&Variable<'t>> {
        self.common(name, |v| v.within == Some(structure))
    }

    /// What all members of this name have in common.
    pub(super) fn any_member(&self, name: &str) -> Option<&Variable<'t>> {
        self.common(name, |v| v.within.is_some())
    }

    /// The members of a structure.
    pub(super) fn members(&self, structure: &str) -> impl Iterator<Item = &Variable<'t>> {
        self.variables().filter(move |v| v.within == Some(structure))
    }

    /// All variables, parameters and members.
    pub(super) fn variables(&self) -> impl Iterator<Item = &Variable<'t>> {
        self.variables.values().flatten()
    }

    /// All variables of this name.
    pub(super) fn all(&self, name: &str) -> &[Variable<'t>] {
        self.variables.get(name).map_or(&[], Vec::as_slice)
    }

    fn common(&self, name: &str, which: impl Fn(&Variable<'t>) -> bool) -> Option<&Variable<'t>> {
        let mut all = self.all(name).iter().filter(|v| which(v));
        let first = all.next()?;
        let spelt = |v: &Variable<'t>| self.toks[v.of.clone()].iter().map(|t| t.text).collect::<Vec<_>>();
        let same = all.all(|v| (v.ty, v.lengths.len(), spelt(v)) == (first.ty, first.lengths.len(), spelt(first)));
        (same && !self.aliases.contains(first.ty)).then_some(first)
    }

    /// Whether nothing in the text can declare this name.
    pub(super) fn is_unknown(&self, name: &str) -> bool {
        !self.maybe.contains(name) && !self.variables.contains_key(name) && !self.functions.contains_key(name)
    }

    /// Whether this is the name of functions, and of nothing else.
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.contains_key(name)
            && !self.variables.contains_key(name)
            && !self.structures.contains(name)
            && !self.aliases.contains(name)
    }

    /// Whether this is the name of a structure, and of nothing else.
    pub(super) fn is_structure(&self, name: &str) -> bool {
        self.structures.contains(name) && !self.aliases.contains(name)
    }

    /// Type and number of lengths of `name[0].member`, where that is plain.
    pub(super) fn type_of(&self, path: &[Token<'t>]) -> Option<(&'t str, usize)> {
        let v = self.variable(path.first().filter(|t| t.is_word())?.text)?;
        let (mut ty, mut lengths, mut n) = (v.ty, v.lengths.len(), 1);
        while n < path.len() {
            match path[n].text {
                "[" if lengths > 0 => {
                    lengths -= 1;
                    n = close(path, n);
                }
                "." if lengths == 0 => {
                    let m = self.member(ty, path.get(n + 1)?.text)?;
                    (ty, lengths) = (m.ty, m.lengths.len());
                    n += 2;
                }
                _ => return None,
            }
        }
        Some((ty, lengths))
    }

    /// The value of a constant expression of integers, where its parts are plain.
    pub(super) fn integer(&self, toks: &[Token<'t>]) -> Option<i64> {
        let mut at = 0;
        let value = self.sum(toks, &mut at, 0, 0)?;
        (at == toks.len()).then_some(value)
    }

    fn sum(&self, toks: &[Token<'t>], at: &mut usize, level: usize, depth: usize) -> Option<i64> {
        const LEVELS: [&[&str]; 3] = [&["<<", ">>"], &["+", "-"], &["*", "/", "%"]];
        let Some(operators) = LEVELS.get(level) else { return self.operand(toks, at, depth) };
        let mut left = self.sum(toks, at, level + 1, depth)?;
        while let Some(t) = toks.get(*at).filter(|t| operators.contains(&t.text)) {
            *at += 1;
            let right = self.sum(toks, at, level + 1, depth)?;
            left = match t.text {
                "+" => left.checked_add(right)?,
                "-" => left.checked_sub(right)?,
                "*" => left.checked_mul(right)?,
                // What has no value is no length either.
                "/" => left.checked_div(right).unwrap_or(0),
                "%" => left.checked_rem(right).unwrap_or(0),
                _ if !(0..32).contains(&right) => 0,
                "<<" => left.checked_mul(1 << right)?,
                _ => left >> right,
            };
        }
        Some(left)
    }

    fn operand(&self, toks: &[Token<'t>], at: &mut usize, depth: usize) -> Option<i64> {
        // Brackets within brackets, and constants by constants.
        const MOST: usize = 32;
        let t = toks.get(*at).filter(|_| depth < MOST)?;
        *at += 1;
        match t.text {
            "-" => self.operand(toks, at, depth + 1)?.checked_neg(),
            "+" => self.operand(toks, at, depth + 1),
            "(" => {
                let value = self.sum(toks, at, 0, depth + 1)?;
                *at += 1;
                toks.get(*at - 1).filter(|t| t.is(")")).map(|_| value)
            }
            text if t.kind == Kind::Number => {
                let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
                match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
                    Some(hex) => i64::from_str_radix(hex, 16).ok(),
                    None => digits.parse().ok().filter(|_| digits == "0" || !digits.starts_with('0')),
                }
            }
            text => {
                let v = self.variable(text).filter(|v| v.constant && v.lengths.is_empty() && matches!(v.ty, "int" | "uint"))?;
                let [only] = self.all(text) else { return None };
                let value = self.toks.get(only.value.clone()).filter(|v| !v.is_empty())?;
                let mut from = 0;
                let result = self.sum(value, &mut from, 0, depth + 1)?;
                (from == value.len() && v.at == only.at).then_some(result)
            }
        }
    }
}

/// Whether what stands behind this token may be a name that is declared.
fn introduces(before: &Token<'_>) -> bool {
    before.is_word() && !matches!(before.text, "return" | "else" | "do" | "case")
        || matches!(before.text, ">" | ">>" | "]" | "}" | "*" | "&")
}

/// The structure whose brace stands at `open`.
pub(super) fn structure<'t>(toks: &[Token<'t>], open: usize) -> Option<&'t str> {
    let from = toks[..open].iter().rposition(|t| matches!(t.text, ";" | "{" | "}" | ")")).map_or(0, |n| n + 1);
    let word = (from..open).find(|n| matches!(toks[*n].text, "struct" | "class" | "interface"))?;
    Some(toks[word + 1..open].first().map_or("", |t| t.text))
}

/// What stands between the angle brackets at `open`.
fn arguments(toks: &[Token<'_>], open: usize) -> Range<usize> {
    let mut depth = 0usize;
    for (n, t) in toks.iter().enumerate().skip(open) {
        match t.text {
            "<" => depth += 1,
            ">" => depth = depth.saturating_sub(1),
            ">>" => depth = depth.saturating_sub(2),
            "," => {}
            _ if matches!(t.kind, Kind::Word | Kind::Number) => {}
            _ => return open..open,
        }
        if depth == 0 {
            return if n > open { open + 1..n } else { open..open };
        }
    }
    open..open
}
