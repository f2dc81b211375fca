//! `bitcast` between halves and words. Of the type that a `bitcast` names naga keeps the kind of number alone: two halves are a float for it, and words
//! of two halves are two words. The text gets what means the same, `pack2x16float` and `unpack2x16float`, before naga reads it.
//!
//! Whether the operand of `bitcast<u32>(x)` is a pair of halves is a question of types. naga answers it, of a text that is made for the question and in
//! which every `bitcast` has the type that it names, whatever its operand is.

use super::edits::{Edited, Edits};
use super::{Readable, constants};
use crate::guard::{Token, tokens};
use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{Expression, Function, Module, ScalarKind, TypeInner};
use std::collections::BTreeMap;

/// Two and four halves in words, and the functions for four of them.
const PAIR: &str = "vec2<f16>(unpack2x16float(bitcast<u32>";
const QUAD: &str = "four_halves_of_two_words";
const WORDS: &str = "two_words_of_four_halves";
/// Within each other casts make the question longer by a factor each: so many have types, in so many bytes, and all together.
const DEPTH: usize = 4;
const COPIED: usize = 4 << 10;
const ASKED: usize = 32 << 10;
/// Functions of the language that the text is written with.
const USED: [&str; 4] = ["unpack2x16float", "pack2x16float", "select", "all"];

/// A type of which a cast is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Halves(u32),
    Words(u32),
}

/// One `bitcast<T>(x)` within a function.
#[derive(Debug)]
struct Cast {
    /// The first bytes of `bitcast`, of `(` and of `)`.
    word: usize,
    open: usize,
    close: usize,
    /// The type as the text has it, its numbers, and what it is.
    named: String,
    number: &'static str,
    to: Type,
}

