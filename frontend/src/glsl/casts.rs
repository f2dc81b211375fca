//! Casts, assignments and constructors between structures, arrays, vectors and matrices. HLSL takes the numbers of one after the other for those of the
//! other; glslang has no such conversions. A function that takes the source computes them, so that it is computed once.

use super::edit::{Edit, edited, list};
use super::lex::{Kind, Token, tokens};
use super::lists::{Leaf, Mistake, Writer, placed};
use super::scopes::Scopes;
use super::shapes::{Size, Type};
use super::typed::Typed;
use std::collections::BTreeMap;
use std::ops::Range;

/// A preprocessed text whose conversions are functions.
pub(super) fn converted(text: &str) -> Result<String, Mistake> {
    let all = tokens(text);
    let toks: Vec<Token<'_>> = all.iter().filter(|t| t.kind != Kind::Directive).copied().collect();
    let has = |what: &str| toks.iter().any(|t| t.is(what));
    // Without arrays and structures there is nothing that glslang does not convert itself.
    if !has("[") && !has("struct") {
        return Ok(text.to_string());
    }
    let scopes = Scopes::new(&toks);
    let values = scopes.variables.iter().filter(|(v, _)| !v.value.is_empty()).map(|(v, _)| (v.value.start, v.at)).collect();
    let mut casts = Casts { scopes: &scopes, values, functions: BTreeMap::new(), front: Vec::new(), edits: Vec::new() };
    for n in 0..toks.len() {
        match toks[n].text {
            "(" => {
                casts.cast(n)?;
                casts.constructor(n)?;
                casts.arguments(n)?;
            }
            "=" => casts.assignment(n)?,
            "return" => casts.result(n)?,
            _ => {}
        }
    }
    let Casts { front, edits, .. } = casts;
    if edits.is_empty() {
        return Ok(text.to_string());
    }
    let mut edits: Vec<Edit> = edits.into_iter().map(|(range, what)| placed(text, &all, range, &what)).collect();
    // What stands in front comes first where something else begins there.
    edits.splice(0..0, front.into_iter().map(|(at, what)| (at..at, what)));
    Ok(edited(text, edits))
}

struct Casts<'s, 'a, 't> {
    scopes: &'s Scopes<'a, 't>,
    /// The variables by where their initial values stand.
    values: BTreeMap<usize, usize>,
    /// Functions by the types of source and result as they are written, and by where they stand.
    functions: BTreeMap<(usize, String), String>,
    front: Vec<(usize, String)>,
    edits: Vec<Edit>,
}

impl<'t> Casts<'_, '_, 't> {
    fn toks(&self) -> &[Token<'t>] {
        self.scopes.toks
    }

