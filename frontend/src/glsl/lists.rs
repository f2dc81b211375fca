//! Initial values in braces. HLSL takes all that stands in them apart into numbers, however the braces are nested, and fills the variable with them;
//! glslang counts what stands between the commas. A list whose nesting is not that of the variable's type gets it.

use super::edit::{Edit, edited, list};
use super::lex::{Kind, Token, tokens};
use super::names::Variable;
use super::scopes::Scopes;
use super::shapes::{Part, Size, Type};
use super::typed::Typed;
use std::collections::BTreeSet;
use std::ops::Range;

/// Lists within lists.
const MOST_DEPTH: usize = 32;
/// Tokens of what is written again for each of its numbers.
const MOST_WRITTEN: usize = 48;

/// A mistake: its token in the text without directives, and what is wrong.
pub(super) type Mistake = (usize, String);

/// What stands between two commas.
enum Item {
    /// One of the expressions.
    Leaf(usize),
    List(Vec<Item>),
}

/// An expression of a list.
pub(super) struct Leaf {
    pub(super) range: Range<usize>,
    pub(super) ty: Option<Type>,
}

/// A preprocessed text in which every list has the nesting of what it is the value of.
pub(super) fn nested(text: &str) -> Result<String, Mistake> {
    let all = tokens(text);
    let toks: Vec<Token<'_>> = all.iter().filter(|t| t.kind != Kind::Directive).copied().collect();
    let value = |w: &[Token<'_>]| w[1].is("=") && (w[2].is("{") || w[0].is("]")) || w[0].is("[") && w[1].is("]");
    if !toks.windows(3).any(value) {
        return Ok(text.to_string());
    }
    let mut scopes = Scopes::new(&toks);
    let (mut edits, mut functions) = (Vec::new(), 0);
    for (v, element) in std::mem::take(&mut scopes.variables) {
        let Some(element) = element else { continue };
        unsized_array(&scopes, &v)?;
        if v.value.is_empty() {
            continue;
        }
        let (ty, new) = Lists { scopes: &scopes, v: &v }.rewritten(element, &mut functions)?;
        edits.extend(new.into_iter().map(|(range, what)| placed(text, &all, range, &what)));
        if let Some(ty) = ty {
            scopes.set(v.at, ty);
        }
    }
    Ok(if edits.is_empty() { text.to_string() } else { edited(text, edits) })
}

/// Refuses an array without a length that no values give one: glslang would count what is read of it.
fn unsized_array(scopes: &Scopes<'_, '_>, v: &Variable<'_>) -> Result<(), Mistake> {
    let empty = v.lengths.first().is_some_and(|l| l.len() == 2);
    let local = scopes.is_local(v.at) && !scopes.is_in_parentheses(v.at) && v.value.is_empty();
    // What has a semantic is refused where it is used.
    let semantic = v.lengths.last().is_some_and(|l| scopes.toks.get(l.end).is_some_and(|t| t.is(":")));
    let member = scopes.is_member(v.at) && !semantic;
    if empty && (local || member || scopes.modified(v.at, "typedef")) {
        let name = scopes.toks[v.at].text;
        return Err((v.at, format!("the array `{name}` has neither a length nor values that give it one")));
    }
    Ok(())
}

/// An edit that keeps the lines of what it replaces, and the directives between them.
pub(super) fn placed(text: &str, all: &[Token<'_>], range: Range<usize>, what: &str) -> Edit {
    let mut out = what.to_string();
    let mut from = range.start;
    for d in all.iter().filter(|t| t.kind == Kind::Directive && range.contains(&t.at)) {
        out.extend(text[from..d.at].chars().filter(|c| *c == '\n'));
        out += d.text;
        from = d.end().min(range.end);
    }
    out.extend(text[from..range.end].chars().filter(|c| *c == '\n'));
    (range, out)
}

/// The initial value of a variable.
struct Lists<'s, 'a, 't> {
    scopes: &'s Scopes<'a, 't>,
    v: &'s Variable<'t>,
}

impl<'t> Lists<'_, '_, 't> {
    fn toks(&self) -> &[Token<'t>] {
        self.scopes.toks
    }

    /// The variable's type where its first length is not written, and what is written anew by bytes.
    fn rewritten(&self, element: Type, functions: &mut usize) -> Result<(Option<Type>, Vec<Edit>), Mistake> {
        let open = self.v.value.start;
        let implicit = self.v.lengths.first().is_some_and(|l| l.len() == 2);
        let lengths = self.v.lengths.iter().skip(usize::from(implicit)).map(|l| self.scopes.length(l)).collect::<Option<Vec<_>>>();
        let Some(inner) = lengths.map(|l| element.arrays(&l)) else { return Ok((None, Vec::new())) };
        if !self.toks()[open].is("{") {
            let value = || Typed { scopes: self.scopes }.of(&self.v.value);
            let ty = implicit.then(value).flatten().filter(|t| matches!(t, Type::Array(..)));
            let length = ty.iter().flat_map(|ty| self.with_length(ty)).collect();
            return Ok((ty, length));
        }
        // Objects among the members, or more than is written out.
        if inner.count(&self.scopes.structures).is_none() {
            return Ok((None, Vec::new()));
        }
        let mut leaves = Vec::new();
        let Some(items) = self.items(open, &mut leaves, 0) else { return Ok((None, Vec::new())) };
        let Some(given) = self.given(&leaves) else {
            return self.unknown(&items, &leaves, &inner, implicit).map(|()| (None, Vec::new()));
        };
        let ty = if implicit { self.filled(inner, given)? } else { inner };
        let Some(wanted) = ty.count(&self.scopes.structures) else { return Ok((None, Vec::new())) };
        if wanted != given {
            let name = self.toks()[self.v.at].text;
            return Err((open, format!("`{name}` has {wanted} numbers, and the list of its values {given}")));
        }
        let known = implicit.then(|| ty.clone());
        if self.listed(&items, &leaves, &ty) {
            return Ok((known, Vec::new()));
        }
        let mut edits: Vec<Edit> = if implicit { self.with_length(&ty).into_iter().collect() } else { Vec::new() };
        edits.extend(self.written(&ty, &leaves, functions)?);
        Ok((known, edits))
    }

    /// The length that was not written.
    fn with_length(&self, ty: &Type) -> Option<Edit> {
        let Type::Array(_, n) = ty else { return None };
        let brackets = self.v.lengths.first().filter(|l| l.len() == 2)?;
        let end = self.toks()[brackets.end - 1].at;
        Some((end..end, n.to_string()))
    }

    /// Takes a list apart.
    fn items(&self, open: usize, leaves: &mut Vec<Leaf>, depth: usize) -> Option<Vec<Item>> {
        if depth > MOST_DEPTH {
            return None;
        }
        let mut out = Vec::new();
        for range in list(self.toks(), open) {
            let first = self.toks().get(range.start)?;
            if range.is_empty() {
                return None;
            }
            if first.is("{") {
                out.push(Item::List(self.items(range.start, leaves, depth + 1)?));
                continue;
            }
            out.push(Item::Leaf(leaves.len()));
            leaves.push(Leaf { ty: Typed { scopes: self.scopes }.of(&range), range });
        }
        Some(out)
    }

    /// How many numbers are given, if all types are known.
    fn given(&self, leaves: &[Leaf]) -> Option<usize> {
        leaves.iter().try_fold(0usize, |sum, l| sum.checked_add(l.ty.as_ref()?.count(&self.scopes.structures)?))
    }

    /// The type of an array whose length its values tell.
    fn filled(&self, inner: Type, given: usize) -> Result<Type, Mistake> {
        let each = inner.count(&self.scopes.structures).unwrap_or(0);
        if each == 0 || given == 0 || !given.is_multiple_of(each) {
            let name = self.toks()[self.v.at].text;
            let m = format!("`{name}`: {given} numbers do not fill elements of {each}, of which the array has as many as are given");
            return Err((self.v.value.start, m));
        }
        Ok(inner.arrays(&[given / each]))
    }

    /// Refuses a list of which not all types are known, unless its shape is the variable's.
    fn unknown(&self, items: &[Item], leaves: &[Leaf], inner: &Type, implicit: bool) -> Result<(), Mistake> {
        // Without a length and braces, expressions may be elements or parts of them.
        let element = |i: &Item| (matches!(i, Item::List(_)) || inner.is_scalar()) && self.fits(i, leaves, inner);
        let good = if implicit { items.iter().all(element) } else { self.listed(items, leaves, inner) };
        let Some(first) = leaves.iter().find(|l| l.ty.is_none()).filter(|_| !good) else { return Ok(()) };
        let (name, what) = (self.toks()[self.v.at].text, self.toks()[first.range.start].text);
        let m =
            format!("the values of `{name}` are not nested as its type is, and the type of `{what}` is not known: nest them, or cast it");
        Err((first.range.start, m))
    }

    /// Whether glslang reads an expression or a list for a type as HLSL does.
    fn fits(&self, item: &Item, leaves: &[Leaf], ty: &Type) -> bool {
        match item {
            Item::List(items) => self.listed(items, leaves, ty),
            Item::Leaf(k) => match (&leaves[*k].ty, ty) {
                (None, _) => true,
                (Some(Type::Numbers(_, a)), Type::Numbers(_, b)) => a == b,
                (Some(of), _) => of == ty,
            },
        }
    }

    fn listed(&self, items: &[Item], leaves: &[Leaf], ty: &Type) -> bool {
        let all = |ty: &Type| items.iter().all(|i| self.fits(i, leaves, ty));
        match ty {
            Type::Array(of, n) => items.len() == *n && all(of),
            Type::Structure(s) => {
                let members = self.scopes.structures[*s].members.as_deref().unwrap_or_default();
                items.len() == members.len() && items.iter().zip(members).all(|(i, (_, ty))| self.fits(i, leaves, ty))
            }
            Type::Numbers(_, Size::Vector(n)) => components(items, leaves, *n),
            Type::Numbers(base, Size::Matrix(rows, columns)) => {
                let number = |i: &Item| matches!(i, Item::Leaf(k) if leaves[*k].ty.as_ref().is_none_or(Type::is_scalar));
                items.len() == rows * columns && items.iter().all(number) || items.len() == *rows && all(&Type::vector(base, *columns))
            }
            Type::Numbers(_, Size::One) => matches!(items, [Item::Leaf(_)]) && all(ty),
        }
    }

    /// The list anew, with the nesting of its type.
    fn written(&self, ty: &Type, leaves: &[Leaf], functions: &mut usize) -> Result<Vec<Edit>, Mistake> {
        let toks = self.toks();
        let bytes = toks[self.v.value.start].at..toks[self.v.value.end - 1].end();
        let texts: Vec<String> = leaves.iter().map(|l| self.operand(&l.range)).collect();
        let mut plain = Writer::new(self.scopes, leaves, texts);
        let value = plain.value(ty);
        let typed = Typed { scopes: self.scopes };
        let again = |k: &&usize| {
            let range = &leaves[**k].range;
            range.len() > MOST_WRITTEN || typed.changes(range)
        };
        let Some(k) = plain.split.iter().find(again) else { return Ok(vec![(bytes, value)]) };
        // What must not be computed twice is the argument of a function.
        let first = &leaves[*k].range;
        let refused = || {
            (
                first.start,
                format!("`{}` is computed once for each of its numbers here: give it to a variable before", toks[first.start].text),
            )
        };
        let open = self.scopes.outermost(self.v.at).ok_or_else(refused)?;
        let names = (0..leaves.len()).map(|k| format!("p{k}")).collect();
        let value = Writer::new(self.scopes, leaves, names).value(ty);
        let structures = &self.scopes.structures;
        let parameters = leaves.iter().enumerate().map(|(k, l)| l.ty.as_ref()?.declaring(&format!("p{k}"), structures));
        let parameters: Option<Vec<String>> = parameters.collect();
        let (name, alias) = (format!("shaderc_list{functions}"), format!("shaderc_type{functions}"));
        let typedef = ty.declaring(&alias, structures).ok_or_else(refused)?;
        let parameters = parameters.ok_or_else(refused)?.join(", ");
        let function = format!("typedef {typedef}; {alias} {name}({parameters}) {{ {alias} r = {value}; return r; }} ");
        *functions += 1;
        let at = toks[self.scopes.top(open)].at;
        let arguments: Vec<String> = leaves.iter().map(|l| self.scopes.spelt(&l.range)).collect();
        Ok(vec![(at..at, function), (bytes, format!("{name}({})", arguments.join(", ")))])
    }

    /// An expression behind which a member may be named.
    fn operand(&self, range: &Range<usize>) -> String {
        let toks = &self.toks()[range.clone()];
        let path = toks.iter().all(|t| matches!(t.kind, Kind::Word | Kind::Number) || matches!(t.text, "." | "[" | "]" | "(" | ")" | ","));
        let cast = toks.first().is_some_and(|t| t.is("("));
        let spelt = self.scopes.spelt(range);
        if path && !cast { spelt } else { format!("({spelt})") }
    }
}

/// Whether the items make up a vector of `n` as they stand.
fn components(items: &[Item], leaves: &[Leaf], n: usize) -> bool {
    let counts = items.iter().map(|i| match i {
        Item::Leaf(k) => match &leaves[*k].ty {
            Some(Type::Numbers(_, size @ (Size::One | Size::Vector(_)))) => Some(size.count()),
            None => Some(0),
            _ => None,
        },
        Item::List(_) => None,
    });
    let counts: Option<Vec<usize>> = counts.collect();
    counts.is_some_and(|c| if c.contains(&0) { c.len() <= n } else { c.iter().sum::<usize>() == n })
}

/// Writes values whose numbers come one after the other.
pub(super) struct Writer<'s, 'a, 't> {
    scopes: &'s Scopes<'a, 't>,
    leaves: &'s [Leaf],
    texts: Vec<String>,
    /// The expression that is next, and how many of its numbers are taken.
    next: (usize, usize),
    parts: Vec<Part>,
    /// Those that are written for each of their numbers.
    split: BTreeSet<usize>,
    /// Whether vectors and matrices may be lists: words that the user has not written take long to find in his text.
    braces: bool,
}

