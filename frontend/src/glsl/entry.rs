//! The entry point of a Cg program, called by one of HLSL's. Cg's takes structures, uniforms and samplers in any mixture and names what it meets
//! by semantics of which several may be left out or stand twice; HLSL's has a parameter of its own for each of these, at a location.
//!
//! ```text
//! Out main(in In i, uniform sampler2D s : TEXUNIT2, uniform float k)     ─▶ uniform sampler2D s : register(s2); uniform float k; Out main(in In i)
//!                                                                          void entry(in float2 uv, out float4 c) { In i; i.uv = uv; … }
//! ```

use super::declared::{Leaf, Variable, elements, is_qualifier, is_sampler, semantic, take, variables};
use super::edit::{Edit, blank, separated, without};
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

    fn parameters(&self, f: &Function) -> Vec<(Range<usize>, Variable<'t>)> {
        let read = |range: Range<usize>| Some((range.clone(), variables(&self.toks[range]).into_iter().next()?));
        separated(self.toks, f.open).into_iter().filter_map(read).collect()
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

    fn blank(&self, range: Range<usize>) -> Edit {
        blank(self.text, self.toks, range)
    }

    fn rewrite(&self, own: usize) -> (Vec<Edit>, String) {
        let f = &self.functions[own];
        let mut r = Rewriting {
            program: self,
            edits: Vec::new(),
            apart: Vec::new(),
            samplers: Samplers::default(),
            wrapper: Wrapper::default(),
            front: String::new(),
        };
        let aliases = r.globals(own);
        let reached = self.reached(own);
        for g in &self.functions {
            if !reached.contains(&g.open) {
                r.edits.push(self.blank(g.first..g.behind));
            } else if g.open != f.open {
                r.parameters_with_samplers(g);
            }
        }
        r.parameters(f);
        self.result(f, &mut r.wrapper);
        aliases.into_iter().for_each(|alias| r.stand_for(alias));
        r.name_members();
        r.declare_members(f);
        r.finish(f)
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
        let tokens = first + v.tokens.start..first + v.tokens.end;
        let value = first_value(&self.toks[tokens.clone()]);
        let (bytes, lines) = self.blank(tokens);
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
            let given = separated(self.toks, n + 1).len();
            let fits = |g: &Function| separated(self.toks, g.open).len() == given;
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

/// A sampler outside functions that stands for another one: the first token of its declaration, and where it is set.
type Alias<'v, 't> = (usize, &'v Variable<'t>, Range<usize>);

/// What is written so far.
struct Rewriting<'p, 'a, 't> {
    program: &'p Program<'a, 't>,
    edits: Vec<Edit>,
    /// Structures that are taken apart, with the tokens of their declarations, where those are not the entry point's parameters.
    apart: Vec<(Apart<'t>, Option<Range<usize>>)>,
    samplers: Samplers,
    wrapper: Wrapper,
    /// What stands in front of the entry point.
    front: String,
}

impl<'p, 't> Rewriting<'p, '_, 't> {
    /// Variables outside functions; samplers that stand for others come back.
    fn globals(&mut self, own: usize) -> Vec<Alias<'p, 't>> {
        let p = self.program;
        let mut aliases = Vec::new();
        for (first, v) in &p.globals {
            let tokens = first + v.tokens.start..first + v.tokens.end;
            if let Some(leaves) = p.apart(v) {
                self.apart.push((Apart::new(v.name, 0..p.toks.len(), leaves, *first), Some(tokens)));
            } else if let Some(set) = p.alias(own, v) {
                aliases.push((*first, v, set));
            } else if is_sampler(v.ty) && !v.has("static") {
                let behind = p.toks[first + v.named].end()..p.toks[tokens.end - 1].end();
                self.samplers.add(*first, v, Some(behind));
            }
        }
        aliases
    }

    /// Structures with samplers among the parameters of another function than the entry point.
    fn parameters_with_samplers(&mut self, g: &Function) {
        for (range, v) in self.program.parameters(g) {
            if let Some(leaves) = self.program.apart(&v).filter(|l| l.iter().any(|l| is_sampler(l.ty))) {
                self.apart.push((Apart::new(v.name, g.open..g.behind, leaves, range.start), Some(range)));
            }
        }
    }

    /// The entry point's parameters: those that its caller cannot give stand in front of it.
    fn parameters(&mut self, f: &Function) {
        let p = self.program;
        let mut gone = Vec::new();
        for (range, v) in p.parameters(f) {
            if let Some(leaves) = p.apart(&v) {
                self.apart.push((Apart::new(v.name, f.open..f.behind, leaves, range.start), None));
                gone.push(range);
                continue;
            }
            if !v.is_uniform() {
                p.meet_parameter(&v, &mut self.wrapper);
                continue;
            }
            if is_sampler(v.ty) {
                self.samplers.add(range.start, &v, None);
            } else {
                let value = first_value(&p.toks[range.clone()]);
                self.front += &format!("uniform {}{} {}{}{value}; ", v.packing(), v.ty, v.name, v.dims);
            }
            if p.assigned(v.name, f.body..f.behind) {
                // The function has a copy of its own to change.
                let (bytes, lines) = p.blank(range);
                self.edits.push((bytes, format!("{} {}{}{lines}", v.ty, v.name, v.dims)));
                self.wrapper.arguments.push(v.name.to_string());
            } else {
                gone.push(range);
            }
        }
        self.edits.extend(without(p.text, p.toks, f.open, |range| gone.contains(range)));
    }

    /// A sampler that is set stands for the other one.
    fn stand_for(&mut self, (first, v, set): Alias<'p, 't>) {
        let (p, toks) = (self.program, self.program.toks);
        let other = set.start + 2;
        let leaf = self.apart.iter_mut().find_map(|(a, _)| {
            let l = a.leaf(toks, other).0.filter(|_| a.names(toks, other))?;
            a.used.insert(l);
            Some(a.leaves[l].alone())
        });
        let name = leaf.unwrap_or_else(|| toks[other].text.to_string());
        let named = |n: &usize| toks[*n].is(v.name) && !names_another(toks, *n) && !set.contains(n);
        self.edits.extend((0..toks.len()).filter(named).map(|n| (toks[n].at..toks[n].end(), name.clone())));
        self.edits.push(p.blank(first..first + v.tokens.end + 1));
        self.edits.push(p.blank(set));
    }

    /// What is used of the structures that are taken apart.
    fn name_members(&mut self) {
        let toks = self.program.toks;
        for n in 0..toks.len() {
            let Some((a, _)) = self.apart.iter_mut().rev().find(|(a, _)| a.names(toks, n)) else { continue };
            if names_another(toks, n) {
                continue;
            }
            match a.leaf(toks, n) {
                (Some(l), behind) => {
                    a.used.insert(l);
                    self.edits.push((toks[n].at..toks[behind - 1].end(), a.leaves[l].alone()));
                }
                (None, _) => {
                    a.used.extend(0..a.leaves.len());
                    let all: Vec<String> = a.leaves.iter().map(Leaf::alone).collect();
                    self.edits.push((toks[n].at..toks[n].end(), all.join(", ")));
                }
            }
        }
    }

    /// The members of the structures that are taken apart: parameters of functions, and in front of the entry point variables of their own.
    fn declare_members(&mut self, f: &Function) {
        let p = self.program;
        for (a, range) in &self.apart {
            if a.scope.start > 0 && a.scope.start != f.open {
                let all: Vec<String> = a.leaves.iter().map(|l| format!("{} {}{}", l.ty, l.alone(), l.dims)).collect();
                let (bytes, lines) = p.blank(range.clone().unwrap_or(0..1));
                self.edits.push((bytes, all.join(", ") + &lines));
                continue;
            }
            if let Some(range) = range {
                // Of several variables of one declaration all are structures.
                self.edits.push(p.blank(range.clone()));
            }
            for l in a.used.iter().map(|l| &a.leaves[*l]) {
                if is_sampler(l.ty) {
                    self.samplers.add_member(a.declared, l);
                } else if l.uniform {
                    self.front += &format!("uniform {}{} {}{}; ", l.packing, l.ty, l.alone(), l.dims);
                } else {
                    self.front += &format!("static {} {}{}; ", l.ty, l.alone(), l.dims);
                    self.wrapper.input(p.stage, l, &l.alone());
                }
            }
        }
    }

    /// Samplers in front of everything, variables that are set, the entry point's own name and what stands before it.
    fn finish(self, f: &Function) -> (Vec<Edit>, String) {
        let (p, toks) = (self.program, self.program.toks);
        let mut edits = self.edits;
        // Functions in front of the entry point may read them.
        let mut top = String::new();
        self.samplers.finish(&mut top, &mut edits);
        let begins = |from: usize| toks[from..].iter().find(|t| t.kind != Kind::Directive).map_or(0, |t| t.at);
        edits.push((begins(0)..begins(0), top));
        for (first, v) in &p.globals {
            let constant = v.is_uniform() && is_sampler(v.ty) || v.has("static") || v.has("const");
            if !constant && p.functions.iter().any(|g| p.assigned(v.name, g.body..g.behind)) {
                edits.push(p.own_copy(*first, v));
            }
        }
        // HLSL's entry point has its name.
        let name = toks[f.open - 1].text;
        let named = (1..toks.len()).filter(|n| p.is(*n, "(") && p.is(n - 1, name));
        edits.extend(named.map(|n| (toks[n - 1].at..toks[n - 1].end(), free(name))));
        edits.push((begins(f.first)..begins(f.first), self.front));
        (edits, self.wrapper.text(&free(name), p.stage))
    }
}

/// Whether the name at `n` is another's: declared by a type in front of it, or a member.
fn names_another(toks: &[Token<'_>], n: usize) -> bool {
    n > 0 && (toks[n - 1].is_word() && !matches!(toks[n - 1].text, "return" | "else" | "do") || toks[n - 1].is("."))
}

/// What stands behind a variable's name and semantic, from its `=` on.
fn first_value(toks: &[Token<'_>]) -> String {
    toks.iter().skip_while(|t| !t.is("=")).map(|t| format!(" {}", t.text)).collect()
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
        // `register(s2)` stays.
        if !(behind.is_some() && v.semantic == Some("register")) {
            self.push(at, v.ty, v.name.to_string(), &v.dims, v.semantic, behind);
        }
    }

    fn add_member(&mut self, at: usize, l: &Leaf<'_>) {
        self.push(at, l.ty, l.alone(), &l.dims, l.semantic, None);
    }

    fn push(&mut self, at: usize, ty: &str, name: String, dims: &str, stated: Option<&str>, behind: Option<Range<usize>>) {
        let unit = stated.map(semantic).filter(|(s, _)| s == "TEXUNIT").map(|(_, n)| n);
        self.all.push(Sampler { at, ty: ty.to_string(), name, dims: dims.to_string(), unit, behind });
    }

    fn finish(mut self, front: &mut String, edits: &mut Vec<Edit>) {
        self.all.sort_by_key(|s| s.at);
        let mut taken: BTreeSet<u32> =
            self.all.iter().filter_map(|s| Some((s.unit?, &s.dims))).flat_map(|(n, d)| n..n + elements(d)).collect();
        // Machines count units in the order of declaration.
        let mut declared = Vec::new();
        for s in &self.all {
            let unit = s.unit.unwrap_or_else(|| take(&mut taken, elements(&s.dims)));
            match &s.behind {
                Some(range) => edits.push((range.clone(), format!(" : register(s{unit})"))),
                None => declared.push((unit, format!("uniform {} {}{} : register(s{unit}); ", s.ty, s.name, s.dims))),
            }
        }
        declared.sort_by_key(|d| d.0);
        front.extend(declared.into_iter().map(|d| d.1));
    }
}