    fn typed(&self) -> Typed<'_, '_, 't> {
        Typed { scopes: self.scopes }
    }

    fn bytes(&self, range: &Range<usize>) -> Range<usize> {
        let toks = self.toks();
        toks[range.start].at..toks[range.end - 1].end()
    }

    /// Whether an expression is the path to a variable, in which nothing happens.
    fn is_path(&self, range: &Range<usize>) -> bool {
        let path = |t: &Token<'_>| t.is_word() || t.kind == Kind::Number || matches!(t.text, "." | "[" | "]");
        self.toks()[range.clone()].iter().all(path)
    }

    /// Whether a conversion is one that glslang does not do.
    fn is_ours(from: &Type, to: &Type) -> bool {
        let numbers = |ty: &Type| matches!(ty, Type::Numbers(..));
        // One number fills a structure in glslang, too.
        let one = from.is_scalar() && !matches!(to, Type::Array(..));
        from != to && !one && !(numbers(from) && numbers(to))
    }

    /// `(T)x`.
    fn cast(&mut self, n: usize) -> Result<(), Mistake> {
        let end = self.scopes.end(n);
        let Some(to) = self.typed().type_in(&(n + 1..end.saturating_sub(1).max(n + 1))) else { return Ok(()) };
        let Some((from, behind)) = self.typed().operand(end) else { return Ok(()) };
        if !Self::is_ours(&from, &to) {
            return Ok(());
        }
        let count = |ty: &Type| ty.count(&self.scopes.structures);
        let (Some(has), Some(wants)) = (count(&from), count(&to)) else { return Ok(()) };
        // A matrix is not cut.
        let matrix = [&from, &to].iter().any(|ty| matches!(ty, Type::Numbers(_, Size::Matrix(..))));
        if has != wants && has > 1 && (has < wants || matrix) {
            return Err((n, format!("this cast wants {wants} numbers, and there are {has}")));
        }
        let operand = end..behind;
        // Where no function is called its numbers are named one by one.
        if self.is_path(&operand) && matches!(to, Type::Numbers(..)) {
            let leaf = Leaf { range: operand.clone(), ty: Some(from) };
            let value = Writer::new(self.scopes, &[leaf], vec![self.scopes.spelt(&operand)]).expression(&to);
            let bytes = self.bytes(&(n..behind));
            // The preprocessor leaves no blank behind `return`.
            self.edits.push((bytes, format!(" {value}")));
            return Ok(());
        }
        let name = self.function(n, &from, &to)?;
        let (open, close) = (self.bytes(&(n..end)), self.bytes(&operand).end);
        self.edits.extend([(open, format!(" {name}(")), (close..close, ")".to_string())]);
        Ok(())
    }

    /// `float4(a)` of an array or a structure.
    fn constructor(&mut self, open: usize) -> Result<(), Mistake> {
        let toks = self.scopes.toks;
        let Some(ty) = open.checked_sub(1).map(|k| k..open).filter(|r| toks[r.start].is_word()) else { return Ok(()) };
        if self.scopes.is_function(toks[ty.start].text) || !matches!(self.typed().type_in(&ty), Some(Type::Numbers(..))) {
            return Ok(());
        }
        for range in list(toks, open).into_iter().filter(|r| !r.is_empty()) {
            let Some(from) = self.typed().of(&range).filter(|ty| !matches!(ty, Type::Numbers(..))) else { continue };
            let parts = from.parts(&self.scopes.spelt(&range), &self.scopes.structures);
            if !self.is_path(&range) || parts.is_empty() {
                let m = "what stands here is taken apart into its numbers: give it to a variable before".to_string();
                return Err((range.start, m));
            }
            let parts: Vec<String> = parts.into_iter().map(|(text, _)| text).collect();
            let bytes = self.bytes(&range);
            self.edits.push((bytes, parts.join(", ")));
        }
        Ok(())
    }

    /// `a = b;` and `T a = b;`.
    fn assignment(&mut self, n: usize) -> Result<(), Mistake> {
        let toks = self.scopes.toks;
        let first = toks[..n].iter().rposition(|t| matches!(t.text, ";" | "{" | "}" | "(" | ",")).map_or(0, |k| k + 1);
        let Some(length) = toks[n..].iter().position(|t| matches!(t.text, ";" | "{" | "}")) else { return Ok(()) };
        let value = n + 1..n + length;
        if !self.scopes.is(n + length, ";") || value.is_empty() || first == n || self.scopes.outermost(n).is_none() {
            return Ok(());
        }
        let to = match self.values.get(&(n + 1)) {
            Some(at) => self.scopes.variable(toks[*at].text, n + 1),
            None => self.typed().of(&(first..n)),
        };
        to.map_or(Ok(()), |to| self.implicit(&value, &to))
    }

    /// `return a;`.
    fn result(&mut self, n: usize) -> Result<(), Mistake> {
        let Some(length) = self.toks()[n..].iter().position(|t| matches!(t.text, ";" | "{" | "}")) else { return Ok(()) };
        let to = self.scopes.outermost(n).and_then(|brace| self.scopes.result_of(brace));
        to.map_or(Ok(()), |to| self.implicit(&(n + 1..n + length), &to))
    }

    /// `f(a)` of a function of which there is one.
    fn arguments(&mut self, open: usize) -> Result<(), Mistake> {
        let Some(name) = open.checked_sub(1).map(|k| self.toks()[k].text) else { return Ok(()) };
        let Some([declared]) = self.scopes.names.functions.get(name).map(Vec::as_slice) else { return Ok(()) };
        let method = open > 1 && self.scopes.is(open - 2, ".");
        let (parameters, given) = (list(self.toks(), *declared), list(self.toks(), open));
        if *declared == open || method || parameters.len() != given.len() {
            return Ok(());
        }
        for (p, value) in parameters.iter().zip(given) {
            if !self.toks()[p.clone()].iter().any(|t| matches!(t.text, "out" | "inout"))
                && let Some(to) = self.scopes.parameter(p)
            {
                self.implicit(&value, &to)?;
            }
        }
        Ok(())
    }

    /// Converts an array or structure to one of the same numbers: only casts leave some out or change their types.
    fn implicit(&mut self, value: &Range<usize>, to: &Type) -> Result<(), Mistake> {
        let Some(from) = self.typed().of(value) else { return Ok(()) };
        let numbers = |ty: &Type| ty.parts("", &self.scopes.structures).into_iter().map(|(_, base)| base).collect::<Vec<_>>();
        if from == *to || [&from, to].iter().any(|ty| matches!(ty, Type::Numbers(..))) {
            return Ok(());
        }
        let has = numbers(&from);
        if has.is_empty() || has != numbers(to) {
            return Ok(());
        }
        let name = self.function(value.start, &from, to)?;
        let bytes = self.bytes(value);
        self.edits.extend([(bytes.start..bytes.start, format!(" {name}(")), (bytes.end..bytes.end, ")".to_string())]);
        Ok(())
    }

    /// The function that converts what stands at `n`, which is put in front of what stands there at the top of the text.
    fn function(&mut self, n: usize, from: &Type, to: &Type) -> Result<String, Mistake> {
        let structures = &self.scopes.structures;
        let unfit = || (n, "what has no name or is no part of a function is not converted: name its numbers".to_string());
        let top = self.scopes.top(self.scopes.outermost(n).ok_or_else(unfit)?);
        let at = self.scopes.toks[top].at;
        let source = from.declaring("p", structures).ok_or_else(unfit)?;
        let k = self.functions.len();
        let alias = format!("shaderc_result{k}");
        let typedef = to.declaring(&alias, structures).ok_or_else(unfit)?;
        let key = format!("{source} {}", to.declaring("r", structures).unwrap_or_default());
        if let Some(name) = self.functions.get(&(at, key.clone())) {
            return Ok(name.clone());
        }
        let name = format!("shaderc_cast{k}");
        // One number is each of the result's.
        let times = if from.is_scalar() { to.count(structures).unwrap_or(1) } else { 1 };
        let leaves: Vec<Leaf> = (0..times).map(|_| Leaf { range: n..n, ty: Some(from.clone()) }).collect();
        let value = Writer::new(self.scopes, &leaves, vec!["p".to_string(); times]).value(to);
        self.front.push((at, format!("typedef {typedef}; {alias} {name}({source}) {{ {alias} r = {value}; return r; }} ")));
        self.functions.insert((at, key), name.clone());
        Ok(name)
    }
}
