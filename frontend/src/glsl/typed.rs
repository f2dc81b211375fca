//! The types of expressions in HLSL, where their tokens tell them for certain.

use super::edit::list;
use super::lex::{Kind, Token};
use super::library::{OF_ONE, OF_SEVERAL};
use super::scopes::Scopes;
use super::shapes::{Size, Type};
use std::ops::Range;

/// Expressions within expressions.
const MOST_DEPTH: usize = 48;

/// Reads expressions of a text.
pub(super) struct Typed<'s, 'a, 't> {
    pub(super) scopes: &'s Scopes<'a, 't>,
}

impl<'t> Typed<'_, '_, 't> {
    fn toks(&self) -> &[Token<'t>] {
        self.scopes.toks
    }

    /// The type of an expression.
    pub(super) fn of(&self, range: &Range<usize>) -> Option<Type> {
        self.expression(range, 0)
    }

    /// The type of the operand of a sign or cast that begins at `n`, and where it ends.
    pub(super) fn operand(&self, mut n: usize) -> Option<(Type, usize)> {
        let ty = self.unary(&mut n, self.toks().len(), 0)?;
        Some((ty, n))
    }

    fn expression(&self, range: &Range<usize>, depth: usize) -> Option<Type> {
        if depth > MOST_DEPTH || range.is_empty() {
            return None;
        }
        if let Some(choice) = self.outside(range, "?") {
            return self.choice(range, choice, depth);
        }
        let mut n = range.start;
        let mut ty = self.unary(&mut n, range.end, depth)?;
        // How tight an operator binds does not matter for the size, and for the base only between numbers and truth values.
        let (mut compares, mut bits) = (false, false);
        while n < range.end {
            let operator = self.toks()[n].text;
            n += 1;
            let right = self.unary(&mut n, range.end, depth)?;
            compares |= matches!(operator, "<" | ">" | "<=" | ">=" | "==" | "!=" | "&&" | "||");
            bits |= matches!(operator, "&" | "|" | "^");
            ty = match operator {
                "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<" | ">" | "<=" | ">=" | "==" | "!=" | "&&" | "||" => common(&ty, &right)?,
                // A number keeps its base when it is shifted.
                "<<" | ">>" => common(&ty, &right).filter(|c| base(c) == base(&ty) && base(&ty) == base(&right))?,
                _ => return None,
            };
        }
        match (compares, bits) {
            (false, _) => Some(ty),
            (true, false) => based(&ty, "bool"),
            (true, true) => None,
        }
    }

    /// Where a sign stands outside all brackets of an expression.
    fn outside(&self, range: &Range<usize>, sign: &str) -> Option<usize> {
        let mut n = range.start;
        while n < range.end {
            n = match self.toks()[n].text {
                text if text == sign => return Some(n),
                "(" | "[" | "{" => self.scopes.end(n),
                _ => n + 1,
            };
        }
        None
    }

    fn choice(&self, range: &Range<usize>, mark: usize, depth: usize) -> Option<Type> {
        let condition = self.expression(&(range.start..mark), depth + 1)?;
        // The colon that belongs to it.
        let (mut n, mut open, mut colon) = (mark + 1, 0usize, None);
        while n < range.end && colon.is_none() {
            match self.toks()[n].text {
                "(" | "[" | "{" => {
                    n = self.scopes.end(n);
                    continue;
                }
                "?" => open += 1,
                ":" if open == 0 => colon = Some(n),
                ":" => open -= 1,
                _ => {}
            }
            n += 1;
        }
        let colon = colon?;
        let left = self.expression(&(mark + 1..colon), depth + 1)?;
        let right = self.expression(&(colon + 1..range.end), depth + 1)?;
        let ty = if left == right { left } else { common(&left, &right)? };
        let same = matches!((&condition, &ty), (Type::Numbers(_, a), Type::Numbers(_, b)) if a == b);
        (condition.is_scalar() || same).then_some(ty)
    }

