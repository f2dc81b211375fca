//! What naga has not learned and no code depends on: directives and attributes are blanked before it reads the text, byte for byte, so that
//! places stay; integers between stages become flat, which programs of before that rule leave out, and numbers of lanes unsigned.

use crate::guard::{Token, tokens};
use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{Arena, Binding, Block, Expression, Function, GatherMode, Handle, Interpolation, Scalar, ScalarKind, ShaderStage};
use naga::{Statement, Type, TypeInner};
use std::borrow::Cow;
use std::ops::Range;

/// Extensions whose programs naga takes, as long as it does not see their names.
const KNOWN: [(&str, &[&str]); 2] = [
    ("enable", &["subgroups"]),
    (
        "requires",
        &[
            "unrestricted_pointer_parameters",
            "subgroup_id",
            "subgroup_uniformity",
            "texture_and_sampler_let",
            "uniform_buffer_standard_layout",
            "linear_indexing",
            "immediate_address_space",
        ],
    ),
];

/// What naga does not know of subgroups, and what it is where a subgroup is one invocation.
const ELECT: &str = "subgroupElect";
const ELECTED: &[u8] = b"(true)";

/// The text as naga takes it.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if !["enable", "requires", "diagnostic"].iter().any(|w| text.contains(w)) {
        return Cow::Borrowed(text);
    }
    let tokens = tokens(text).0;
    let (mut blank, mut elects): (Vec<Range<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut n = 0;
    while n < tokens.len() {
        let (word, next) = (tokens[n].text, tokens.get(n + 1).map_or("", |t| t.text));
        n = match KNOWN.iter().find(|(directive, _)| *directive == word) {
            Some((_, known)) => extensions(&tokens, n, known, &mut blank),
            None if word == "@" && next == "diagnostic" => attribute(&tokens, n, &mut blank),
            None if word == ELECT && next == "(" && tokens.get(n + 2).is_some_and(|t| t.text == ")") => {
                elects.push(tokens[n].at);
                blank.push(tokens[n].at..tokens[n + 2].at + 1);
                n + 3
            }
            None => n + 1,
        };
    }
    if blank.is_empty() && elects.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for range in blank {
        bytes[range].iter_mut().filter(|b| !b.is_ascii_whitespace()).for_each(|b| *b = b' ');
    }
    for at in elects {
        bytes[at..at + ELECTED.len()].copy_from_slice(ELECTED);
    }
    // Whole tokens have gone, so that this is text still.
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Built-in functions that naga does not compute of constants, whose numbers are floats in all arguments or in so many.
const NOT_FOLDED: [(&str, usize); 21] = [
    ("mix", 3),
    ("smoothstep", 3),
    ("reflect", 2),
    ("refract", 3),
    ("faceForward", 3),
    ("transpose", 1),
    ("determinant", 1),
    ("modf", 1),
    ("frexp", 1),
    ("ldexp", 1),
    ("quantizeToF16", 1),
    ("pack4x8snorm", 1),
    ("pack4x8unorm", 1),
    ("pack2x16snorm", 1),
    ("pack2x16unorm", 1),
    ("pack2x16float", 1),
    ("dpdx", 1),
    ("dpdy", 1),
    ("fwidth", 1),
    ("dpdxFine", 1),
    ("dpdyFine", 1),
];

/// Functions of floats whose arguments are looked at, too, besides constructors.
const OF_FLOATS: [&str; 18] = [
    "abs",
    "sqrt",
    "pow",
    "exp",
    "exp2",
    "log",
    "log2",
    "sin",
    "cos",
    "tan",
    "floor",
    "ceil",
    "fract",
    "normalize",
    "length",
    "dot",
    "cross",
    "distance",
];

/// The text with what naga would have to compute of constants, and cannot, left to run time: numbers without a type become `f32`, and a `const` within a
/// function that is set from them a `let`. A `let` that is set to a number, which naga takes for a constant (so that it refuses a division by it if it is
/// 0), becomes a variable. With the places of the characters that the text has more; none where there is nothing of these.
pub(super) fn at_run_time(text: &str) -> Option<(String, Vec<usize>)> {
    let tokens = tokens(text).0;
    let mut suffixes = Vec::new();
    let (mut lets, mut variables, mut declared) = (Vec::new(), Vec::new(), None);
    let mut braces = 0usize;
    for (n, t) in tokens.iter().enumerate() {
        match t.text {
            "{" => braces += 1,
            "}" => braces = braces.saturating_sub(1),
            ";" => declared = None,
            "const" if braces > 0 => declared = Some(t.at),
            "let" if braces > 0 && is_set_to_a_number(&tokens[n..]) => variables.push(t.at),
            word => {
                let Some((_, floats)) = NOT_FOLDED.iter().find(|f| f.0 == word) else { continue };
                if braces > 0 && tokens.get(n + 1).is_some_and(|t| t.text == "(") {
                    floats_in(&tokens, n + 1, *floats, &mut suffixes);
                    lets.extend(declared.take());
                }
            }
        }
    }
    suffixes.sort_unstable();
    suffixes.dedup();
    if suffixes.is_empty() && lets.is_empty() && variables.is_empty() {
        return None;
    }
    let mut out = text.to_string();
    for at in lets {
        out.replace_range(at..at + "const".len(), "let  ");
    }
    for at in variables {
        out.replace_range(at..at + "let".len(), "var");
    }
    for at in suffixes.iter().rev() {
        out.insert(*at, 'f');
    }
    Some((out, suffixes))
}

/// The ends of numbers without a type among the arguments that begin at `open`, as far as they are surely floats.
fn floats_in(tokens: &[Token<'_>], open: usize, arguments: usize, out: &mut Vec<usize>) {
    // Of each bracket whether what stands right in it are floats.
    let mut inside = vec![true];
    let mut argument = 0;
    for n in open + 1..tokens.len() {
        let (word, before) = (tokens[n].text, tokens[n - 1].text);
        match word {
            "(" => {
                let named = before.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || before == ">";
                let floats = match before {
                    ">" => tokens.get(n.wrapping_sub(2)).is_some_and(|t| t.text == "f32"),
                    "f32" => true,
                    name if name.starts_with("vec") || name.starts_with("mat") => !name.ends_with(['i', 'u', 'h']),
                    name => !named || OF_FLOATS.contains(&name) || NOT_FOLDED.iter().any(|f| f.0 == name && f.0 != "ldexp"),
                };
                inside.push(floats && inside.last() == Some(&true));
            }
            "[" => inside.push(false),
            ")" | "]" => {
                inside.pop();
                if inside.is_empty() {
                    return;
                }
            }
            "," if inside.len() == 1 => {
                argument += 1;
                if argument == arguments {
                    return;
                }
            }
            number if inside.last() == Some(&true) && is_number_without_type(number) => out.push(tokens[n].at + number.len()),
            _ => {}
        }
    }
}

/// Whether tokens are `let NAME = NUMBER;`, also with a type or a sign.
fn is_set_to_a_number(tokens: &[Token<'_>]) -> bool {
    let end = tokens.iter().position(|t| t.text == ";").unwrap_or(0);
    let value = tokens[..end].iter().position(|t| t.text == "=").map(|n| &tokens[n + 1..end]);
    let is_number = |t: &Token<'_>| t.text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    matches!(value, Some([number] ) if is_number(number)) || matches!(value, Some([sign, number]) if sign.text == "-" && is_number(number))
}

fn is_number_without_type(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// `enable a, b;`: blanks those of the names that need nothing, and all of it where no other is left. Gives the token behind.
fn extensions(tokens: &[Token<'_>], first: usize, known: &[&str], blank: &mut Vec<Range<usize>>) -> usize {
    let Some(end) = tokens[first..].iter().position(|t| t.text == ";").map(|n| first + n) else { return first + 1 };
    let names: Vec<usize> = (first + 1..end).filter(|n| tokens[*n].text != ",").collect();
    let gone = |n: &usize| known.contains(&tokens[*n].text);
    let left = names.iter().filter(|n| !gone(n)).count();
    if left == 0 && !names.is_empty() {
        blank.push(tokens[first].at..tokens[end].at + 1);
    } else {
        for n in names.iter().filter(|n| gone(n)) {
            // A list may end in a comma: the one behind goes, or the one before the last name.
            let to = tokens[n + 1];
            let from = if to.text == "," { tokens[*n].at } else { tokens[n - 1].at };
            blank.push(from..if to.text == "," { to.at + 1 } else { to.at });
        }
    }
    end + 1
}

/// `@diagnostic(…)`, which says what to warn of.
fn attribute(tokens: &[Token<'_>], first: usize, blank: &mut Vec<Range<usize>>) -> usize {
    let Some(end) = tokens[first..].iter().position(|t| t.text == ")").map(|n| first + n) else { return first + 1 };
    blank.push(tokens[first].at..tokens[end].at + 1);
    end + 1
}

/// Makes integers that a vertex program hands to a fragment program flat where the text says nothing.
pub(super) fn flat_integers(module: &mut naga::Module) {
    let mut structures: Vec<Handle<Type>> = Vec::new();
    for ep in &mut module.entry_points {
        let (arguments, result) = (&mut ep.function.arguments, &mut ep.function.result);
        let between: Vec<(Handle<Type>, &mut Option<Binding>)> = match ep.stage {
            ShaderStage::Vertex => result.iter_mut().map(|r| (r.ty, &mut r.binding)).collect(),
            ShaderStage::Fragment => arguments.iter_mut().map(|a| (a.ty, &mut a.binding)).collect(),
            _ => Vec::new(),
        };
        for (ty, binding) in between {
            match binding {
                Some(b) => {
                    flatten(b, &module.types[ty].inner);
                }
                None => structures.push(ty),
            }
        }
    }
    for h in structures {
        let mut ty = module.types[h].clone();
        let TypeInner::Struct { members, .. } = &mut ty.inner else { continue };
        let mut changed = false;
        for m in members {
            if let Some(b) = &mut m.binding {
                changed |= flatten(b, &module.types[m.ty].inner);
            }
        }
        if changed && module.types.get(&ty).is_none() {
            module.types.replace(h, ty);
        }
    }
}

/// Makes numbers of lanes unsigned: WGSL has them signed, too, which naga's validator refuses.
pub(super) fn unsigned_lanes(module: &mut naga::Module) {
    let functions = module.functions.iter().map(|(_, f)| f);
    let all = functions.chain(module.entry_points.iter().map(|e| &e.function));
    let types: Vec<Option<Typifier>> = all.map(|f| types_beside_lanes(module, f)).collect();
    let functions = module.functions.iter_mut().map(|(_, f)| f);
    let all = functions.chain(module.entry_points.iter_mut().map(|e| &mut e.function));
    for (f, types) in all.zip(types) {
        let Some(types) = types else { continue };
        let signed = |h: Handle<Expression>| *types.get(h, &module.types) == TypeInner::Scalar(Scalar::I32);
        convert_lanes(&mut f.body, &mut f.expressions, &signed);
    }
}

/// The types of a function's expressions, if it asks other lanes for anything.
fn types_beside_lanes(module: &naga::Module, f: &Function) -> Option<Typifier> {
    let (last, _) = f.expressions.iter().next_back()?;
    if !f.expressions.iter().any(|(_, e)| matches!(e, Expression::SubgroupOperationResult { .. })) {
        return None;
    }
    let context = ResolveContext::with_locals(module, &f.local_variables, &f.arguments);
    let mut types = Typifier::new();
    types.grow(last, &f.expressions, &context).ok().map(|()| types)
}

/// Converts the lanes that statements name by signed numbers.
fn convert_lanes(block: &mut Block, expressions: &mut Arena<Expression>, signed: &dyn Fn(Handle<Expression>) -> bool) {
    for (mut s, span) in std::mem::take(block).span_into_iter() {
        blocks_in(&mut s).into_iter().for_each(|b| convert_lanes(b, expressions, signed));
        if let Some(lane) = lane_of(&mut s).filter(|h| signed(**h)) {
            let unsigned = Expression::As { expr: *lane, kind: ScalarKind::Uint, convert: Some(4) };
            *lane = expressions.append(unsigned, span);
            block.push(Statement::Emit(naga::Range::new_from_bounds(*lane, *lane)), span);
        }
        block.push(s, span);
    }
}

/// The lane that a statement names.
fn lane_of(s: &mut Statement) -> Option<&mut Handle<Expression>> {
    use GatherMode as G;
    let Statement::SubgroupGather { mode, .. } = s else { return None };
    match mode {
        G::Broadcast(h) | G::Shuffle(h) | G::ShuffleDown(h) | G::ShuffleUp(h) | G::ShuffleXor(h) | G::QuadBroadcast(h) => Some(h),
        G::BroadcastFirst | G::QuadSwap(_) => None,
    }
}

/// The blocks within a statement.
fn blocks_in(s: &mut Statement) -> Vec<&mut Block> {
    match s {
        Statement::Block(b) => vec![b],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Switch { cases, .. } => cases.iter_mut().map(|c| &mut c.body).collect(),
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        _ => Vec::new(),
    }
}
fn flatten(binding: &mut Binding, inner: &TypeInner) -> bool {
    match binding {
        Binding::Location { interpolation: how @ None, .. } if matches!(inner.scalar_kind(), Some(ScalarKind::Sint | ScalarKind::Uint)) => {
            *how = Some(Interpolation::Flat);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{at_run_time, text};

    #[test]
    fn constants_that_naga_does_not_compute_are_left_to_run_time() {
        let of = |t: &str| at_run_time(&format!("{{ {t} }}")).map(|(t, _)| t[2..t.len() - 2].to_string());
        for (from, to) in [
            ("let x = mix(1.0, 2, .5);", Some("let x = mix(1.0f, 2f, .5f);")),
            (
                "const a = 3; const x = mix(vec2(1, 0.5), vec2f(), a[2] * 3.0);",
                Some("const a = 3; let   x = mix(vec2(1f, 0.5f), vec2f(), a[2] * 3.0f);"),
            ),
            ("let x = ldexp(1.5, 3) + f32(vec2i(1, 2).x);", Some("let x = ldexp(1.5f, 3) + f32(vec2i(1, 2).x);")),
            ("let x = transpose(mat2x2<f32>(1, 2, 3, 4));", Some("let x = transpose(mat2x2<f32>(1f, 2f, 3f, 4f));")),
            ("let x = mix(1.0f, f(2), select(1h, 2h, true)) + 2.0;", None),
            ("let x = max(1.0, 2.0);", None),
            (
                "let x = 0; let y: u32 = 33u; let z = -1.5; let w = x; let v = 2 + x;",
                Some("var x = 0; var y: u32 = 33u; var z = -1.5; let w = x; let v = 2 + x;"),
            ),
        ] {
            assert_eq!(of(from).as_deref(), to);
        }
    }

    #[test]
    fn what_naga_lacks_is_blanked_and_the_rest_stays() {
        for (from, to) in [
            ("enable subgroups;\nfn f() {}", "                 \nfn f() {}"),
            ("enable f16, subgroups;", "enable f16           ;"),
            ("enable subgroups , f16;", "enable             f16;"),
            (
                "requires unrestricted_pointer_parameters,\n pointer_composite_access;",
                "requires                                 \n pointer_composite_access;",
            ),
            (
                "switch (x) { default @diagnostic(off, derivative_uniformity) { } }",
                "switch (x) { default                                         { } }",
            ),
            ("// enable subgroups;", "// enable subgroups;"),
            ("enable subgroups; a(subgroupElect( ));", "                  a((true)          );"),
            ("enable subgroups", "enable subgroups"),
            ("enable f16;", "enable f16;"),
        ] {
            assert_eq!(text(from), to);
        }
    }
}
