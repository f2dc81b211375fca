//! What naga has not learned and no code depends on: directives and attributes are blanked before it reads the text, byte for byte, so that
//! places stay; integers between stages become flat, which programs of before that rule leave out.

use crate::guard::{Token, tokens};
use naga::{Binding, Handle, Interpolation, ScalarKind, ShaderStage, Type, TypeInner};
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
        ],
    ),
];

/// The text as naga takes it.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if !["enable", "requires", "diagnostic"].iter().any(|w| text.contains(w)) {
        return Cow::Borrowed(text);
    }
    let tokens = tokens(text).0;
    let mut blank: Vec<Range<usize>> = Vec::new();
    let mut n = 0;
    while n < tokens.len() {
        let (word, next) = (tokens[n].text, tokens.get(n + 1).map_or("", |t| t.text));
        n = match KNOWN.iter().find(|(directive, _)| *directive == word) {
            Some((_, known)) => extensions(&tokens, n, known, &mut blank),
            None if word == "@" && next == "diagnostic" => attribute(&tokens, n, &mut blank),
            None => n + 1,
        };
    }
    if blank.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for range in blank {
        bytes[range].iter_mut().filter(|b| !b.is_ascii_whitespace()).for_each(|b| *b = b' ');
    }
    // Whole tokens have gone, so that this is text still.
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
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
    use super::text;

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
            ("enable subgroups", "enable subgroups"),
            ("enable f16;", "enable f16;"),
        ] {
            assert_eq!(text(from), to);
        }
    }
}
