//! The entry point of a Cg program, called by one of HLSL's. Cg's takes structures, uniforms and samplers in any mixture and names what it meets
//! by semantics of which several may be left out or stand twice; HLSL's has a parameter of its own for each of these, at a location.
//!
//! ```text
//! Out main(in In i, uniform sampler2D s : TEXUNIT2, uniform float k)     ─▶ uniform sampler2D s : register(s2); uniform float k; Out main(in In i)
//!                                                                          void entry(in float2 uv, out float4 c) { In i; i.uv = uv; … }
//! ```

use super::cg::Edit;
use super::declared::{Leaf, Variable, elements, is_qualifier, is_sampler, semantic, variables};
use super::hlsl::{body, names_function};
use super::interface::Wrapper;
use super::lex::{Kind, Token, close};
use super::upgrade::free;
use retroshade_ir::Stage;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Structures within structures.
const MAX_DEPTH: usize = 8;
/// A function with its body.
#[derive(Clone, Debug)]
struct Function {
    /// From its result's type on.
    first: usize,
    open: usize,
    /// Behind the parameters.
    end: usize,
    body: usize,
    behind: usize,
}

/// A structure that is taken apart, by the name of its variable and where that holds.
struct Apart<'t> {
    name: &'t str,
    scope: Range<usize>,
    leaves: Vec<Leaf<'t>>,
    /// The token at which it is declared.
    declared: usize,
    used: BTreeSet<usize>,
}

struct Program<'a, 't> {
    text: &'t str,
    toks: &'a [Token<'t>],
    stage: Stage,
    structs: BTreeMap<&'t str, Vec<Variable<'t>>>,
    functions: Vec<Function>,
    /// Declarations of variables outside functions, with the first token of each.
    globals: Vec<(usize, Variable<'t>)>,
}

/// The text's edits and what stands behind it, if the entry point's declaration can be read.
pub(super) fn called<'t>(text: &'t str, toks: &[Token<'t>], name: &str, stage: Stage) -> Option<(Vec<Edit>, String)> {
    if !matches!(stage, Stage::Vertex | Stage::Fragment) {
        return None;
    }
    let mut p = Program { text, toks, stage, structs: BTreeMap::new(), functions: Vec::new(), globals: Vec::new() };
    p.read();
    let own = p.functions.iter().position(|f| toks[f.open - 1].is(name))?;
    Some(p.rewrite(own))
}

