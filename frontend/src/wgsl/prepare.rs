//! What naga has not learned and no code depends on: directives and attributes are blanked before it reads the text, byte for byte, so that
//! places stay; integers between stages become flat, which programs of before that rule leave out, and numbers of lanes unsigned.

use super::edits::{Edited, Edits};
use crate::guard::{Token, tokens};
use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{Arena, Binding, Block, Expression, Function, GatherMode, Handle, Interpolation, Scalar, ScalarKind, ShaderStage};
use naga::{Statement, Type, TypeInner};

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
const ELECTED: &str = "(true)";

/// The text without what naga does not know, place for place; none where it has none of that.
pub(super) fn known(text: &str) -> Option<Edited> {
    if !["enable", "requires", "diagnostic"].iter().any(|w| text.contains(w)) {
        return None;
    }
    let tokens = tokens(text).0;
    let mut edits = Edits::default();
    let mut n = 0;
    while n < tokens.len() {
        let (word, next) = (tokens[n].text, tokens.get(n + 1).map_or("", |t| t.text));
        n = match KNOWN.iter().find(|(directive, _)| *directive == word) {
            Some((_, known)) => extensions(&tokens, n, known, &mut edits),
            None if word == "@" && next == "diagnostic" => attribute(&tokens, n, &mut edits),
            None if word == ELECT && next == "(" && tokens.get(n + 2).is_some_and(|t| t.text == ")") => {
                edits.over.push((tokens[n].at..tokens[n + 2].at + 1, ELECTED));
                n + 3
            }
            None => n + 1,
        };
    }
    edits.apply(text)
}

/// `enable a, b;`: blanks those of the names that need nothing, and all of it where no other is left. Gives the token behind.
fn extensions(tokens: &[Token<'_>], first: usize, known: &[&str], edits: &mut Edits) -> usize {
    let Some(end) = tokens[first..].iter().position(|t| t.text == ";").map(|n| first + n) else { return first + 1 };
    let names: Vec<usize> = (first + 1..end).filter(|n| tokens[*n].text != ",").collect();
    let gone = |n: &usize| known.contains(&tokens[*n].text);
    let left = names.iter().filter(|n| !gone(n)).count();
    if left == 0 && !names.is_empty() {
        edits.over.push((tokens[first].at..tokens[end].at + 1, ""));
    } else {
        for n in names.iter().filter(|n| gone(n)) {
            // A list may end in a comma: the one behind goes, or the one before the last name.
            let to = tokens[n + 1];
            let from = if to.text == "," { tokens[*n].at } else { tokens[n - 1].at };
            edits.over.push((from..if to.text == "," { to.at + 1 } else { to.at }, ""));
        }
    }
    end + 1
}

/// `@diagnostic(…)`, which says what to warn of.
fn attribute(tokens: &[Token<'_>], first: usize, edits: &mut Edits) -> usize {
    let Some(end) = tokens[first..].iter().position(|t| t.text == ")").map(|n| first + n) else { return first + 1 };
    edits.over.push((tokens[first].at..tokens[end].at + 1, ""));
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

/// Gives a result to the end of a function that a loop in front of it keeps out of reach. naga puts a `return` without a value there, which its validator
/// takes for one of the program's.
pub(super) fn ends_of_functions(module: &mut naga::Module) {
    let functions = module.functions.iter_mut().map(|(_, f)| f);
    for f in functions.chain(module.entry_points.iter_mut().map(|e| &mut e.function)) {
        if let Some(result) = &f.result {
            end_behind_loop(&mut f.body, &mut f.expressions, result.ty);
        }
    }
}

fn end_behind_loop(block: &mut Block, expressions: &mut Arena<Expression>, result: Handle<Type>) {
    let added = block.span_iter().last().is_some_and(|(_, span)| !span.is_defined());
    match &mut block[..] {
        [.., Statement::Loop { body, continuing, break_if: None }, Statement::Return { value: value @ None }] if added => {
            let left = leaves(body) || leaves(continuing);
            *value = (!left).then(|| expressions.append(Expression::ZeroValue(result), naga::Span::UNDEFINED));
        }
        [.., last] if !matches!(last, Statement::Loop { .. }) => {
            blocks_in(last).into_iter().for_each(|b| end_behind_loop(b, expressions, result));
        }
        _ => {}
    }
}

/// Whether a block of a loop leaves it by `break`.
fn leaves(block: &mut Block) -> bool {
    block.iter_mut().any(|s| match s {
        Statement::Break => true,
        // What these leave is themselves.
        Statement::Loop { .. } | Statement::Switch { .. } => false,
        other => blocks_in(other).into_iter().any(leaves),
    })
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
    use super::known;

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
            assert_eq!(known(from).map_or(from.to_string(), |e| e.text), to);
        }
    }
}
