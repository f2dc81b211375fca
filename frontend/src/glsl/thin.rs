//! Matrices of one row or one column in HLSL, for which glslang's code has no type: they become vectors where that is certainly the same, and are refused
//! elsewhere. `m[0][2]` of a row and `m._m02` become `m[2]` and `m.z`.

use super::edit::{Edit, edited, list};
use super::lex::{Kind, Token, open, tokens};
use super::lists::Mistake;
use super::scopes::Scopes;
use super::shapes::{Size, Type};
use super::typed::Typed;
use std::collections::BTreeMap;
use std::ops::Range;

/// How the numbers of a thin matrix lie.
#[derive(Clone, Copy, PartialEq)]
enum Lie {
    One,
    Row(usize),
    Column(usize),
}

/// A thin matrix's base type and its lie.
fn thin(word: &str) -> Option<(&str, Lie)> {
    let (base, size) = word.split_at_checked(word.len().checked_sub(3)?)?;
    let number = |b: u8| usize::from(b - b'0');
    let lie = match size.as_bytes() {
        [b'1', b'x', b'1'] => Lie::One,
        [b'1', b'x', n @ b'2'..=b'4'] => Lie::Row(number(*n)),
        [n @ b'2'..=b'4', b'x', b'1'] => Lie::Column(number(*n)),
        _ => return None,
    };
    Type::of_word(base).filter(Type::is_scalar)?;
    Some((base, lie))
}

impl Lie {
    fn count(self) -> usize {
        match self {
            Lie::One => 1,
            Lie::Row(n) | Lie::Column(n) => n,
        }
    }
}

/// A preprocessed text without thin matrices.
pub(super) fn vectors(text: &str) -> Result<String, Mistake> {
    let words: Vec<Edit> = tokens(text)
        .iter()
        .filter_map(|t| {
            let (base, lie) = thin(t.text).filter(|_| t.is_word())?;
            let size = if lie.count() == 1 { String::new() } else { lie.count().to_string() };
            Some((t.at..t.end(), format!("{base}{size}")))
        })
        .collect();
    if words.is_empty() {
        return Ok(text.to_string());
    }
    let plain =
        |text: &str| tokens(text).iter().filter(|t| t.kind != Kind::Directive).map(|t| thin(t.text)).map(|t| t.map(|t| t.1)).collect();
    let lies: Vec<Option<Lie>> = plain(text);
    let text = edited(text, words);
    let toks: Vec<Token<'_>> = tokens(&text).into_iter().filter(|t| t.kind != Kind::Directive).collect();
    let scopes = Scopes::new(&toks);
    let mut thin = Thin { scopes: &scopes, lies, declared: BTreeMap::new(), functions: BTreeMap::new(), edits: Vec::new() };
    thin.rewrite()?;
    let edits = std::mem::take(&mut thin.edits);
    Ok(edited(&text, edits))
}

struct Thin<'s, 'a, 't> {
    scopes: &'s Scopes<'a, 't>,
    /// Of each token how the matrix lies whose type it was.
    lies: Vec<Option<Lie>>,
    /// The variables by where they are declared.
    declared: BTreeMap<usize, Lie>,
    functions: BTreeMap<&'t str, Lie>,
    edits: Vec<Edit>,
}

impl<'t> Thin<'_, '_, 't> {
    fn toks(&self) -> &[Token<'t>] {
        self.scopes.toks
    }

    fn refused<T>(&self, n: usize, what: &str) -> Result<T, Mistake> {
        Err((n, format!("a matrix of one row or one column {what}: use a vector")))
    }

    fn rewrite(&mut self) -> Result<(), Mistake> {
        for n in 0..self.lies.len().min(self.toks().len()) {
            if let Some(lie) = self.lies[n] {
                self.word(n, lie)?;
            }
        }
        for n in 0..self.toks().len() {
            if let Some(lie) = self.named(n) {
                self.used(n, lie)?;
            }
        }
        let mut from = 0;
        for n in 0..self.toks().len() {
            if matches!(self.toks()[n].text, ";" | "{" | "}") {
                // In front of a function's body only types and names stand.
                let header = self.scopes.is(n, "{") && self.scopes.outermost(n).is_none();
                if !header {
                    self.statement(&(from..n))?;
                }
                from = n + 1;
            }
        }
        Ok(())
    }