    fn unary(&self, n: &mut usize, end: usize, depth: usize) -> Option<Type> {
        let t = self.toks().get(*n).filter(|_| *n < end && depth <= MOST_DEPTH)?;
        match t.text {
            "+" | "-" | "++" | "--" | "~" => {
                *n += 1;
                self.unary(n, end, depth + 1)
            }
            "!" => {
                *n += 1;
                truths(&self.unary(n, end, depth + 1)?)
            }
            "(" => {
                let inner = *n + 1..self.scopes.end(*n).checked_sub(1)?;
                let behind = inner.end + 1;
                if let Some(cast) = self.type_in(&inner) {
                    *n = behind;
                    return self.unary(n, end, depth + 1).map(|_| cast);
                }
                let ty = self.expression(&inner, depth + 1)?;
                *n = behind;
                self.postfix(ty, n, end, depth)
            }
            _ => {
                let ty = self.primary(n, end, depth)?;
                self.postfix(ty, n, end, depth)
            }
        }
    }

    /// The type that these tokens are, as in a cast: `float`, `vector<int, 3>`, `struct S`, `float[4]`.
    pub(super) fn type_in(&self, range: &Range<usize>) -> Option<Type> {
        let mut n = range.start + usize::from(self.scopes.is(range.start, "struct"));
        let word = self.toks().get(n).filter(|t| n < range.end && t.is_word())?;
        n += 1;
        let mut of = Vec::new();
        if self.scopes.is(n, "<") {
            let angle = (n..range.end).find(|k| self.scopes.is(*k, ">"))?;
            of.extend(self.toks()[n + 1..angle].iter().map(|t| t.text));
            n = angle + 1;
        }
        let ty = self.scopes.word(word.text, &of)?;
        let mut lengths = Vec::new();
        while n < range.end {
            let end = Some(self.scopes.end(n)).filter(|e| self.scopes.is(n, "[") && *e <= range.end)?;
            lengths.push(self.scopes.length(&(n..end))?);
            n = end;
        }
        // A variable of the name of a type hides it.
        let hidden = self.scopes.variable(word.text, range.start).is_some();
        (!hidden).then(|| ty.arrays(&lengths))
    }

    fn primary(&self, n: &mut usize, end: usize, depth: usize) -> Option<Type> {
        let at = *n;
        let t = &self.toks()[at];
        *n += 1;
        if t.kind == Kind::Number {
            return literal(t.text).map(Type::scalar);
        }
        if matches!(t.text, "true" | "false") {
            return Some(Type::scalar("bool"));
        }
        if !t.is_word() {
            return None;
        }
        if self.scopes.is(*n, "<") && matches!(t.text, "vector" | "matrix") {
            *n = (*n..end).find(|k| self.scopes.is(*k, ">"))? + 1;
        }
        if self.scopes.is(*n, "(") {
            let open = *n;
            *n = self.scopes.end(open);
            return self.type_in(&(at..open)).filter(|t| matches!(t, Type::Numbers(..))).or_else(|| self.call(at, open, depth));
        }
        self.scopes.variable(t.text, at).or_else(|| self.object(n, end, depth))
    }

    /// What is read of the texture or buffer whose name stands in front of `n`.
    fn object(&self, n: &mut usize, end: usize, depth: usize) -> Option<Type> {
        let toks = self.toks();
        let v = self.scopes.names.variable(toks[*n - 1].text).filter(|v| v.lengths.is_empty())?;
        let texture = ["Texture", "RWTexture"].iter().any(|t| v.ty.starts_with(t));
        if !texture && !matches!(v.ty, "Buffer" | "RWBuffer" | "StructuredBuffer" | "RWStructuredBuffer") {
            return None;
        }
        let of = match &toks[v.of.clone()] {
            [] => Type::vector("float", 4),
            [ty, ..] if matches!(ty.text, "vector" | "matrix" | "unorm" | "snorm") => return None,
            [ty, ..] => self.scopes.word(ty.text, &[])?,
        };
        let at = *n;
        if self.scopes.is(at, "[") && at < end {
            let index = at + 1..self.scopes.end(at).checked_sub(1)?;
            self.expression(&index, depth + 1)?;
            *n = index.end + 1;
            return Some(of);
        }
        let method = toks.get(at + 1).filter(|_| self.scopes.is(at, ".") && self.scopes.is(at + 2, "(") && at < end)?;
        *n = self.scopes.end(at + 2);
        match method.text {
            "Load" => Some(of),
            "Sample" | "SampleLevel" | "SampleBias" | "SampleGrad" if texture => Some(of),
            "SampleCmp" | "SampleCmpLevelZero" => Some(Type::scalar("float")),
            "Gather" | "GatherRed" | "GatherGreen" | "GatherBlue" | "GatherAlpha" => Some(Type::vector(base(&of)?, 4)),
            _ => None,
        }
    }