impl<'s, 'a, 't> Writer<'s, 'a, 't> {
    pub(super) fn new(scopes: &'s Scopes<'a, 't>, leaves: &'s [Leaf], texts: Vec<String>) -> Self {
        Writer { scopes, leaves, texts, next: (0, 0), parts: Vec::new(), split: BTreeSet::new(), braces: true }
    }

    /// A value that stands elsewhere than in the list of a variable's values.
    pub(super) fn expression(mut self, ty: &Type) -> String {
        self.braces = false;
        self.value(ty)
    }

    /// The next expression as a whole, if none of its numbers is taken and it is wanted.
    fn whole(&mut self, wanted: impl Fn(&Type) -> bool) -> Option<(String, Type)> {
        let (leaf, 0) = self.next else { return None };
        let ty = self.leaves.get(leaf)?.ty.clone().filter(wanted)?;
        self.next = (leaf + 1, 0);
        Some((self.texts.get(leaf)?.clone(), ty))
    }

    /// The next number.
    fn number(&mut self) -> Part {
        let (leaf, taken) = self.next;
        let Some(ty) = self.leaves.get(leaf).and_then(|l| l.ty.as_ref()) else { return ("0".to_string(), "int") };
        if taken == 0 {
            self.parts = ty.parts(&self.texts[leaf], &self.scopes.structures);
            if self.parts.len() > 1 {
                self.split.insert(leaf);
            }
        }
        self.next = if taken + 1 < self.parts.len() { (leaf, taken + 1) } else { (leaf + 1, 0) };
        self.parts.get(taken).cloned().unwrap_or_default()
    }