    /// The type at `n`: of a variable of a function, of what a function gives, of a cast or of a constructor.
    fn word(&mut self, n: usize, lie: Lie) -> Result<(), Mistake> {
        if self.scopes.is(n + 1, ")") && n > 0 && self.scopes.is(n - 1, "(") {
            let from = Typed { scopes: self.scopes }.operand(n + 2);
            return match from {
                Some((ty, end)) if !matches!(ty, Type::Numbers(_, Size::Matrix(..))) && self.fills(&ty, &(n + 2..end), lie) => Ok(()),
                _ => self.refused(n, "of what may be another matrix is not translated"),
            };
        }
        if self.scopes.is(n + 1, "(") {
            let vectors = |r: &Range<usize>| {
                let ty = Typed { scopes: self.scopes }.of(r);
                matches!(ty, Some(Type::Numbers(_, Size::One | Size::Vector(_))))
            };
            let good = list(self.toks(), n + 1).iter().all(vectors);
            return if good { Ok(()) } else { self.refused(n, "of what may be another matrix is not translated") };
        }
        let first = self.toks().get(n + 1).filter(|t| t.is_word());
        let Some(name) = first else { return self.refused(n, "is not translated here") };
        if self.scopes.is(n + 2, "(") {
            let end = self.scopes.end(n + 2);
            if self.scopes.is(end, ":") || self.scopes.names.functions.get(name.text).is_some_and(|all| all.len() > 1) {
                return self.refused(n, "is not translated as what this function gives");
            }
            self.functions.insert(name.text, lie);
            return Ok(());
        }
        let end = self.toks()[n..].iter().position(|t| t.is(";")).map_or(self.toks().len(), |k| n + k);
        let all: Vec<_> = self.scopes.variables.iter().filter(|(v, _)| v.at > n && v.at < end && self.is_of(v.at, n)).collect();
        let local = |at: usize| self.scopes.is_local(at) || self.scopes.modified(at, "static") && self.scopes.outermost(at).is_none();
        let good = !all.is_empty() && all.iter().all(|(v, _)| local(v.at) && v.lengths.is_empty() && !self.scopes.is(v.at + 1, ":"));
        if !good || self.scopes.modified(n, "typedef") {
            return self.refused(n, "is translated as a variable of a function alone, not in a buffer, a structure or an array");
        }
        let at: Vec<usize> = all.iter().map(|(v, _)| v.at).collect();
        self.declared.extend(at.into_iter().map(|at| (at, lie)));
        Ok(())
    }

    /// Whether a value has as many numbers as a column: only of another column, or for a row, are some left out.
    fn fills(&self, ty: &Type, value: &Range<usize>, lie: Lie) -> bool {
        let Lie::Column(n) = lie else { return true };
        let count = ty.count(&self.scopes.structures);
        count == Some(n) || ty.is_scalar() || value.clone().any(|k| matches!(self.whole(k), Some(Lie::Column(_))))
    }

    /// Whether the declaration of the name at `at` has its type at `n`: `float1x3 a, b` goes on, a parameter has its own.
    fn is_of(&self, at: usize, n: usize) -> bool {
        if self.scopes.is_in_parentheses(at) || at == n + 1 {
            return at == n + 1;
        }
        let typed = |k: usize| self.lies.get(k).copied().flatten().is_some() && self.toks().get(k + 1).is_some_and(Token::is_word);
        let mut k = at;
        while k > 0 {
            k -= 1;
            match self.toks()[k].text {
                // A list is a value of one of the names before.
                "}" => match open(self.toks(), k) {
                    Some(open) if open > 0 && self.scopes.is(open - 1, "=") => k = open,
                    _ => return false,
                },
                ";" | "{" => return false,
                _ if typed(k) => return k == n,
                _ => {}
            }
        }
        false
    }

    /// How the variable lies that the name at `n` means, where it is used.
    fn named(&self, n: usize) -> Option<Lie> {
        let member = n > 0 && self.scopes.is(n - 1, ".");
        let t = self.toks().get(n).filter(|t| t.is_word() && !member)?;
        let at = self.scopes.meant(t.text, n).filter(|at| *at != n)?;
        self.declared.get(&at).copied()
    }