    /// What the function at `n` gives.
    fn call(&self, n: usize, open: usize, depth: usize) -> Option<Type> {
        let name = self.toks()[n].text;
        if self.scopes.is_function(name) {
            return self.scopes.result(name);
        }
        let arguments = list(self.toks(), open);
        let of = |k: usize| arguments.get(k).and_then(|a| self.expression(a, depth + 1));
        let all = || {
            let first = of(0)?;
            (1..arguments.len()).try_fold(first, |a, k| common(&a, &of(k)?))
        };
        match name {
            "dot" | "length" | "distance" => Some(Type::scalar("float")),
            "any" | "all" => Some(Type::scalar("bool")),
            "cross" => Some(Type::vector("float", 3)),
            "mul" if arguments.len() == 2 => product(&of(0)?, &of(1)?),
            "transpose" => transposed(&of(0)?),
            "abs" => of(0),
            "max" | "min" | "clamp" | "mad" => all(),
            "asfloat" => based(&of(0)?, "float"),
            "asint" => based(&of(0)?, "int"),
            "asuint" => based(&of(0)?, "uint"),
            _ if OF_ONE.contains(&name) || OF_SEVERAL.contains(&name) => based(&all()?, "float"),
            "tex2D" | "tex2Dlod" | "tex2Dbias" | "tex3D" | "texCUBE" | "tex1D" => Some(Type::vector("float", 4)),
            _ => None,
        }
    }

    /// What stands behind an operand: members, components and indices.
    fn postfix(&self, mut ty: Type, n: &mut usize, end: usize, depth: usize) -> Option<Type> {
        while *n < end {
            match self.toks()[*n].text {
                "[" => {
                    let index = *n + 1..self.scopes.end(*n).checked_sub(1)?;
                    self.expression(&index, depth + 1).filter(Type::is_scalar)?;
                    ty = element(&ty)?;
                    *n = index.end + 1;
                }
                "." if !self.scopes.is(*n + 2, "(") => {
                    ty = self.member(&ty, self.toks().get(*n + 1)?.text)?;
                    *n += 2;
                }
                "++" | "--" => *n += 1,
                "." => return None,
                _ => break,
            }
        }
        Some(ty)
    }

    fn member(&self, ty: &Type, name: &str) -> Option<Type> {
        match ty {
            Type::Structure(s) => {
                let members = self.scopes.structures.get(*s)?.members.as_ref()?;
                members.iter().find(|(n, _)| n == name).map(|(_, ty)| ty.clone())
            }
            Type::Numbers(base, Size::Matrix(..)) => {
                let elements: Vec<&str> = name.strip_prefix('_')?.split('_').collect();
                let digits = |e: &&str| {
                    let digits = e.strip_prefix('m').unwrap_or(e);
                    digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit())
                };
                (elements.iter().all(digits) && elements.len() <= 4).then(|| Type::vector(base, elements.len()))
            }
            Type::Numbers(base, size) => {
                let n = size.count();
                let within = |set: &str| name.chars().all(|c| set.find(c).is_some_and(|k| k < n));
                (matches!(name.len(), 1..=4) && (within("xyzw") || within("rgba"))).then(|| Type::vector(base, name.len()))
            }
            Type::Array(..) => None,
        }
    }

    /// Whether computing an expression changes something, or may: it must not be computed twice.
    pub(super) fn changes(&self, range: &Range<usize>) -> bool {
        let toks = self.toks();
        range.clone().any(|n| match toks[n].text {
            "++" | "--" => true,
            "==" | "!=" | "<=" | ">=" => false,
            text if text.ends_with('=') => true,
            "(" if n > range.start && toks[n - 1].is_word() => {
                let method = n > 1 && toks[n - 2].is(".") && !reads(toks[n - 1].text);
                method || self.scopes.is_function(toks[n - 1].text) || toks[n - 1].text.starts_with("Interlocked")
            }
            _ => false,
        })
    }
}