    /// The next numbers as a value of this type.
    pub(super) fn value(&mut self, ty: &Type) -> String {
        match ty {
            Type::Numbers(base, size) => self.numbers(base, *size),
            _ if self.leaves.len() > 1 && self.next.0 < self.leaves.len() => match self.whole(|of| of == ty) {
                Some((text, _)) => text,
                None => self.list(ty),
            },
            _ => self.list(ty),
        }
    }

    fn list(&mut self, ty: &Type) -> String {
        let values: Vec<String> = match ty {
            Type::Array(of, n) => (0..*n).map(|_| self.value(of)).collect(),
            Type::Structure(s) => {
                let scopes = self.scopes;
                let members = scopes.structures[*s].members.as_deref().unwrap_or_default();
                members.iter().map(|(_, ty)| self.value(ty)).collect()
            }
            Type::Numbers(base, size) => vec![self.numbers(base, *size)],
        };
        format!("{{{}}}", values.join(", "))
    }

    fn numbers(&mut self, base: &'static str, size: Size) -> String {
        if let Some((text, of)) = self.whole(|of| matches!(of, Type::Numbers(_, s) if *s == size)) {
            return if of == Type::Numbers(base, size) { text } else { format!("{}({text})", size.word(base)) };
        }
        if size == Size::One {
            let (text, of) = self.number();
            return if of == base { text } else { format!("{base}({text})") };
        }
        // What is no single number is an argument of a constructor.
        let (mut left, mut parts, mut single) = (size.count(), Vec::new(), self.braces);
        while left > 0 {
            // Of matrices glslang takes no more than the first.
            let fits = |of: &Type| matches!(of, Type::Numbers(_, s @ (Size::One | Size::Vector(_))) if s.count() <= left);
            match self.whole(fits) {
                Some((text, Type::Numbers(_, s))) => {
                    left -= s.count();
                    single &= s == Size::One;
                    parts.push(text);
                }
                _ => {
                    left -= 1;
                    parts.push(self.number().0);
                }
            }
        }
        let parts = parts.join(", ");
        if single { format!("{{{parts}}}") } else { format!("{}({parts})", size.word(base)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{casts, thin};
    use super::nested;

    #[test]
    fn every_beginning_of_a_text_is_read() {
        let text = "struct S { float2 a; struct { int b[2]; } c; }; typedef float F[2];
static S s[] = { 1, {2, 3}, 4, 5,
#line 4 \"a\"
    6, 7, 8 };
float1x3 g(float1x3 m, S s) { for (int k[1] = {m[0][2]}; k[0] < 3 ? true : false; ) return (float1x3)m._m00; return m; }
float4 main(float4 v : V) : SV_Target {
    float2 p[] = {v.x > 1 ? v : v.wzyx, g(v.xyz, s[0]), v.x};
    S t = (S)(float[4])(v * -1); F f; f = (F)t.a; vector<float, 2> w = {(f)[0], f[1]};
    return float4(f, max(w.x, t.c.b[1]), texture.Sample(s, v.xy).x);
}
";
        for end in 0..=text.len() {
            for pass in [thin::vectors, nested, casts::converted] {
                let read = pass(&text[..end]).unwrap_or_else(|_| text[..end].to_string());
                assert_eq!(read.matches('\n').count(), text[..end].matches('\n').count(), "{read}");
            }
        }
    }
}
