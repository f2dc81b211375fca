//! Which variable a name means where in a text in HLSL, and of which type it is.

use super::hlsl::body;
use super::lex::Token;
use super::names::{Names, Variable, structure};
use super::shapes::{Structure, Type};
use std::collections::BTreeMap;
use std::ops::Range;

/// A variable, a parameter or a member. `ty` is empty where it is not made of numbers, or not plain.
struct Declared {
    ty: Option<Type>,
    /// The tokens among which the name means this.
    scope: Range<usize>,
    at: usize,
    member: bool,
}

/// What the names of a text mean.
pub(super) struct Scopes<'a, 't> {
    pub(super) toks: &'a [Token<'t>],
    pub(super) names: Names<'a, 't>,
    pub(super) structures: Vec<Structure>,
    /// Of each bracket that opens the place behind the one that closes it.
    ends: Vec<usize>,
    /// The bracket in which each token stands.
    around: Vec<Option<usize>>,
    /// Structures by their names; empty where a name has several.
    named: BTreeMap<&'t str, Option<usize>>,
    aliases: BTreeMap<&'t str, Option<Type>>,
    declared: BTreeMap<&'t str, Vec<Declared>>,
    /// All variables, parameters and members in the order of their names' places, and their types without the lengths.
    pub(super) variables: Vec<(Variable<'t>, Option<Type>)>,
}