impl<'t> Program<'_, 't> {
    fn is(&self, n: usize, what: &str) -> bool {
        self.toks.get(n).is_some_and(|t| t.is(what))
    }

    /// Reads what stands outside functions.
    fn read(&mut self) {
        let toks = self.toks;
        let (mut n, mut first) = (0, 0);
        while n < toks.len() {
            if toks[n].kind == Kind::Directive {
                n += 1;
                first = if first + 1 == n { n } else { first };
                continue;
            }
            match toks[n].text {
                "struct" if self.is(n + 2, "{") => {
                    let end = close(toks, n + 2);
                    let members = toks[n + 3..end.saturating_sub(1).max(n + 3)].split(|t| t.is(";")).flat_map(variables);
                    self.structs.insert(toks[n + 1].text, members.collect());
                    n = end;
                }
                "(" if n > 1 && names_function(&toks[n - 2], &toks[n - 1]) => {
                    let end = close(toks, n);
                    if let Some(b) = body(&toks[end..]) {
                        let behind = close(toks, end + b);
                        self.functions.push(Function { first, open: n, end, body: end + b, behind });
                        (n, first) = (behind, behind);
                    } else {
                        n = end;
                    }
                }
                ";" => {
                    let declaration = &toks[first..n];
                    let other = |t: &Token<'_>| matches!(t.text, "typedef" | "struct" | "(") || t.kind == Kind::Directive;
                    // A value's parentheses come behind its `=`.
                    if !declaration.iter().take_while(|t| !t.is("=") && !t.is(":")).any(other) {
                        self.globals.extend(variables(declaration).into_iter().map(|v| (first, v)));
                    }
                    n += 1;
                    first = n;
                }
                "{" if !toks[first..n].iter().any(|t| t.is("=")) => {
                    n = close(toks, n);
                    first = n;
                }
                "(" | "[" | "{" => n = close(toks, n),
                _ => n += 1,
            }
        }
    }

    fn leaves(&self, v: &Variable<'t>) -> Vec<Leaf<'t>> {
        let mut out = Vec::new();
        self.add_leaves(v, &[], false, &mut out);
        out
    }

    fn add_leaves(&self, v: &Variable<'t>, within: &[&'t str], uniform: bool, out: &mut Vec<Leaf<'t>>) {
        let path = [within, &[v.name]].concat();
        let uniform = uniform || v.is_uniform();
        match self.structs.get(v.ty).filter(|_| v.dims.is_empty() && path.len() < MAX_DEPTH) {
            Some(members) => members.iter().for_each(|m| self.add_leaves(m, &path, uniform, out)),
            None => out.push(Leaf { path, packing: v.packing(), ty: v.ty, dims: v.dims.clone(), uniform, semantic: v.semantic }),
        }
    }

    /// The leaves of a structure that cannot stay whole: one with samplers, or of which the caller gives only a part.
    fn apart(&self, v: &Variable<'t>) -> Option<Vec<Leaf<'t>>> {
        let leaves = self.leaves(v);
        let whole = v.has("uniform") || !leaves.iter().any(|l| l.uniform);
        let samplers = leaves.iter().any(|l| is_sampler(l.ty));
        (self.structs.contains_key(v.ty) && (samplers || !whole)).then_some(leaves)
    }

    /// What stands between the commas in the parentheses at `open`.
    fn separated(&self, open: usize) -> Vec<Range<usize>> {
        let mut out = Vec::new();
        let end = close(self.toks, open).saturating_sub(1);
        let (mut n, mut from) = (open + 1, open + 1);
        while n <= end {
            match self.toks[n].text {
                "," | ")" => {
                    if n > from {
                        out.push(from..n);
                    }
                    from = n + 1;
                    n += 1;
                }
                "(" | "[" | "{" => n = close(self.toks, n),
                _ => n += 1,
            }
        }
        out
    }

    fn parameters(&self, f: &Function) -> Vec<(Range<usize>, Variable<'t>)> {
        let read = |range: Range<usize>| Some((range.clone(), variables(&self.toks[range]).into_iter().next()?));
        self.separated(f.open).into_iter().filter_map(read).collect()
    }

    /// Whether a variable is set somewhere in a range.
    fn assigned(&self, name: &str, range: Range<usize>) -> bool {
        let sets = |t: &str| matches!(t, "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | ">>=" | "++" | "--");
        range.clone().any(|n| {
            if !self.toks[n].is(name) || names_another(self.toks, n) {
                return false;
            }
            let mut behind = n + 1;
            while self.is(behind, ".") || self.is(behind, "[") {
                behind = if self.is(behind, ".") { behind + 2 } else { close(self.toks, behind) };
            }
            let before = n.checked_sub(1).is_some_and(|n| matches!(self.toks[n].text, "++" | "--"));
            before || self.toks.get(behind).is_some_and(|t| sets(t.text))
        })
    }

    /// The tokens in words, with as many lines as they had.
    fn blank(&self, range: Range<usize>) -> Edit {
        let bytes = self.toks[range.start].at..self.toks[range.end - 1].end();
        let lines = self.text[bytes.clone()].chars().filter(|c| *c == '\n').collect();
        (bytes, lines)
    }

    fn rewrite(&self, own: usize) -> (Vec<Edit>, String) {
        let toks = self.toks;
        let f = &self.functions[own];
        let mut edits = Vec::new();
        let reached = self.reached(own);
        let (live, dead): (Vec<&Function>, Vec<&Function>) = self.functions.iter().partition(|g| reached.contains(&g.open));
        edits.extend(dead.iter().map(|g| self.blank(g.first..g.behind)));
        let mut apart = Vec::new();
        let mut samplers = Samplers::default();
        let everything = 0..toks.len();
        let mut aliases = Vec::new();
        for (first, v) in &self.globals {
            let at = first + v.named;
            match self.apart(v) {
                Some(leaves) => {
                    apart.push((Apart::new(v.name, everything.clone(), leaves, *first), Some(first + v.tokens.start..first + v.tokens.end)))
                }
                None if self.alias(own, v).is_some() => aliases.extend(self.alias(own, v).map(|set| (*first, v, set))),
                None if is_sampler(v.ty) && !v.has("static") => {
                    samplers.add(*first, v, Some(toks[at].end()..toks[first + v.tokens.end - 1].end()))
                }
                None => {}
            }
        }
        for g in live.iter().filter(|g| g.open != f.open) {
            for (range, v) in self.parameters(g) {
                if let Some(leaves) = self.apart(&v).filter(|l| l.iter().any(|l| is_sampler(l.ty))) {
                    apart.push((Apart::new(v.name, g.open..g.behind, leaves, range.start), Some(range)));
                }
            }
        }
        let mut wrapper = Wrapper::default();
        let mut front = String::new();
        let mut gone = Vec::new();
        let mut hoisted: Vec<(usize, Variable<'t>, String)> = Vec::new();
        for (range, v) in self.parameters(f) {
            if let Some(leaves) = self.apart(&v) {
                apart.push((Apart::new(v.name, f.open..f.behind, leaves, range.start), None));
                gone.push(range);
            } else if v.is_uniform() {
                let (own, at) = (self.assigned(v.name, f.body..f.behind), range.start);
                // Behind the name and its semantic stands a first value.
                let tokens = &toks[range.clone()];
                let value = tokens.iter().position(|t| t.is("=")).map_or(String::new(), |n| " ".to_string() + &spelt(&tokens[n..]));
                if own {
                    // The function has a copy of its own to change.
                    let (bytes, lines) = self.blank(range.clone());
                    edits.push((bytes, format!("{} {}{}{lines}", v.ty, v.name, v.dims)));
                    wrapper.arguments.push(v.name.to_string());
                } else {
                    gone.push(range);
                }
                hoisted.push((at, v, value));
            } else {
                self.meet_parameter(&v, &mut wrapper);
            }
        }
        for (at, v, value) in &hoisted {
            if is_sampler(v.ty) {
                samplers.add(*at, v, None);
            } else {
                front += &format!("uniform {}{} {}{}{value}; ", v.packing(), v.ty, v.name, v.dims);
            }
        }
        self.result(f, &mut wrapper);
        edits.extend(self.without(f, &gone));
        // A sampler that is set stands for the other one.
        for (first, v, set) in aliases {
            let of = toks[set.start + 2].text;
            let leaf = apart.iter_mut().find_map(|(a, _)| {
                let l = a.leaf(toks, set.start + 2).0.filter(|_| a.names(toks, set.start + 2))?;
                a.used.insert(l);
                Some(a.leaves[l].alone())
            });
            let name = leaf.unwrap_or_else(|| of.to_string());
            let declared = first..first + v.tokens.end + 1;
            for n in (0..toks.len()).filter(|n| toks[*n].is(v.name) && !names_another(toks, *n) && !set.contains(n)) {
                edits.push((toks[n].at..toks[n].end(), name.clone()));
            }
            edits.push(self.blank(declared));
            edits.push(self.blank(set));
        }
        // What is used of the structures that are taken apart.
        for n in 0..toks.len() {
            let Some(k) = (0..apart.len()).rev().find(|k| apart[*k].0.names(toks, n)) else { continue };
            let a = &mut apart[k].0;
            if names_another(toks, n) {
                continue;
            }
            let (leaf, behind) = a.leaf(toks, n);
            match leaf {
                Some(l) => {
                    a.used.insert(l);
                    edits.push((toks[n].at..toks[behind - 1].end(), a.leaves[l].alone()));
                }
                None => {
                    a.used.extend(0..a.leaves.len());
                    let all: Vec<String> = a.leaves.iter().map(Leaf::alone).collect();
                    edits.push((toks[n].at..toks[n].end(), all.join(", ")));
                }
            }
        }
        for (a, range) in &apart {
            if a.scope.start > 0 && a.scope.start != f.open {
                let all: Vec<String> = a.leaves.iter().map(|l| format!("{} {}{}", l.ty, l.alone(), l.dims)).collect();
                let range = range.clone().unwrap_or(0..1);
                let (bytes, lines) = self.blank(range);
                edits.push((bytes, all.join(", ") + &lines));
                continue;
            }
            if let Some(range) = range {
                // Of several variables of one declaration all are structures.
                edits.push(self.blank(range.clone()));
            }
            for l in a.used.iter().map(|l| &a.leaves[*l]) {
                let v = Variable {
                    qualifiers: Vec::new(),
                    ty: l.ty,
                    name: "",
                    dims: l.dims.clone(),
                    semantic: l.semantic,
                    tokens: 0..0,
                    named: 0,
                };
                if is_sampler(l.ty) {
                    samplers.add_named(a.declared, &v, l.alone(), None);
                } else if l.uniform {
                    front += &format!("uniform {}{} {}{}; ", l.packing, l.ty, l.alone(), l.dims);
                } else {
                    front += &format!("static {} {}{}; ", l.ty, l.alone(), l.dims);
                    wrapper.input(self.stage, l, &l.alone());
                }
            }
        }
        // Functions in front of the entry point may read them.
        let mut top = String::new();
        samplers.finish(&mut top, &mut edits);
        let at = toks.iter().find(|t| t.kind != Kind::Directive).map_or(0, |t| t.at);
        edits.push((at..at, top));
        for (first, v) in &self.globals {
            let constant = v.is_uniform() && is_sampler(v.ty) || v.has("static") || v.has("const");
            if !constant && self.functions.iter().any(|g| self.assigned(v.name, g.body..g.behind)) {
                edits.push(self.own_copy(*first, v));
            }
        }
        // HLSL's entry point has its name.
        let name = toks[f.open - 1].text;
        edits.extend(
            (1..toks.len()).filter(|n| self.is(*n, "(") && self.is(n - 1, name)).map(|n| (toks[n - 1].at..toks[n - 1].end(), free(name))),
        );
        let at = toks[f.first..].iter().find(|t| t.kind != Kind::Directive).map_or(0, |t| t.at);
        edits.push((at..at, front));
        (edits, wrapper.text(&free(name), self.stage))
    }

    /// Where a sampler outside functions is set to another one, if the entry point does it once and nothing else does: `global = PASS.decal;`.
    fn alias(&self, own: usize, v: &Variable<'t>) -> Option<Range<usize>> {
        let body = self.functions[own].body..self.functions[own].behind;
        let set = |n: &usize| self.toks[*n].is(v.name) && self.is(n + 1, "=") && !names_another(self.toks, *n);
        let mut all = (0..self.toks.len()).filter(set);
        let start = all.next().filter(|n| is_sampler(v.ty) && v.dims.is_empty() && v.tokens.start == 0 && body.contains(n))?;
        let end = start + self.toks[start..].iter().position(|t| t.is(";"))?;
        // The declaration is of this one alone.
        let alone = !self.globals.iter().any(|(_, o)| o.name != v.name && o.tokens.start == v.tokens.end + 1 && o.ty == v.ty);
        let named = self.toks[start + 2..end].iter().enumerate().all(|(k, t)| if k % 2 == 0 { t.is_word() } else { t.is(".") });
        (alone && named && all.next().is_none()).then_some(start..end + 1)
    }

    /// A uniform that the program sets begins as what the caller gives.
    fn own_copy(&self, first: usize, v: &Variable<'t>) -> Edit {
        let tokens = &self.toks[first + v.tokens.start..first + v.tokens.end];
        let (bytes, lines) = self.blank(first + v.tokens.start..first + v.tokens.end);
        let value = tokens.iter().position(|t| t.is("=")).map_or(String::new(), |n| " ".to_string() + &spelt(&tokens[n..]));
        let name = free(v.name);
        (bytes, format!("uniform {}{} {name}{}{value}; static {} {}{} = {name}{lines}", v.packing(), v.ty, v.dims, v.ty, v.name, v.dims))
    }

    /// The functions that the program may call, by their first parenthesis. Others are of other programs in the same text, whose parameters HLSL
    /// does not have, and of libraries for other profiles.
    fn reached(&self, own: usize) -> BTreeSet<usize> {
        let within = |n: usize| self.functions.iter().any(|g| (g.first..g.behind).contains(&n));
        let mut reached = BTreeSet::from([self.functions[own].open]);
        let mut open: Vec<usize> = (0..self.toks.len()).filter(|n| !within(*n)).collect();
        open.extend(self.functions[own].open..self.functions[own].behind);
        while let Some(n) = open.pop() {
            if !self.toks[n].is_word() || !self.is(n + 1, "(") {
                continue;
            }
            let named: Vec<&Function> = self.functions.iter().filter(|g| self.toks[g.open - 1].is(self.toks[n].text)).collect();
            let given = self.separated(n + 1).len();
            let fits = |g: &Function| self.separated(g.open).len() == given;
            // With first values of parameters less may be given.
            let all = !named.iter().any(|g| fits(g));
            for g in named.into_iter().filter(|g| all || fits(g)) {
                if reached.insert(g.open) {
                    open.extend(g.open..g.behind);
                }
            }
        }
        reached
    }

    /// The parameter list without some of its parameters.
    fn without(&self, f: &Function, gone: &[Range<usize>]) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut stays = false;
        for (range, _) in self.parameters(f) {
            // A comma goes with the parameter behind it; of the ones that stay the first has none.
            let comma = range.start > f.open + 1;
            if gone.contains(&range) {
                edits.push(self.blank(range.start - usize::from(comma)..range.end));
            } else {
                if comma && !stays {
                    edits.push(self.blank(range.start - 1..range.start));
                }
                stays = true;
            }
        }
        edits
    }

    fn meet_parameter(&self, v: &Variable<'t>, wrapper: &mut Wrapper) {
        let local = format!("shaderc_argument{}", wrapper.arguments.len());
        wrapper.before += &format!("{} {local}{}; ", v.ty, v.dims);
        for l in self.leaves(v) {
            let path = std::iter::once(&*local).chain(l.path[1..].iter().copied()).collect::<Vec<_>>().join(".");
            if v.has("inout") || !v.has("out") {
                wrapper.input(self.stage, &l, &path);
            }
            if v.has("out") || v.has("inout") {
                wrapper.output(self.stage, &l, &path);
            }
        }
        wrapper.arguments.push(local);
    }

    fn result(&self, f: &Function, wrapper: &mut Wrapper) {
        let head: Vec<&Token<'_>> = self.toks[f.first..f.open - 1].iter().filter(|t| t.is_word() && !is_qualifier(t.text)).collect();
        let Some(ty) = head.last().filter(|t| !t.is("void")) else { return };
        let semantic = self.toks.get(f.end + 1).filter(|_| self.is(f.end, ":")).map(|t| t.text);
        let v =
            Variable { qualifiers: Vec::new(), ty: ty.text, name: "shaderc_result", dims: String::new(), semantic, tokens: 0..0, named: 0 };
        wrapper.result = Some(ty.text.to_string());
        for l in self.leaves(&v) {
            wrapper.output(self.stage, &l, &l.written());
        }
    }
}

/// Whether the name at `n` is another's: declared by a type in front of it, or a member.
fn names_another(toks: &[Token<'_>], n: usize) -> bool {
    n > 0 && (toks[n - 1].is_word() && !matches!(toks[n - 1].text, "return" | "else" | "do") || toks[n - 1].is("."))
}

fn spelt(toks: &[Token<'_>]) -> String {
    toks.iter().map(|t| t.text).collect::<Vec<_>>().join(" ")
}

impl<'t> Apart<'t> {
    fn new(name: &'t str, scope: Range<usize>, leaves: Vec<Leaf<'t>>, declared: usize) -> Apart<'t> {
        Apart { name, scope, leaves, declared, used: BTreeSet::new() }
    }

    fn names(&self, toks: &[Token<'_>], n: usize) -> bool {
        self.scope.contains(&n) && toks[n].is(self.name)
    }

    /// The leaf that is named at `n`, and the token behind it.
    fn leaf(&self, toks: &[Token<'_>], n: usize) -> (Option<usize>, usize) {
        for (k, l) in self.leaves.iter().enumerate() {
            let named = l.path.iter().enumerate().all(|(m, word)| {
                let at = n + 2 * m;
                toks.get(at).is_some_and(|t| t.is(word)) && (m == 0 || toks[at - 1].is("."))
            });
            if named {
                return (Some(k), n + 2 * l.path.len() - 1);
            }
        }
        (None, n + 1)
    }
}

/// The units of samplers: the ones that are named, and of the others the first that is free.
#[derive(Default)]
struct Samplers {
    all: Vec<Sampler>,
}

struct Sampler {
    /// The token at which it is declared.
    at: usize,
    ty: String,
    name: String,
    dims: String,
    unit: Option<u32>,
    /// What stands behind the name of one that is declared already.
    behind: Option<Range<usize>>,
}

impl Samplers {
    fn add(&mut self, at: usize, v: &Variable<'_>, behind: Option<Range<usize>>) {
        self.add_named(at, v, v.name.to_string(), behind);
    }

    fn add_named(&mut self, at: usize, v: &Variable<'_>, name: String, behind: Option<Range<usize>>) {
        let unit = v.semantic.map(semantic).filter(|(s, _)| s == "TEXUNIT").map(|(_, n)| n);
        // `register(s2)` stays.
        if !(behind.is_some() && v.semantic == Some("register")) {
            self.all.push(Sampler { at, ty: v.ty.to_string(), name, dims: v.dims.clone(), unit, behind });
        }
    }

    fn finish(mut self, front: &mut String, edits: &mut Vec<Edit>) {
        self.all.sort_by_key(|s| s.at);
        let mut taken: BTreeSet<u32> =
            self.all.iter().filter_map(|s| Some((s.unit?, &s.dims))).flat_map(|(n, d)| n..n + elements(d)).collect();
        // Machines count units in the order of declaration.
        let mut declared = Vec::new();
        for s in &self.all {
            let unit = s.unit.unwrap_or_else(|| {
                let wanted = elements(&s.dims);
                let free = (0..).find(|n| (*n..n + wanted).all(|k| !taken.contains(&k))).unwrap_or(0);
                taken.extend(free..free + wanted);
                free
            });
            match &s.behind {
                Some(range) => edits.push((range.clone(), format!(" : register(s{unit})"))),
                None => declared.push((unit, format!("uniform {} {}{} : register(s{unit}); ", s.ty, s.name, s.dims))),
            }
        }
        declared.sort_by_key(|d| d.0);
        front.extend(declared.into_iter().map(|d| d.1));
    }
}
