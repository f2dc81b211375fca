//! HLSL that is wrong in meaning, on which glslang ends the whole process instead of refusing the text: it is found before glslang is called. What is
//! refused here glslang cannot read; most of what is wrong it says itself.

use super::declared::is_sampler;
use super::destinations;
use super::edit::separated;
use super::first;
use super::hlsl::{body, is_matrix, is_number, is_statement};
use super::lex::{Kind, Token, close, open};
use super::names::{Names, Variable, structure};
use retroshade_ir::Stage;
use std::collections::BTreeSet;
use std::ops::Range;

/// How many elements an array may have: glslang writes some out one by one.
const MOST_ELEMENTS: i64 = 1 << 20;

pub(super) const TRUTHS: &str = "glslang does not translate what makes a matrix of truth values: set its rows";

type Mistake = (usize, String);

/// The first mistake of a text and its token; `entry` is the entry point.
pub(super) fn mistake(toks: &[Token<'_>], entry: (&str, Stage)) -> Option<Mistake> {
    let names = Names::new(toks);
    let c = Check { toks, names: &names, states: (0..toks.len()).any(|n| has_states(&toks[n..])) };
    let each = (0..toks.len()).find_map(|n| c.token(n));
    let written = destinations::mistake(toks, &names);
    let all = [each, written, first::mistake(toks), c.twice(), c.entry(entry.0), c.stream(entry.0).filter(|_| entry.1 == Stage::Geometry)];
    all.into_iter().flatten().min_by_key(|m| m.0)
}

/// Whether names of states begin here, which are no variables: `SamplerState s { AddressU = Wrap; }`, or what has other names of its own.
fn has_states(toks: &[Token<'_>]) -> bool {
    match toks {
        [t, ..]
            if matches!(t.text, "sampler_state" | "technique" | "technique10" | "technique11" | "pass" | "enum" | "template" | "asm") =>
        {
            true
        }
        [t, name, behind, ..] if is_sampler(t.text) && name.is_word() => {
            behind.is("{") || behind.is(":") && toks.iter().find(|t| t.is(";") || t.is("{")).is_some_and(|t| t.is("{"))
        }
        _ => false,
    }
}

struct Check<'a, 't> {
    toks: &'a [Token<'t>],
    names: &'a Names<'a, 't>,
    states: bool,
}

impl<'t> Check<'_, 't> {
    fn is(&self, n: usize, what: &str) -> bool {
        self.toks.get(n).is_some_and(|t| t.is(what))
    }

    fn token(&self, n: usize) -> Option<Mistake> {
        let t = &self.toks[n];
        match t.text {
            "++" | "--" => self.counted(n),
            "static" => self.static_function(n),
            text if is_primitive(text) => self.primitive(n),
            text if is_matrix(text) && text.starts_with(['i', 'u']) => {
                Some((n, format!("`{text}`: glslang does not translate matrices of integers: use vectors, one for each row")))
            }
            "==" | "!=" | "<" | ">" | "<=" | ">=" | "?" | "+" | "-" | "*" | "/" | "%" | "&&" | "||" => self.whole_matrix(n),
            "=" => self.truth_matrix(n),
            text if is_matrix(text) && text.starts_with("bool") && self.is(n + 2, "(") => self.truth_result(n),
            "VFACE" if n > 0 && self.is(n - 1, ":") => {
                Some((n, "`VFACE`: glslang takes this for a varying: a `bool` of `SV_IsFrontFace` says the same".to_string()))
            }
            text if n > 0 && self.is(n - 1, ":") && text.eq_ignore_ascii_case("SV_Coverage") => self.coverage(n),
            text if n > 0 && self.is(n - 1, ":") && (is_semantic(text, "SV_ClipDistance") || is_semantic(text, "SV_CullDistance")) => {
                self.clip(n)
            }
            text if n > 0 && self.is(n - 1, ":") && is_unknown_value(text) => {
                Some((n, format!("`{text}`: glslang knows no system value of this name")))
            }
            "[" => self.length(n).or_else(|| self.threads(n)),
            "TextureBuffer" if self.is(n + 1, "<") => {
                let of = self.toks.get(n + 2)?;
                let empty = self.names.is_structure(of.text) && self.names.members(of.text).next().is_none();
                (empty || !self.names.structures.contains(of.text) && self.names.is_unknown(of.text) || is_number(of.text))
                    .then(|| (n + 2, format!("`TextureBuffer` wants a structure with members, which `{}` is not", of.text)))
            }
            _ if t.is_word() && self.is(n + 1, "(") => {
                if n > 0 && self.toks[n - 1].is(".") {
                    self.method(n)
                } else {
                    self.function(n).or_else(|| self.matrix_and_more(n))
                }
            }
            _ if t.is_word() => self.unknown(n),
            _ => None,
        }
    }

    /// A matrix made of a matrix and more, of which glslang takes the first alone.
    fn matrix_and_more(&self, n: usize) -> Option<Mistake> {
        let args = separated(self.toks, n + 1);
        if !is_matrix(self.toks[n].text) || args.len() < 2 {
            return None;
        }
        let matrix = |arg: &Range<usize>| {
            let path = &self.toks[arg.clone()];
            match path {
                [ty, open, ..] if is_matrix(ty.text) && open.is("(") => close(path, 1) == path.len(),
                _ => self.names.type_of(path).is_some_and(|(ty, lengths)| lengths == 0 && is_matrix(ty)),
            }
        };
        let first = args.iter().find(|a| matrix(a))?.start;
        let of = self.toks[n].text;
        Some((first, format!("`{of}` of a matrix and more: glslang takes the matrix alone, name its rows or elements")))
    }

    /// A name that nothing in the text declares: what glslang takes it for does not bear everything.
    fn unknown(&self, n: usize) -> Option<Mistake> {
        let t = &self.toks[n];
        let (before, behind) = (self.toks.get(n.checked_sub(1)?)?, self.toks.get(n + 1)?);
        let within = |open: &[&str]| n > 1 && before.is("(") && open.contains(&self.toks[n - 2].text);
        let operand = matches!(before.text, "=" | "+" | "-" | "*" | "/" | "(" | "return" | "!" | "~" | "," | "&&" | "||");
        let used = matches!(
            behind.text,
            ";" | "." | "++" | "--" | "[" | ")" | "+" | "-" | "*" | "/" | "%" | "==" | "!=" | "<=" | ">=" | "&&" | "||"
        ) || behind.is(",") && before.is("(");
        // `(float)` is a cast unless a word stands before it; `register(t0, space1)`.
        let cast = before.is("(") && behind.is(")") && !(n > 1 && self.toks[n - 2].is_word());
        if self.states
            || !operand
            || !used
            || cast
            || within(&["register", "packoffset", "layout"])
            || is_statement(t.text)
            || is_known(t.text)
        {
            return None;
        }
        let open = self.toks[..n].iter().rposition(|t| matches!(t.text, ";" | "{" | "}" | "(" | "["))?;
        let placed = open > 0 && matches!(self.toks[open - 1].text, "register" | "packoffset" | "layout");
        let attribute = self.toks[..n].iter().rposition(|t| matches!(t.text, ";" | "{" | "}")).map_or(0, |k| k + 1);
        if placed || before.is(",") && self.is(open, "{") || self.is(attribute, "[") {
            return None;
        }
        if self.names.is_function(t.text) {
            return Some((n, format!("`{}` is a function, not a variable", t.text)));
        }
        self.names.is_unknown(t.text).then(|| (n, format!("`{}`: unknown variable", t.text)))
    }

    /// `++` and `--` behind what is no number.
    fn counted(&self, n: usize) -> Option<Mistake> {
        let sign = self.toks[n].text;
        let k = n.checked_sub(1)?;
        let t = &self.toks[k];
        if t.is(")") {
            let open = open(self.toks, k)?;
            let call = open > 0 && self.toks[open - 1].is_word() && !is_statement(self.toks[open - 1].text);
            return call.then(|| (n, format!("`{sign}` wants a variable, not what a function returns")));
        }
        if t.kind == Kind::Number {
            return Some((n, format!("`{sign}` wants a variable, not a number")));
        }
        if !t.is_word() {
            return None;
        }
        if is_number(t.text) {
            return Some((k, format!("`{sign}` wants a variable, not the type `{}`", t.text)));
        }
        let v = if k > 0 && self.toks[k - 1].is(".") { self.names.any_member(t.text)? } else { self.names.variable(t.text)? };
        if self.names.all(t.text).iter().all(|v| v.constant) {
            return Some((n, format!("`{sign}` wants a variable, and `{}` is a constant", t.text)));
        }
        let wrong = !v.lengths.is_empty() || self.names.is_structure(v.ty) || is_object(v.ty) || v.ty.starts_with("bool");
        wrong.then(|| (n, format!("`{sign}` wants a number, which `{}` is not", t.text)))
    }

    /// A function of a structure that has no object, and calls another one of that structure.
    fn static_function(&self, n: usize) -> Option<Mistake> {
        let brace = self.brace(n)?;
        structure(self.toks, brace)?;
        let (first, last) = (brace, close(self.toks, brace));
        let open = (n..last).take_while(|k| !matches!(self.toks[*k].text, ";" | "=" | "{")).find(|k| self.is(*k, "("))?;
        let body = (close(self.toks, open)..last).take_while(|k| !self.is(*k, ";")).find(|k| self.is(*k, "{"))?;
        let call = (body..close(self.toks, body)).find(|k| {
            let other = self.names.functions.get(self.toks[*k].text).is_some_and(|all| all.iter().any(|at| (first..last).contains(at)));
            other && self.is(k + 1, "(") && !matches!(self.toks[k - 1].text, "." | ":")
        })?;
        Some((call, format!("`{}`: glslang does not translate calls of members in functions that are `static`", self.toks[call].text)))
    }

    /// The brace in which a token stands.
    fn brace(&self, n: usize) -> Option<usize> {
        let mut depth = 0usize;
        (0..n).rev().find(|k| match self.toks[*k].text {
            "}" => {
                depth += 1;
                false
            }
            "{" if depth > 0 => {
                depth -= 1;
                false
            }
            "{" => true,
            _ => false,
        })
    }

    /// `triangle` and the like are for parameters, not for members.
    fn primitive(&self, n: usize) -> Option<Mistake> {
        let (before, behind) = (self.toks.get(n.checked_sub(1)?)?, self.toks.get(n + 1)?);
        let member =
            matches!(before.text, "{" | ";") && behind.is_word() && self.brace(n).is_some_and(|b| structure(self.toks, b).is_some());
        member.then(|| (n, format!("`{}` is for parameters of geometry programs, not for members", self.toks[n].text)))
    }

    /// Distances to planes are a number or a vector of them, or an array.
    fn clip(&self, n: usize) -> Option<Mistake> {
        let v = self.declared(n - 1)?;
        let at = v.at;
        let from = self.toks[..at].iter().rposition(|t| matches!(t.text, ";" | "{" | "(" | ",")).unwrap_or(0);
        let each = self.toks[from..at].iter().any(|t| is_primitive(t.text));
        // What comes from several vertices is taken as it is declared.
        let integer = each && (v.ty.starts_with("int") || v.ty.starts_with("uint") || v.ty.starts_with("bool"));
        let matrix = matches!(v.ty.as_bytes(), [.., b'1'..=b'4', b'x', b'1'..=b'4']);
        let wrong = integer || matrix || self.names.is_structure(v.ty) || is_object(v.ty) || v.lengths.len() > 1 + usize::from(each);
        wrong.then(|| (at, format!("`{}` wants numbers of floating point, or an array of them", self.toks[n].text)))
    }

    /// The length of an array that is declared.
    fn length(&self, n: usize) -> Option<Mistake> {
        let v = self.declared(n)?;
        let which = v.lengths.iter().position(|r| r.start == n)?;
        let inside = n + 1..v.lengths[which].end.saturating_sub(1).max(n + 1);
        let length = self.names.integer(&self.toks[inside])?;
        if length > MOST_ELEMENTS {
            return Some((n, format!("no machine has room for an array of {length} elements")));
        }
        (length <= 0).then(|| (n, format!("an array has one element or more, not {length}")))
    }

    /// An array of the name of another one in the same scope.
    fn twice(&self) -> Option<Mistake> {
        let arrays: BTreeSet<usize> = self.names.variables().filter(|v| !v.lengths.is_empty()).map(|v| v.at).collect();
        // Of each bracket that is open the arrays that stand right in it.
        let mut scopes = vec![BTreeSet::new()];
        for (n, t) in self.toks.iter().enumerate() {
            match t.text {
                "(" | "{" => scopes.push(BTreeSet::new()),
                ")" | "}" if scopes.len() > 1 => drop(scopes.pop()),
                name if arrays.contains(&n) && !scopes.last_mut()?.insert(name) => return Some((n, format!("`{name}` is declared twice"))),
                _ => {}
            }
        }
        None
    }

    /// An operator that makes a matrix of truth values, or reads one.
    fn whole_matrix(&self, n: usize) -> Option<Mistake> {
        let compares = matches!(self.toks[n].text, "==" | "!=" | "<" | ">" | "<=" | ">=");
        let wrong = |ty: &str| is_matrix(ty) && (compares || ty.starts_with('b'));
        let matrix = |path: &[Token<'t>]| self.names.type_of(path).is_some_and(|(ty, lengths)| lengths == 0 && wrong(ty));
        let behind = self.path_from(n + 1);
        let before = self.path_to(n);
        // Behind `?` stands what is chosen.
        let right = !self.is(n, "?") && (self.toks.get(n + 1..behind).is_some_and(matrix) || self.results_after(n + 1).is_some_and(wrong));
        let left = matrix(&self.toks[before..n]) || self.results_before(n).is_some_and(wrong);
        let sign = self.toks[n].text;
        let what = if compares { "compare matrices" } else { "compute with matrices of truth values" };
        (right || left).then(|| (n, format!("`{sign}`: glslang does not {what}: take rows")))
    }

    /// What a function gives whose call begins at `n`, within parentheses and behind signs, and is all that stands there.
    fn results_after(&self, mut n: usize) -> Option<&'t str> {
        let mut within = 0;
        while ["(", "+", "-", "!", "~"].iter().any(|sign| self.is(n, sign)) {
            within += usize::from(self.is(n, "("));
            n += 1;
        }
        let open = Some(n + 1).filter(|k| self.is(*k, "("))?;
        let call = close(self.toks, open);
        let behind = call + within;
        let whole = (call..behind).all(|k| self.is(k, ")")) && !self.is(behind, "[") && !self.is(behind, ".");
        whole.then(|| self.result(n))?
    }

    /// What a function gives whose call ends in front of `n`, within parentheses or not.
    fn results_before(&self, n: usize) -> Option<&'t str> {
        let open = open(self.toks, n.checked_sub(1).filter(|k| self.is(*k, ")"))?)?;
        let name = open.checked_sub(1)?;
        // `return (f())` is no call.
        if self.toks[name].is_word() && !self.is(name, "return") { self.result(name) } else { self.results_after(open) }
    }

    /// The type that the functions named at `n` give, where it is a matrix.
    fn result(&self, n: usize) -> Option<&'t str> {
        let of = self.names.functions.get(self.toks.get(n)?.text)?;
        of.iter().filter_map(|open| Some(self.toks.get(open.checked_sub(2)?)?.text)).find(|ty| is_matrix(ty))
    }

    /// Where the path `name[0].member` ends that begins at `n`.
    fn path_from(&self, n: usize) -> usize {
        let mut end = (n + 1).min(self.toks.len());
        loop {
            end = match self.toks.get(end).map(|t| t.text) {
                Some("[") => close(self.toks, end),
                Some(".") if end + 1 < self.toks.len() => end + 2,
                _ => return end,
            };
        }
    }

    /// Where the path begins that ends in front of `n`.
    fn path_to(&self, n: usize) -> usize {
        let mut first = n;
        while first > 0 {
            first -= 1;
            while self.is(first, "]") {
                let Some(open) = open(self.toks, first).filter(|k| *k > 0) else { return n };
                first = open - 1;
            }
            if first < 2 || !self.is(first - 1, ".") {
                break;
            }
            first -= 1;
        }
        first
    }

    /// A function's matrix of truth values that is no variable, nor made of each.
    fn truth_result(&self, n: usize) -> Option<Mistake> {
        let behind = close(self.toks, n + 2);
        let body = behind + body(self.toks.get(behind..)?)?;
        let values = (body..close(self.toks, body)).filter(|k| self.is(*k, "return")).map(|k| k + 1);
        values.into_iter().find(|k| !self.makes_truths(*k)).map(|k| (k, TRUTHS.to_string()))
    }

    /// A matrix of truth values that is set from something else than one or a constant.
    fn truth_matrix(&self, n: usize) -> Option<Mistake> {
        (self.is_truths(&self.toks[self.path_to(n)..n]) && !self.makes_truths(n + 1)).then(|| (n + 1, TRUTHS.to_string()))
    }

    /// Whether the value at `n` is a matrix of truth values that glslang translates.
    fn makes_truths(&self, n: usize) -> bool {
        let value = self.toks.get(n).map_or("", |t| t.text);
        let path = self.toks.get(n..self.path_from(n)).unwrap_or_default();
        self.is_truths(path) || matches!(value, "true" | "false" | "{") || self.names.functions.contains_key(value)
    }

    fn is_truths(&self, path: &[Token<'t>]) -> bool {
        self.names.type_of(path).is_some_and(|(ty, lengths)| lengths == 0 && is_matrix(ty) && ty.starts_with('b'))
    }

    /// What a pixel covers is written; glslang reads a value that nobody sets.
    fn coverage(&self, n: usize) -> Option<Mistake> {
        let from = self.toks[..n].iter().rposition(|t| matches!(t.text, "(" | "," | ";" | "{"))?;
        let read = matches!(self.toks[from].text, "(" | ",") && !self.toks[from..n].iter().any(|t| matches!(t.text, "out" | ")"));
        read.then(|| (n, "`SV_Coverage`: glslang does not translate what reads it".to_string()))
    }

    /// The variable whose name and lengths end in front of this token.
    fn declared(&self, n: usize) -> Option<&Variable<'t>> {
        let mut k = n;
        while k > 0 && self.is(k - 1, "]") {
            k = open(self.toks, k - 1)?;
        }
        let name = self.toks.get(k.checked_sub(1)?)?;
        self.names.all(name.text).iter().find(|v| v.at == k - 1)
    }

    /// `[numthreads(8, 8, 1)]`.
    fn threads(&self, n: usize) -> Option<Mistake> {
        if !self.is(n + 1, "numthreads") {
            return None;
        }
        let list = n + 2;
        if !self.is(list, "(") {
            return Some((n + 1, "`numthreads` wants three numbers in parentheses".to_string()));
        }
        separated(self.toks, list).into_iter().find_map(|p| {
            let wrong = p.clone().find(|k| self.varies(*k, &p, 0));
            wrong.map(|k| (k, format!("`numthreads` wants constants, which `{}` is not", self.toks[k].text)))
        })
    }

    /// Whether the token at `n`, of an expression, is certainly nothing constant.
    fn varies(&self, n: usize, expression: &Range<usize>, depth: usize) -> bool {
        const MOST: usize = 8;
        let t = &self.toks[n];
        let member = n > expression.start && self.toks[n - 1].is(".");
        match t.text {
            "++" | "--" | "=" | "{" => true,
            // `(1, 2)` is its second number, but no list of arguments.
            "," => self.toks[expression.start..n].iter().rposition(|t| t.is("(")).is_some_and(|k| {
                let open = expression.start + k;
                close(self.toks, open) > n && !(open > 0 && (self.toks[open - 1].is_word() || self.toks[open - 1].is(">")))
            }),
            text if !t.is_word() || member || is_number(text) || matches!(text, "true" | "false") => false,
            text if self.is(n + 1, "(") => self.names.functions.contains_key(text),
            text => match self.names.all(text) {
                [] => self.names.is_unknown(text) && !is_known(text),
                all => all.iter().all(|v| {
                    let value = v.value.clone();
                    !v.constant || depth < MOST && value.clone().any(|k| self.varies(k, &value, depth + 1))
                }),
            },
        }
    }

    /// A method that a buffer, a texture or a stream has.
    fn method(&self, n: usize) -> Option<Mistake> {
        let name = self.toks[n].text;
        if self.names.functions.contains_key(name) {
            return None;
        }
        let arguments = separated(self.toks, n + 1);
        if name.starts_with("Sample") || name.starts_with("Gather") || name.starts_with("Calculate") {
            let call = n > 2 && self.is(n - 2, ")") && open(self.toks, n - 2).is_some_and(|k| k > 0 && self.toks[k - 1].is_word());
            return call.then(|| (n, format!("`{name}`: glslang does not translate methods of textures that functions return")));
        }
        let (least, most) = operands(name)?;
        let given = arguments.len();
        if given < least || given > most {
            let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            let operands = if most == 1 { "operand" } else { "operands" };
            return Some((n, format!("`{name}` wants {wanted} {operands}, not {given}")));
        }
        let matrix = |p: &&Range<usize>| self.names.type_of(&self.toks[(*p).clone()]).is_some_and(|(ty, n)| n == 0 && is_matrix(ty));
        if let Some(p) = arguments.iter().find(matrix).filter(|_| name.starts_with("Load")) {
            return Some((p.start, format!("`{name}` wants numbers or vectors, not a matrix")));
        }
        let written: Vec<&Range<usize>> = match name {
            "GetDimensions" => arguments.iter().skip(usize::from(given > 2)).collect(),
            _ if name.starts_with("Interlocked") && most == given && name != "InterlockedCompareStore" => {
                arguments.last().into_iter().collect()
            }
            _ => Vec::new(),
        };
        let whole = |p: &Range<usize>| self.names.type_of(&self.toks[p.clone()]).is_some_and(|(ty, _)| self.names.is_structure(ty));
        if let Some(p) = written.into_iter().find(|p| self.is_value(p) || whole(p)) {
            return Some((p.start, format!("`{name}` writes into a variable, which this is not")));
        }
        match name {
            "Store2" | "Store3" | "Store4" => {
                let [_, value] = &arguments[..] else { return None };
                let number = value.len() == 1 && self.toks[value.start].kind == Kind::Number;
                number.then(|| (value.start, format!("`{name}`: glslang wants a vector of {} numbers", &name[5..])))
            }
            "Append" => self.appended(n, arguments.first()?),
            _ => None,
        }
    }

    /// What a geometry program appends is of its stream's type.
    fn appended(&self, n: usize, value: &Range<usize>) -> Option<Mistake> {
        let stream = self.names.variable(self.toks.get(n.checked_sub(2)?)?.text).filter(|v| v.ty.ends_with("Stream"))?;
        let [of] = &self.toks[stream.of.clone()] else { return None };
        let structure = self.names.is_structure(of.text);
        let toks = &self.toks[value.clone()];
        let number = toks.len() == 1 && toks[0].kind == Kind::Number;
        let wrong = match self.names.type_of(toks) {
            Some((_, lengths)) if lengths > 0 => true,
            Some((ty, _)) if structure => ty != of.text && (is_number(ty) || self.names.is_structure(ty)),
            Some((ty, _)) => is_number(of.text) && self.names.is_structure(ty),
            None => number && structure,
        };
        wrong.then(|| (value.start, format!("a stream of `{}` takes nothing else", of.text)))
    }

    /// A function that writes into its operands, or on whose operands glslang fails.
    fn function(&self, n: usize) -> Option<Mistake> {
        let name = self.toks[n].text;
        let arguments = separated(self.toks, n + 1);
        if let Some(all) = self.names.functions.get(name) {
            if all.contains(&(n + 1)) {
                return None;
            }
            let overloads: Vec<_> = all.iter().map(|open| separated(self.toks, *open)).filter(|p| p.len() == arguments.len()).collect();
            let writes = |p: &Range<usize>| self.toks[p.clone()].iter().take(3).any(|t| matches!(t.text, "out" | "inout"));
            let out = |k: usize| !overloads.is_empty() && overloads.iter().all(|o| writes(&o[k]));
            let (_, p) = arguments.iter().enumerate().find(|(k, p)| self.is_value(p) && out(*k))?;
            return Some((p.start, format!("`{name}` writes into a variable, which this is not")));
        }
        let written: &[usize] = match name {
            "GetRenderTargetSampleCount" | "GetRenderTargetSamplePosition" | "CheckAccessFullyMapped" => {
                return Some((n, format!("`{name}`: glslang does not translate this function")));
            }
            "modf" | "frexp" => &[1],
            "sincos" => &[1, 2],
            "InterlockedCompareExchange" => &[0, 3],
            _ if name.starts_with("Interlocked") => &[0, 2],
            "saturate" | "clip" | "isfinite" => &[],
            _ => return None,
        };
        if let Some(p) = written.iter().filter_map(|k| arguments.get(*k)).find(|p| self.is_value(p)) {
            return Some((p.start, format!("`{name}` writes into a variable, which this is not")));
        }
        let type_of = |p: &Range<usize>| self.names.type_of(&self.toks[p.clone()]);
        let first = arguments.first()?;
        match name {
            "saturate" | "clip" | "isfinite" => {
                let (ty, lengths) = type_of(first)?;
                let wrong = lengths > 0 || self.names.is_structure(ty) || is_object(ty) || name == "isfinite" && ty.contains('x');
                wrong.then(|| (first.start, format!("`{name}`: glslang does not translate this function for `{ty}`")))
            }
            "frexp" => {
                let p = arguments.get(1)?;
                let (ty, _) = type_of(p).filter(|(ty, _)| ty.starts_with("int") || ty.starts_with("uint"))?;
                Some((p.start, format!("`frexp`: glslang wants a variable of floating point for the exponent, not `{ty}`")))
            }
            // An element of a typed buffer has no address of its parts.
            _ if name.starts_with("Interlocked") => {
                let toks = &self.toks[first.clone()];
                let part = matches!(toks, [_, open, .., bracket, dot, _] if open.is("[") && bracket.is("]") && dot.is("."));
                let vectors = |v: &Variable<'_>| self.toks[v.of.clone()].last().is_none_or(|t| t.text.ends_with(['2', '3', '4']));
                let buffer = |v: &Variable<'_>| v.ty.starts_with("RWTexture") || v.ty == "RWBuffer";
                let typed = self.names.variable(toks.first()?.text).is_some_and(|v| buffer(v) && vectors(v));
                (part && typed).then(|| (first.start, format!("`{name}` wants a whole element of a texture or buffer")))
            }
            _ => None,
        }
    }

    /// Whether an expression is certainly a value that nothing can be written into.
    fn is_value(&self, p: &Range<usize>) -> bool {
        let toks = &self.toks[p.clone()];
        let literal = |t: &Token<'_>| t.kind == Kind::Number || matches!(t.text, "true" | "false" | "\"");
        let mut n = 0;
        while n < toks.len() {
            n = match toks[n].text {
                "(" | "[" => close(toks, n),
                "+" | "-" | "*" | "/" | "%" | "<" | ">" | "==" | "!=" | "&&" | "||" | "?" if n > 0 => return true,
                _ => n + 1,
            };
        }
        toks.first().is_some_and(literal)
    }

    /// The parameters and the result of the entry point.
    fn entry(&self, name: &str) -> Option<Mistake> {
        // glslang makes a program that does nothing of a text without it.
        if !self.toks.windows(2).any(|w| w[0].is(name) && w[1].is("(")) && !self.toks.is_empty() {
            let known: Vec<_> = self.names.functions.keys().take(8).map(|f| format!("`{f}`")).collect();
            let known = if known.is_empty() { "no function".to_string() } else { known.join(", ") };
            return Some((0, format!("the text has no entry point `{name}` (see --entry): it has {known}")));
        }
        self.names.functions.get(name)?.iter().find_map(|open| {
            let first = self.toks[..open - 1].iter().rposition(|t| matches!(t.text, ";" | "}" | "]")).map_or(0, |n| n + 1);
            let parameters = separated(self.toks, *open)
                .into_iter()
                .map(|p| p.take_while(|n| !self.is(*n, ":") && !self.is(*n, "=")).collect::<Vec<_>>());
            let unfit = |words: &[usize]| {
                let (n, what) = words.iter().find_map(|n| Some((*n, self.unfit(self.toks[*n].text, 0)?)))?;
                Some((n, format!("glslang does not translate what the entry point gets or gives: `{}` {what}", self.toks[n].text)))
            };
            let result = std::iter::once((first..open - 1).collect::<Vec<_>>());
            result.chain(parameters).find_map(|words| unfit(&words).or_else(|| self.corners(&words)))
        })
    }

    /// A geometry program gives nothing but what it appends to its stream.
    fn stream(&self, name: &str) -> Option<Mistake> {
        self.names.functions.get(name)?.iter().find_map(|open| {
            let streams = self.toks[*open..close(self.toks, *open)].iter().filter(|t| t.text.ends_with("Stream")).count();
            let void = *open > 1 && self.is(open - 2, "void");
            let m = "a geometry program is `void` and has one stream, as in `inout TriangleStream<Vertex> out`";
            (streams != 1 || !void).then(|| (open - 1, format!("`{name}`: {m}")))
        })
    }

    /// A geometry program's primitive that is no array.
    fn corners(&self, words: &[usize]) -> Option<Mistake> {
        let [primitive, .., ty, name] = words else { return None };
        let primitive = is_primitive(self.toks[*primitive].text);
        let plain = is_number(self.toks[*ty].text) || self.names.is_structure(self.toks[*ty].text);
        let name_of = self.toks[*name].text;
        (primitive && plain && self.toks[*name].is_word())
            .then(|| (*name, format!("`{name_of}` wants as many elements as the primitive has corners")))
    }

    /// Why a type does not stand between stages.
    fn unfit(&self, ty: &str, depth: usize) -> Option<&'static str> {
        const MOST: usize = 16;
        if is_buffer(ty) {
            return Some("is a buffer");
        }
        if matches!(ty, "InputPatch" | "OutputPatch") {
            return Some("belongs to tessellation, which none of the machines has");
        }
        if depth == MOST || !self.names.is_structure(ty) {
            return None;
        }
        self.names.members(ty).find_map(|m| {
            if is_buffer(m.ty) {
                Some("has a buffer among its members")
            } else if m.lengths.iter().any(|l| l.len() == 2) {
                Some("has an array without a length")
            } else {
                self.unfit(m.ty, depth + 1)
            }
        })
    }
}