/// The text without casts between halves and words; none where it has none.
pub(super) fn spelled_out(text: &str) -> Option<Edited> {
    if !text.contains("bitcast") || !text.contains("f16") {
        return None;
    }
    let tokens = tokens(text).0;
    let casts = casts(&tokens);
    // A program may have such names for itself.
    let own =
        |w: &[Token<'_>]| USED.contains(&w[1].text) && (matches!(w[0].text, "fn" | "let" | "var" | "const" | ">") || w[2].text == ":");
    if casts.is_empty() || tokens.windows(3).any(own) {
        return None;
    }
    let (operands, asked) = match operands(text, &casts) {
        Ok(types) => (types, None),
        Err(asked) => (BTreeMap::new(), Some(asked)),
    };
    let unique = |name: &str| {
        let mut name = name.to_string();
        while text.contains(&name) {
            name.push('_');
        }
        name
    };
    let (quad, words) = (unique(QUAD), unique(WORDS));
    let (mut edits, mut quads, mut pairs) = (Edits::default(), false, false);
    for (n, cast) in casts.iter().enumerate() {
        let (first, last) = match (cast.to, operands.get(&n)) {
            (to @ Type::Halves(_), Some(from)) if to == *from => (String::new(), ""),
            (Type::Halves(2), _) => (PAIR.to_string(), "))"),
            (Type::Halves(4), _) => {
                quads = true;
                (format!("{quad}(bitcast<vec2<u32>>"), ")")
            }
            (Type::Words(1), Some(Type::Halves(2))) => ("pack2x16float(vec2<f32>(".to_string(), "))"),
            (Type::Words(2), Some(Type::Halves(4))) => {
                pairs = true;
                (format!("{words}("), ")")
            }
            _ => continue,
        };
        // Words stay what they are cast to, of another operand.
        let (open, close) = match cast.to {
            Type::Halves(_) => (cast.open, cast.close + 1),
            Type::Words(_) => (cast.open + 1, cast.close),
        };
        if matches!(cast.to, Type::Halves(_)) {
            edits.over.push((cast.word..cast.open, ""));
        }
        edits.add.extend([(open, first), (close, last.to_string())]);
    }
    if edits.add.is_empty() {
        return asked;
    }
    if quads {
        let body = "return vec4<f16>(vec4<f32>(unpack2x16float(v.x), unpack2x16float(v.y)));";
        edits.add.push((text.len(), format!("\nfn {quad}(v: vec2<u32>) -> vec4<f16> {{ {body} }}")));
    }
    if pairs {
        let body = "return vec2<u32>(pack2x16float(vec2<f32>(v.xy)), pack2x16float(vec2<f32>(v.zw)));";
        edits.add.push((text.len(), format!("\nfn {words}(v: vec4<f16>) -> vec2<u32> {{ {body} }}")));
    }
    let spelled = edits.apply(text)?;
    // Where naga finds a mistake in both, the one that asks has the program's.
    asked.filter(|_| naga::front::wgsl::parse_str(&spelled.text).is_err()).or(Some(spelled))
}

/// The casts within functions, in the order of the text.
fn casts(tokens: &[Token<'_>]) -> Vec<Cast> {
    let mut aliases: BTreeMap<&str, String> = BTreeMap::new();
    for (n, t) in tokens.iter().enumerate() {
        if let ("alias", [name, equals, value @ ..]) = (t.text, &tokens[n + 1..])
            && equals.text == "="
        {
            aliases.insert(name.text, value.iter().take_while(|t| t.text != ";").map(|t| t.text).collect());
        }
    }
    let (mut out, mut braces) = (Vec::new(), 0usize);
    for (n, t) in tokens.iter().enumerate() {
        match t.text {
            "{" => braces += 1,
            "}" => braces = braces.saturating_sub(1),
            "bitcast" if braces > 0 => out.extend(cast(&tokens[n..], &aliases)),
            _ => {}
        }
    }
    out
}

/// The cast that tokens begin with.
fn cast(tokens: &[Token<'_>], aliases: &BTreeMap<&str, String>) -> Option<Cast> {
    let open = tokens.iter().position(|t| t.text == "(")?;
    let named: String = tokens[1..open].iter().map(|t| t.text).collect();
    let named = named.strip_prefix('<')?.strip_suffix('>')?.trim_end_matches(',').to_string();
    let mut depth = 0usize;
    let close = tokens[open..].iter().position(|t| {
        match t.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let (number, to) = type_of(&named, aliases)?;
    Some(Cast { word: tokens[0].at, open: tokens[open].at, close: tokens[open + close].at, named, number, to })
}

/// The numbers and the type that a name means.
fn type_of(name: &str, aliases: &BTreeMap<&str, String>) -> Option<(&'static str, Type)> {
    // An alias of an alias of itself is naga's to refuse.
    let mut name = name;
    for _ in 0..aliases.len() {
        name = aliases.get(name).map_or(name, |n| n);
    }
    let of = |lanes: u32, number: &str| match aliases.get(number).map_or(number, |n| n) {
        "f16" | "h" => Some(("f16", Type::Halves(lanes))),
        "f32" | "f" => Some(("f32", Type::Words(lanes))),
        "i32" | "i" => Some(("i32", Type::Words(lanes))),
        "u32" | "u" => Some(("u32", Type::Words(lanes))),
        _ => None,
    };
    let Some(vector) = name.strip_prefix("vec") else { return of(1, name) };
    let (lanes, number) = vector.split_at_checked(1)?;
    of(lanes.parse().ok()?, number.trim_matches(['<', '>', ',']))
}

/// The types of the operands, as far as naga knows them; or the text that asks for them, where naga finds a mistake in it: it stands at the
/// program's place.
fn operands(text: &str, casts: &[Cast]) -> Result<BTreeMap<usize, Type>, Edited> {
    let mut edits = Edits::default();
    for (n, cast) in casts.iter().enumerate() {
        let [before, behind] = typed(cast);
        edits.over.push((cast.word..cast.open, ""));
        let copy = copied(text, casts, n, 0);
        if copy.len() > COPIED {
            return Ok(BTreeMap::new());
        }
        edits.add.push((cast.open, format!("{before}bitcast<u32>")));
        edits.add.push((cast.close + 1, format!(" == bitcast<u32>{copy}{behind}")));
    }
    if edits.add.iter().map(|a| a.1.len()).sum::<usize>() > ASKED {
        return Ok(BTreeMap::new());
    }
    let Some(asked) = edits.apply(text) else { return Ok(BTreeMap::new()) };
    let mut read = Readable::unchanged(&asked.text);
    let mut module = read.parse();
    if module.is_err()
        && let Some(changed) = read.changed(&[constants::in_place, constants::at_run_time])
    {
        module = changed.parse();
        read = changed;
    }
    let Ok(module) = module else { return Err(asked) };
    let places = casts.iter().enumerate().map(|(n, cast)| (cast.open, n)).collect();
    let question = Question { asked: &asked, read: &read, places };
    let functions = module.functions.iter().map(|(_, f)| f);
    let all = functions.chain(module.entry_points.iter().map(|e| &e.function));
    Ok(all.flat_map(|f| question.answers(&module, f)).collect())
}

/// What stands around the comparison of a cast's operand with itself: of a truth value of any number of lanes any type is made.
fn typed(cast: &Cast) -> [String; 2] {
    [format!("{}({}(select(0u, 1u, all(", cast.named, cast.number), "))))".to_string()]
}

/// The operand of a cast in brackets, whose casts have the types that they name.
fn copied(text: &str, casts: &[Cast], n: usize, depth: usize) -> String {
    let cast = &casts[n];
    let (mut out, mut at, mut next) = (String::new(), cast.open, n + 1);
    while let Some(inner) = casts.get(next).filter(|inner| inner.word < cast.close && depth < DEPTH && out.len() <= COPIED) {
        let [before, behind] = typed(inner);
        let copy = copied(text, casts, next, depth + 1);
        out.push_str(&text[at..inner.word]);
        out.push_str(&format!("{before}bitcast<u32>{copy} == bitcast<u32>{copy}{behind}"));
        at = inner.close + 1;
        next = (next + 1..casts.len()).find(|n| casts[*n].word > inner.close).unwrap_or(casts.len());
    }
    out.push_str(&text[at..cast.close + 1]);
    out
}

/// The text in which casts have the types that they name, as naga reads it.
struct Question<'a> {
    asked: &'a Edited,
    read: &'a Readable<'a>,
    /// Where which cast's operand is looked at.
    places: BTreeMap<usize, usize>,
}

impl Question<'_> {
    /// The operands that a function's expressions show.
    fn answers(&self, module: &Module, f: &Function) -> Vec<(usize, Type)> {
        let Some((last, _)) = f.expressions.iter().next_back() else { return Vec::new() };
        let mut types = Typifier::new();
        if types.grow(last, &f.expressions, &ResolveContext::with_locals(module, &f.local_variables, &f.arguments)).is_err() {
            return Vec::new();
        }
        let answer = |(h, e): (naga::Handle<Expression>, &Expression)| {
            let Expression::As { expr, kind: ScalarKind::Uint, convert: None } = *e else { return None };
            let at = self.read.back(f.expressions.get_span(h)).to_range()?.start;
            let cast = self.places.get(&self.asked.back(at))?;
            let (lanes, scalar) = match *types.get(expr, &module.types) {
                TypeInner::Scalar(s) => (1, s),
                TypeInner::Vector { size, scalar } => (size as u32, scalar),
                _ => return None,
            };
            Some((*cast, if scalar.width == 2 { Type::Halves(lanes) } else { Type::Words(lanes) }))
        };
        f.expressions.iter().filter_map(answer).collect()
    }
}