    /// What stands behind the name.
    fn used(&mut self, n: usize, lie: Lie) -> Result<(), Mistake> {
        let toks = self.scopes.toks;
        if self.scopes.is(n + 1, ".") {
            let Some(letters) = toks.get(n + 2).and_then(|t| components(t.text, lie)) else {
                return self.refused(n, "has no such element");
            };
            self.edits.push((toks[n + 2].at..toks[n + 2].end(), letters));
            return Ok(());
        }
        if !self.scopes.is(n + 1, "[") {
            return Ok(());
        }
        let first = n + 1..self.scopes.end(n + 1);
        let second = self.scopes.is(first.end, "[").then(|| first.end..self.scopes.end(first.end));
        // The indices that say nothing, and are 0.
        let gone: Vec<Range<usize>> = match (lie, second) {
            (Lie::Row(_), _) => vec![first],
            (Lie::Column(_), second) => second.into_iter().collect(),
            (Lie::One, second) => std::iter::once(first).chain(second).collect(),
        };
        if !gone.iter().all(|r| r.len() == 3 && self.scopes.is(r.start + 1, "0")) {
            return self.refused(n, "is not translated with this index");
        }
        self.edits.extend(gone.into_iter().map(|r| (toks[r.start].at..toks[r.end - 1].end(), String::new())));
        Ok(())
    }

    /// Whether the name at `n` means the matrix and no part of it.
    fn whole(&self, n: usize) -> Option<Lie> {
        let part = self.scopes.is(n + 1, ".") || self.scopes.is(n + 1, "[");
        let made = self.lies.get(n).copied().flatten().filter(|_| self.scopes.is(n + 1, "(") || self.scopes.is(n + 1, ")"));
        let called = self.toks().get(n).and_then(|t| self.functions.get(t.text)).copied().filter(|_| self.scopes.is(n + 1, "("));
        let declared = self.toks().get(n).filter(|t| t.is_word()).and_then(|_| self.declared.get(&n)).copied();
        made.or(called).or(declared).or_else(|| self.named(n).filter(|_| !part))
    }

    /// A statement must not mix what lies in other ways, nor take a part of what is computed.
    fn statement(&mut self, range: &Range<usize>) -> Result<(), Mistake> {
        let wholes: Vec<(usize, Lie)> = range.clone().filter_map(|n| Some((n, self.whole(n)?))).collect();
        let Some((first, _)) = wholes.first().copied() else {
            return match range.clone().find(|n| self.scopes.is(*n, "return")) {
                Some(n) => self.returned(n, &(n + 1..range.end), &wholes),
                None => Ok(()),
            };
        };
        let mut passed: Vec<Range<usize>> = Vec::new();
        for n in range.clone().filter(|n| self.scopes.is(n + 1, "(")) {
            let arguments = list(self.toks(), n + 1);
            let inside = |r: &Range<usize>| wholes.iter().any(|(k, _)| r.contains(k));
            match self.toks()[n].text {
                "mul" if arguments.iter().any(inside) => {
                    self.product(n, &arguments)?;
                    passed.extend(arguments);
                }
                "transpose" | "determinant" if arguments.iter().any(inside) => {
                    return self.refused(n, "is not transposed, and has no determinant here");
                }
                _ => {}
            }
        }
        for n in range.clone().filter(|n| self.scopes.is(*n, "(")) {
            let end = self.scopes.end(n);
            if (self.scopes.is(end, "[") || self.scopes.is(end, ".")) && wholes.iter().any(|(k, _)| (n.saturating_sub(1)..end).contains(k))
            {
                return self.refused(n, "that is computed here has elements that are not told apart");
            }
        }
        if let Some(n) = range.clone().find(|n| self.scopes.is(*n, "return")) {
            self.returned(n, &(n + 1..range.end), &wholes)?;
        }
        let outside = |n: &usize| !passed.iter().any(|r| r.contains(n));
        let of = |lie: fn(&Lie) -> bool| wholes.iter().any(|(n, l)| outside(n) && lie(l));
        let mixed = of(|l| matches!(l, Lie::Row(_))) && of(|l| matches!(l, Lie::Column(_)));
        if mixed || range.clone().filter(outside).any(|n| self.is_matrix(n)) {
            return self.refused(first, "is not computed with other matrices");
        }
        Ok(())
    }