/// How few and how many operands a method of the language has, of whichever object it is.
fn operands(method: &str) -> Option<(usize, usize)> {
    Some(match method {
        "Load" => (1, 4),
        "Load2" | "Load3" | "Load4" => (1, 2),
        "Store" | "Store2" | "Store3" | "Store4" => (2, 2),
        "GetDimensions" => (1, 5),
        "InterlockedAdd"
        | "InterlockedAnd"
        | "InterlockedMax"
        | "InterlockedMin"
        | "InterlockedOr"
        | "InterlockedXor"
        | "InterlockedExchange" => (2, 3),
        "InterlockedCompareExchange" => (4, 4),
        "InterlockedCompareStore" => (3, 3),
        "Append" => (1, 1),
        "Consume" | "IncrementCounter" | "DecrementCounter" | "RestartStrip" => (0, 0),
        _ => return None,
    })
}

/// Whether this is a semantic, whatever its number.
fn is_semantic(word: &str, semantic: &str) -> bool {
    word.trim_end_matches(|c: char| c.is_ascii_digit()).eq_ignore_ascii_case(semantic)
}

/// Whether a semantic is a system value of which there is one.
pub(super) fn is_single_value(word: &str) -> bool {
    const KNOWN: &str = "POSITION VERTEXID VIEWPORTARRAYINDEX TESSFACTOR SAMPLEINDEX RENDERTARGETARRAYINDEX PRIMITIVEID \
        OUTPUTCONTROLPOINTID ISFRONTFACE VIEWID INSTANCEID INSIDETESSFACTOR GSINSTANCEID DISPATCHTHREADID GROUPTHREADID GROUPINDEX GROUPID \
        DOMAINLOCATION DEPTH COVERAGE DEPTHGREATEREQUAL DEPTHLESSEQUAL STENCILREF";
    word.to_ascii_uppercase().strip_prefix("SV_").is_some_and(|name| KNOWN.split(' ').any(|known| known == name))
}