impl<'a, 't> Scopes<'a, 't> {
    /// Reads a text without directives.
    pub(super) fn new(toks: &'a [Token<'t>]) -> Self {
        let (ends, around) = brackets(toks);
        let mut scopes = Scopes {
            toks,
            names: Names::new(toks),
            structures: Vec::new(),
            ends,
            around,
            named: BTreeMap::new(),
            aliases: BTreeMap::new(),
            declared: BTreeMap::new(),
            variables: Vec::new(),
        };
        scopes.read();
        scopes
    }

    /// Whether this token stands at `n`.
    pub(super) fn is(&self, n: usize, what: &str) -> bool {
        self.toks.get(n).is_some_and(|t| t.is(what))
    }

    /// Tokens with a blank between each two.
    pub(super) fn spelt(&self, range: &Range<usize>) -> String {
        self.toks[range.clone()].iter().map(|t| t.text).collect::<Vec<_>>().join(" ")
    }

    /// The place behind the bracket that closes the one at `open`.
    pub(super) fn end(&self, open: usize) -> usize {
        self.ends.get(open).copied().unwrap_or(self.toks.len())
    }

    /// The outermost bracket in which a token stands.
    pub(super) fn outermost(&self, n: usize) -> Option<usize> {
        std::iter::successors(self.around.get(n).copied().flatten(), |k| self.around[*k]).last()
    }

    /// Where the declaration at the top of the text begins in which a token stands.
    pub(super) fn top(&self, n: usize) -> usize {
        let open = self.outermost(n).unwrap_or(n);
        let ends = |k: &usize| self.around[*k].is_none() && matches!(self.toks[*k].text, ";" | "}");
        (0..open).rev().find(ends).map_or(0, |k| k + 1)
    }

    fn read(&mut self) {
        let mut all: Vec<(Variable<'t>, Option<usize>)> = self.names.variables().map(|v| (v.clone(), None)).collect();
        let braces: Vec<usize> = (0..self.toks.len()).filter(|n| self.opened(*n).is_some()).collect();
        for open in &braces {
            all.extend(self.behind(*open).into_iter().map(|v| (v, Some(*open))));
        }
        all.sort_by_key(|(v, _)| v.at);
        all.dedup_by_key(|(v, _)| v.at);
        // A structure is known where its brace closes; what stands within another one closes before it.
        let mut ids = BTreeMap::new();
        let mut order = braces;
        order.sort_by_key(|open| self.end(*open));
        let mut events: Vec<(usize, Result<usize, usize>)> = order.iter().map(|open| (self.end(*open) - 1, Err(*open))).collect();
        events.extend(all.iter().enumerate().map(|(k, (v, _))| (v.at, Ok(k))));
        events.sort();
        for (_, event) in events {
            match event {
                Err(open) => {
                    let name = self.opened(open).unwrap_or_default();
                    let members = self.members(open, &all);
                    let id = self.structures.len();
                    self.structures.push(Structure { name: name.to_string(), members });
                    ids.insert(open, id);
                    if !name.is_empty() {
                        self.named.entry(name).and_modify(|s| *s = None).or_insert(Some(id));
                    }
                }
                Ok(k) => {
                    let (v, of) = &all[k];
                    let element = match of {
                        Some(open) => ids.get(open).map(|id| Type::Structure(*id)),
                        None => self.element(v),
                    };
                    self.declare(v, element.clone());
                    self.variables.push((v.clone(), element));
                }
            }
        }
    }

    /// The name of the structure whose members stand in the brace at `open`: `struct S v = {1, 2}` opens none.
    fn opened(&self, open: usize) -> Option<&'t str> {
        let name = self.is(open, "{").then(|| structure(self.toks, open))??;
        let set = self.toks[..open].iter().rev().take_while(|t| !matches!(t.text, "struct" | "class" | "interface")).any(|t| t.is("="));
        (!set).then_some(name)
    }

    /// The variables that are declared behind a structure's brace.
    fn behind(&self, open: usize) -> Vec<Variable<'t>> {
        let mut out = Vec::new();
        let mut n = self.end(open);
        while self.toks.get(n).is_some_and(Token::is_word) {
            let at = n;
            n += 1;
            let mut lengths = Vec::new();
            while self.is(n, "[") {
                lengths.push(n..self.end(n));
                n = self.end(n);
            }
            let mut set = None;
            while n < self.toks.len() && !matches!(self.toks[n].text, ";" | "," | "}" | ")") {
                if self.is(n, "=") {
                    set = set.or(Some(n + 1));
                }
                n = if matches!(self.toks[n].text, "(" | "[" | "{") { self.end(n) } else { n + 1 };
            }
            let value = set.unwrap_or(n)..n;
            out.push(Variable { ty: "", of: at..at, lengths, constant: false, value, within: None, at });
            n += usize::from(self.is(n, ","));
        }
        out
    }

    /// The members of the structure at a brace, if all are made of numbers and there is nothing else in it.
    fn members(&self, open: usize, all: &[(Variable<'t>, Option<usize>)]) -> Option<Vec<(String, Type)>> {
        let inherits = self.toks[..open].iter().rev().take_while(|t| !t.is("struct")).any(|t| t.is(":") || t.is(";"));
        let own = |at: usize| self.around[at] == Some(open) && !self.modified(at, "static");
        if inherits {
            return None;
        }
        let members = all.iter().filter(|(v, _)| own(v.at)).map(|(v, _)| {
            let name = self.toks[v.at].text;
            let ty = self.declared.get(name)?.iter().find(|d| d.at == v.at)?.ty.clone()?;
            Some((name.to_string(), ty))
        });
        let members: Option<Vec<_>> = members.collect();
        // Every declaration has been read: a member of which nothing is known ends in a semicolon, too.
        let ends = (open..self.end(open)).filter(|n| self.around[*n] == Some(open) && matches!(self.toks[*n].text, ";" | ","));
        let read = all.iter().filter(|(v, _)| self.around[v.at] == Some(open)).count();
        members.filter(|m| read == ends.count() && !m.is_empty())
    }

    /// Whether the declaration of the name at `n` has this word before it.
    pub(super) fn modified(&self, n: usize, word: &str) -> bool {
        self.toks[..n].iter().rev().take_while(|t| !matches!(t.text, ";" | "{" | "}" | "(")).any(|t| t.is(word))
    }

    fn declare(&mut self, v: &Variable<'t>, element: Option<Type>) {
        let ty = element.and_then(|ty| self.sized(ty, v));
        let name = self.toks[v.at].text;
        if self.modified(v.at, "typedef") {
            self.aliases.entry(name).and_modify(|a| *a = a.clone().filter(|a| Some(a) == ty.as_ref())).or_insert(ty);
            return;
        }
        let d = Declared { ty, scope: self.scope(v.at), at: v.at, member: self.is_member(v.at) };
        self.declared.entry(name).or_default().push(d);
    }

    pub(super) fn is_member(&self, at: usize) -> bool {
        self.around[at].is_some_and(|open| self.opened(open).is_some())
    }

    /// The type of a variable without its lengths.
    fn element(&self, v: &Variable<'t>) -> Option<Type> {
        let of: Vec<&str> = self.toks[v.of.clone()].iter().map(|t| t.text).collect();
        self.word(v.ty, &of)
    }

    /// The type that a word means; `of` stands in its angle brackets.
    pub(super) fn word(&self, word: &str, of: &[&str]) -> Option<Type> {
        match (self.aliases.get(word), self.named.get(word)) {
            (Some(alias), None) => alias.clone().filter(|_| of.is_empty()),
            (None, Some(id)) => id.map(Type::Structure).filter(|_| of.is_empty()),
            (None, None) => Type::of_template(word, of),
            _ => None,
        }
    }

    fn sized(&self, ty: Type, v: &Variable<'t>) -> Option<Type> {
        let lengths: Option<Vec<usize>> = v.lengths.iter().map(|r| self.length(r)).collect();
        Some(ty.arrays(&lengths?))
    }

    /// The length in these brackets.
    pub(super) fn length(&self, brackets: &Range<usize>) -> Option<usize> {
        let inner = self.toks.get(brackets.start + 1..brackets.end.checked_sub(1)?)?;
        usize::try_from(self.names.integer(inner)?).ok().filter(|n| *n > 0)
    }

    /// Where the name at `at` means what is declared there.
    fn scope(&self, at: usize) -> Range<usize> {
        let mut open = self.around[at];
        while let Some(k) = open {
            let before = k.checked_sub(1).map_or("", |b| self.toks[b].text);
            if self.is(k, "(") && before == "for" {
                return k..self.statement(self.end(k));
            }
            if self.is(k, "(") {
                // Parameters.
                let behind = self.end(k).min(self.toks.len());
                return body(&self.toks[behind..]).map_or(k..behind, |b| k..self.end(behind + b));
            }
            if self.is(k, "{") && !self.is_block(k) {
                return k..self.end(k);
            }
            open = self.around[k];
        }
        0..self.toks.len()
    }

    /// Where the statement ends that begins at `n`.
    fn statement(&self, mut n: usize) -> usize {
        while n < self.toks.len() && !self.is(n, ";") {
            if self.is(n, "{") {
                return self.end(n);
            }
            n = if matches!(self.toks[n].text, "(" | "[") { self.end(n) } else { n + 1 };
        }
        n
    }

    /// Whether what is declared in these braces is known outside of them.
    fn is_block(&self, open: usize) -> bool {
        let first = self.toks[..open].iter().rposition(|t| matches!(t.text, ";" | "{" | "}")).map_or(0, |n| n + 1);
        self.toks[first..open].iter().any(|t| matches!(t.text, "cbuffer" | "tbuffer"))
    }

    pub(super) fn is_in_parentheses(&self, n: usize) -> bool {
        self.around[n].is_some_and(|open| self.is(open, "("))
    }

    fn declaration(&self, name: &str, n: usize) -> Option<&Declared> {
        let seen = |d: &&Declared| d.scope.contains(&n) && (d.at < n || d.member);
        self.declared.get(name)?.iter().filter(seen).max_by_key(|d| (d.scope.start, d.at))
    }

    /// The type of the variable that a name means at the token `n`.
    pub(super) fn variable(&self, name: &str, n: usize) -> Option<Type> {
        self.declaration(name, n)?.ty.clone()
    }

    /// Where the variable is declared that a name means at the token `n`.
    pub(super) fn meant(&self, name: &str, n: usize) -> Option<usize> {
        self.declaration(name, n).map(|d| d.at)
    }

    /// Whether the name at `at` is declared in a function or among its parameters.
    pub(super) fn is_local(&self, at: usize) -> bool {
        let Some(open) = self.around[at] else { return false };
        self.is(open, "(") || self.opened(open).is_none() && !self.is_block(open)
    }

    /// Gives a variable whose array had no length its type.
    pub(super) fn set(&mut self, at: usize, ty: Type) {
        let name = self.toks[at].text;
        self.declared.get_mut(name).into_iter().flatten().filter(|d| d.at == at).for_each(|d| d.ty = Some(ty.clone()));
    }

    /// What the functions of a name give, if all give the same.
    pub(super) fn result(&self, name: &str) -> Option<Type> {
        let mut all = self.names.functions.get(name)?.iter().map(|open| self.result_at(*open));
        let first = all.next()??;
        all.all(|ty| ty.as_ref() == Some(&first)).then_some(first)
    }

    /// The bracket of the parameters of the function whose body stands in the brace at `open`.
    fn parameters_of(&self, open: usize) -> Option<usize> {
        let of = |parameters: &&usize| body(&self.toks[self.end(**parameters)..]).is_some_and(|b| self.end(**parameters) + b == open);
        self.names.functions.values().flatten().find(of).copied()
    }

    /// What the function gives whose body stands in the brace at `open`.
    pub(super) fn result_of(&self, open: usize) -> Option<Type> {
        self.result_at(self.parameters_of(open)?)
    }

    /// The name of that function.
    pub(super) fn function_of(&self, open: usize) -> Option<&'t str> {
        Some(self.toks[self.parameters_of(open)?.checked_sub(1)?].text)
    }

    /// The type of a parameter.
    pub(super) fn parameter(&self, range: &Range<usize>) -> Option<Type> {
        let at = range.clone().find(|n| self.declared.get(self.toks[*n].text).is_some_and(|all| all.iter().any(|d| d.at == *n)))?;
        self.declared.get(self.toks[at].text)?.iter().find(|d| d.at == at)?.ty.clone()
    }

    fn result_at(&self, open: usize) -> Option<Type> {
        let last = open.checked_sub(2)?;
        if !self.is(last, ">") {
            return self.word(self.toks[last].text, &[]);
        }
        let angle = self.toks[..last].iter().rposition(|t| t.is("<"))?;
        let of: Vec<&str> = self.toks[angle + 1..last].iter().map(|t| t.text).collect();
        self.word(self.toks.get(angle.checked_sub(1)?)?.text, &of)
    }

    /// Whether a text declares a function of this name.
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.names.functions.contains_key(name)
    }
}

/// Of each bracket the place behind its end, and of each token the bracket in which it stands.
pub(super) fn brackets(toks: &[Token<'_>]) -> (Vec<usize>, Vec<Option<usize>>) {
    let (mut ends, mut around, mut open) = (vec![toks.len(); toks.len()], Vec::with_capacity(toks.len()), Vec::new());
    for (n, t) in toks.iter().enumerate() {
        if matches!(t.text, ")" | "]" | "}")
            && let Some(k) = open.pop()
        {
            ends[k] = n + 1;
        }
        around.push(open.last().copied());
        if matches!(t.text, "(" | "[" | "{") {
            open.push(n);
        }
    }
    (ends, around)
}