    /// What a function that gives a thin matrix returns.
    fn returned(&self, n: usize, value: &Range<usize>, wholes: &[(usize, Lie)]) -> Result<(), Mistake> {
        let function = self.scopes.outermost(n).and_then(|brace| self.scopes.function_of(brace));
        let Some(lie) = function.and_then(|name| self.functions.get(name)).copied() else { return Ok(()) };
        let other = |l: &Lie| matches!((lie, l), (Lie::Row(_), Lie::Column(_)) | (Lie::Column(_), Lie::Row(_)));
        let Some(ty) = (Typed { scopes: self.scopes }).of(value) else { return self.refused(n, "is not made of this here") };
        if wholes.iter().any(|(_, l)| other(l)) || !self.fills(&ty, value, lie) {
            return self.refused(n, "is not made of this");
        }
        Ok(())
    }

    /// Whether the word at `n` is a matrix, or makes one.
    fn is_matrix(&self, n: usize) -> bool {
        let t = &self.toks()[n];
        let matrix = |ty: Option<Type>| matches!(ty, Some(Type::Numbers(_, Size::Matrix(..))));
        let variable = t.is_word() && matrix(self.scopes.variable(t.text, n)) && !self.scopes.is(n + 1, "[") && !self.scopes.is(n + 1, ".");
        variable || t.is_word() && matrix(Type::of_word(t.text)) || t.is_word() && matrix(self.scopes.result(t.text))
    }

    /// `mul` of thin matrices where the product of vectors is the same.
    fn product(&self, n: usize, arguments: &[Range<usize>]) -> Result<(), Mistake> {
        let lie = |r: &Range<usize>| match (r.len(), self.whole(r.start)) {
            (1, lie) => lie,
            (_, lie) => lie.filter(|_| self.scopes.is(r.start + 1, "(") && self.scopes.end(r.start + 1) == r.end),
        };
        let size = |r: &Range<usize>| match (Typed { scopes: self.scopes }).of(r) {
            Some(Type::Numbers(_, size)) => Some(size),
            _ => None,
        };
        let [a, b] = arguments else { return self.refused(n, "is not multiplied here") };
        let thin = |r: &Range<usize>| r.clone().any(|k| self.whole(k).is_some());
        let good = match (lie(a), lie(b), size(a), size(b)) {
            (Some(Lie::Row(k)), None, _, Some(Size::Matrix(rows, _))) => rows == k && !thin(b),
            (None, Some(Lie::Column(k)), Some(Size::Matrix(_, columns)), _) => columns == k && !thin(a),
            (Some(Lie::Row(k)), Some(Lie::Column(l)), ..) => k == l,
            (Some(Lie::Row(k)), None, _, Some(Size::Vector(l))) => k == l && !thin(b),
            (None, Some(Lie::Column(k)), Some(Size::Vector(l)), _) => k == l && !thin(a),
            (Some(_), None, _, Some(Size::One)) => !thin(b),
            (None, Some(_), Some(Size::One), _) => !thin(a),
            _ => false,
        };
        if good { Ok(()) } else { self.refused(n, "is multiplied with what fits it alone") }
    }
}

/// The components that elements of a thin matrix are in its vector: `_m02`, `_13` and several of them.
fn components(word: &str, lie: Lie) -> Option<String> {
    let elements = word.strip_prefix('_')?.split('_');
    let letter = |e: &str| {
        let (digits, first) = match e.strip_prefix('m') {
            Some(digits) => (digits, 0),
            None => (e, 1),
        };
        let [r, c] = digits.as_bytes() else { return None };
        let [r, c] = [r, c].map(|b| usize::from(b.wrapping_sub(b'0')).checked_sub(first));
        let k = match (lie, r?, c?) {
            (Lie::One, 0, 0) => 0,
            (Lie::Row(n), 0, k) | (Lie::Column(n), k, 0) if k < n => k,
            _ => return None,
        };
        "xyzw".get(k..=k)
    };
    elements.map(letter).collect()
}