/// Whether this method of an object only reads.
fn reads(method: &str) -> bool {
    method.starts_with("Sample") || method.starts_with("Gather") || method == "Load"
}

/// What an index takes out of a type.
fn element(ty: &Type) -> Option<Type> {
    match ty {
        Type::Array(of, _) => Some((**of).clone()),
        Type::Numbers(base, Size::Matrix(_, columns)) => Some(Type::vector(base, *columns)),
        Type::Numbers(base, Size::Vector(_)) => Some(Type::scalar(base)),
        _ => None,
    }
}

/// The base type of a literal.
fn literal(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return Some(if hex.ends_with('u') { "uint" } else { "int" });
    }
    match lower.strip_suffix(['f', 'h', 'u']) {
        Some(_) if lower.ends_with('h') => Some("half"),
        Some(_) if lower.ends_with('f') => Some("float"),
        Some(_) => Some("uint"),
        None if lower.ends_with('l') => None,
        None if lower.contains(['.', 'e']) => Some("float"),
        None => Some("int"),
    }
}

/// The type of `+` of two others: of two sizes only where one is a single number.
fn common(a: &Type, b: &Type) -> Option<Type> {
    let (Type::Numbers(base, _), Type::Numbers(other, _)) = (a, b) else { return None };
    let rank = |base: &str| ["bool", "int", "uint", "half", "float"].iter().position(|b| *b == base);
    let base = if base == other { base } else { [base, other].into_iter().max_by_key(|b| rank(b))? };
    rank(base)?;
    based(&common_size(a, b)?, if *base == "bool" { "int" } else { base })
}

/// The type of `mul`, of floats that fit each other.
fn product(a: &Type, b: &Type) -> Option<Type> {
    let (Type::Numbers("float", a), Type::Numbers("float", b)) = (a, b) else { return None };
    let size = match (*a, *b) {
        (Size::One, size) | (size, Size::One) => size,
        (Size::Vector(m), Size::Vector(n)) if m == n => Size::One,
        (Size::Vector(m), Size::Matrix(rows, n)) | (Size::Matrix(n, rows), Size::Vector(m)) if m == rows => Size::Vector(n),
        (Size::Matrix(m, l), Size::Matrix(k, n)) if k == l => Size::Matrix(m, n),
        _ => return None,
    };
    Some(Type::Numbers("float", size))
}

fn transposed(ty: &Type) -> Option<Type> {
    match ty {
        Type::Numbers(base, Size::Matrix(rows, columns)) => Some(Type::Numbers(base, Size::Matrix(*columns, *rows))),
        _ => None,
    }
}

fn common_size(a: &Type, b: &Type) -> Option<Type> {
    match (a, b) {
        (Type::Numbers(_, x), Type::Numbers(_, y)) if x == y || *y == Size::One => Some(a.clone()),
        (Type::Numbers(_, Size::One), Type::Numbers(..)) => Some(b.clone()),
        _ => None,
    }
}

fn base(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Numbers(base, _) => Some(base),
        _ => None,
    }
}

fn truths(ty: &Type) -> Option<Type> {
    based(ty, "bool")
}

fn based(ty: &Type, base: &'static str) -> Option<Type> {
    match ty {
        Type::Numbers(_, size) => Some(Type::Numbers(base, *size)),
        _ => None,
    }
}