/// Whether a semantic begins as system values do and is none that glslang knows; it would take it for an ordinary one.
fn is_unknown_value(word: &str) -> bool {
    let counted = ["SV_TARGET", "SV_CLIPDISTANCE", "SV_CULLDISTANCE"].iter().any(|s| is_semantic(word, s));
    word.to_ascii_uppercase().starts_with("SV_") && !counted && !is_single_value(word)
}

/// Whether this says what a geometry program's vertices make up.
fn is_primitive(word: &str) -> bool {
    matches!(word, "triangle" | "triangleadj" | "line" | "lineadj" | "point")
}

fn is_buffer(ty: &str) -> bool {
    ty.ends_with("StructuredBuffer") || ty.ends_with("ByteAddressBuffer")
}

/// Whether this is a type of what is no number.
fn is_object(ty: &str) -> bool {
    let begins = |of: &[&str]| of.iter().any(|o| ty.starts_with(o));
    is_buffer(ty)
        || begins(&["Texture", "RWTexture", "sampler", "Sampler", "RasterizerOrdered"])
        || matches!(ty, "Buffer" | "RWBuffer" | "string")
}

/// Words of the language that stand where names of variables do.
fn is_known(word: &str) -> bool {
    matches!(word, "true" | "false" | "this" | "NULL" | "dword" | "vector" | "matrix" | "string" | "void" | "unsigned" | "snorm" | "unorm")
        || is_number(word)
        || is_object(word)
        || word.starts_with("min1")
        || word.ends_with("_t")
}
