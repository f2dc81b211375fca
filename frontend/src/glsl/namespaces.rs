//! Namespaces of HLSL, written out before glslang reads the text: within one it takes a name for the global one, and it has no types, buffers or inner
//! namespaces by their paths. What a namespace declares gets a global name that tells its path ([`upgrade::within`](super::upgrade::within)), and each
//! use the name of what it means. As in C++ that is what is declared so far in the innermost scope that has the name; a function hides all of its name
//! further out, and the types of arguments say nothing about where it is looked for.

use super::edit::{Edit, edited};
use super::hlsl::{is_number, is_statement};
use super::lex::{Kind, Token, tokens};
use super::lists::Mistake;
use super::outside::is_qualifier;
use super::scopes::brackets;
use super::upgrade::{free, within};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Namespaces within namespaces: each has its path in all its names.
const MAX_DEPTH: usize = 16;
/// `using namespace` in a text: each is looked into for every name.
const MAX_USED: usize = 32;
/// Members that structures have of others: each has all of them itself.
const MAX_INHERITED: usize = 1 << 18;
/// Tokens of a variable's first value, what stands in its brackets counted as one.
const MOST_VALUE: usize = 1024;

/// A preprocessed text without namespaces. Nothing changes its line.
pub(super) fn written_out(text: &str) -> Result<String, Mistake> {
    let (toks, plain) = joined(tokens(text).into_iter().filter(|t| t.kind != Kind::Directive), text);
    // Attributes have paths that are none.
    let attribute = |n: usize| n > 0 && is_vulkan(&toks[n - 1]);
    if !toks.iter().enumerate().any(|(n, t)| matches!(t.text, "namespace" | "using") || t.is("::") && !attribute(n)) {
        return Ok(text.to_string());
    }
    let edits = Reader::new(&toks).read().map_err(|(n, what)| (plain.get(n).copied().unwrap_or(0), what))?;
    Ok(edited(text, edits))
}

/// Tokens with `::` as one, and of each which one it was.
fn joined<'t>(all: impl Iterator<Item = Token<'t>>, text: &'t str) -> (Vec<Token<'t>>, Vec<usize>) {
    let (mut toks, mut plain): (Vec<Token<'t>>, Vec<usize>) = Default::default();
    for (n, t) in all.enumerate() {
        match toks.last_mut() {
            Some(before) if before.is(":") && t.is(":") && before.end() == t.at => before.text = &text[before.at..t.end()],
            _ => {
                toks.push(t);
                plain.push(n);
            }
        }
    }
    (toks, plain)
}

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Meaning {
    /// What glslang finds itself: a member, a parameter or a function's variable.
    Own,
    /// What is global by this name.
    Global(String),
}

/// A namespace; the first one is the text itself.
#[derive(Default)]
struct Space<'t> {
    path: Vec<&'t str>,
    /// The namespaces around it, outermost first, and it.
    around: Vec<usize>,
    /// The global names of what it declares.
    names: BTreeMap<&'t str, String>,
    spaces: BTreeMap<&'t str, usize>,
    used: Vec<Used>,
}

/// `using namespace`: this namespace's names are found as if they stood in the innermost one that is around both.
#[derive(Clone, Copy, PartialEq)]
struct Used {
    space: usize,
    seen_in: usize,
}

/// What is open around a token.
#[derive(Clone, Copy, PartialEq)]
enum Opened {
    Space(usize),
    /// A `cbuffer`, whose members are known around it.
    Buffer,
    Structure,
    Parameters,
    Block,
}

struct Scope<'t> {
    opened: Opened,
    /// The place behind it.
    end: usize,
    names: BTreeMap<&'t str, Meaning>,
    used: Vec<Used>,
}

struct Reader<'a, 't> {
    toks: &'a [Token<'t>],
    /// Of each bracket that opens the place behind the one that closes it.
    ends: Vec<usize>,
    /// The bracket in which each token stands.
    around: Vec<Option<usize>>,
    spaces: Vec<Space<'t>>,
    scopes: Vec<Scope<'t>>,
    /// Where the names begin that the declarations read so far give.
    declared: BTreeSet<usize>,
    /// What is no name of the text's, semantics and states, and where it ends.
    skipped: BTreeMap<usize, usize>,
    /// The members of structures by the structures' global names.
    members: BTreeMap<String, BTreeSet<&'t str>>,
    /// Where global names outside of namespaces stand, and those that are named by `::` where something else hides them.
    globals: BTreeMap<&'t str, Vec<usize>>,
    hidden: BTreeSet<&'t str>,
    /// How many namespaces are used, and how many members inherited.
    used: usize,
    inherited: usize,
    edits: Vec<Edit>,
}

impl<'a, 't> Reader<'a, 't> {
    fn new(toks: &'a [Token<'t>]) -> Self {
        let (ends, around) = brackets(toks);
        let mut reader = Reader {
            toks,
            ends,
            around,
            spaces: vec![Space { around: vec![0], ..Space::default() }],
            scopes: Vec::new(),
            declared: BTreeSet::new(),
            skipped: BTreeMap::new(),
            members: BTreeMap::new(),
            globals: BTreeMap::new(),
            hidden: BTreeSet::new(),
            used: 0,
            inherited: 0,
            edits: Vec::new(),
        };
        reader.open(Opened::Space(0), usize::MAX);
        reader
    }

    fn read(mut self) -> Result<Vec<Edit>, Mistake> {
        let mut n = 0;
        while n < self.toks.len() {
            while self.scopes.last().is_some_and(|s| s.end <= n) {
                self.scopes.pop();
            }
            n = self.token(n)?;
        }
        let renamed = self.hidden.iter().filter_map(|name| Some((name, self.globals.get(name)?)));
        let renamed = renamed.flat_map(|(name, all)| all.iter().map(|n| (self.toks[*n].at..self.toks[*n].end(), free(name))));
        self.edits.extend(renamed.collect::<Vec<_>>());
        Ok(self.edits)
    }

    fn is(&self, n: usize, what: &str) -> bool {
        self.toks.get(n).is_some_and(|t| t.is(what))
    }

    fn is_word(&self, n: usize) -> bool {
        self.toks.get(n).is_some_and(Token::is_word)
    }

    /// The place behind the bracket that closes the one at `open`.
    fn end(&self, open: usize) -> usize {
        self.ends.get(open).copied().unwrap_or(self.toks.len())
    }

    fn open(&mut self, opened: Opened, end: usize) {
        self.scopes.push(Scope { opened, end, names: BTreeMap::new(), used: Vec::new() });
    }

    fn top(&self) -> Opened {
        self.scopes.last().map_or(Opened::Space(0), |s| s.opened)
    }

    /// The namespace in which a token stands that is read now.
    fn space(&self) -> usize {
        let space = |s: &Scope<'_>| if let Opened::Space(n) = s.opened { Some(n) } else { None };
        self.scopes.iter().rev().find_map(space).unwrap_or(0)
    }

    fn blank(&mut self, range: Range<usize>) {
        self.edits.extend(self.toks[range].iter().map(|t| (t.at..t.end(), String::new())));
    }

    /// Reads what begins at `n`, and says where it goes on.
    fn token(&mut self, n: usize) -> Result<usize, Mistake> {
        if let Some(end) = self.skipped.get(&n) {
            return Ok(*end);
        }
        if self.declared.contains(&n) {
            return self.declare(n);
        }
        match self.toks[n].text {
            "namespace" => self.namespace(n),
            "using" if self.is_word(n + 1) || self.is(n + 1, "::") => self.using(n),
            "struct" | "class" | "interface" => self.structure(n),
            "cbuffer" | "tbuffer" if self.is_word(n + 1) => self.buffer(n),
            "for" if self.is(n + 1, "(") => {
                self.open(Opened::Block, self.statement(self.end(n + 1)));
                Ok(n + 1)
            }
            "{" => {
                self.open(Opened::Block, self.end(n));
                Ok(n + 1)
            }
            "[" if self.is(n + 1, "[") => Ok(self.end(n)),
            "[" if is_attribute(self.toks, n) => Ok(n + 2),
            "." => Ok(n + 1 + usize::from(self.is_word(n + 1))),
            text if text == "::" || self.is_word(n) => self.word(n),
            _ => Ok(n + 1),
        }
    }

    /// Where the statement ends that begins at `n`.
    fn statement(&self, mut n: usize) -> usize {
        while n < self.toks.len() {
            let end = match self.toks[n].text {
                "{" => self.end(n),
                ";" => n + 1,
                "(" | "[" => {
                    n = self.end(n);
                    continue;
                }
                _ => {
                    n += 1;
                    continue;
                }
            };
            if !self.is(end, "else") {
                return end;
            }
            n = end;
        }
        n
    }

    /// `A::B::f` or `::f` from `n` on.
    fn path(&self, n: usize) -> Range<usize> {
        let mut end = n + 1 + usize::from(self.is(n, "::") && self.is_word(n + 1));
        // `float ::A::f() {`
        let number = self.toks.get(n).is_some_and(|t| t.is("void") || is_number(t.text));
        while !number && self.is(end, "::") && self.is_word(end + 1) {
            end += 2;
        }
        n..end
    }

    /// A name, or the type of what is declared behind it.
    fn word(&mut self, n: usize) -> Result<usize, Mistake> {
        if self.qualifies(n) {
            return Ok(n + 1);
        }
        let path = self.path(n);
        let mut name = path.end;
        if self.is(name, "<") && is_template(self.toks[name - 1].text) {
            name = self.angle(name).unwrap_or(name);
        }
        while self.qualifies(name) {
            name += 1;
        }
        if self.is_word(name) || self.is(name, "::") && self.is_word(name + 1) {
            self.declarators(name);
        }
        self.resolve(&path)?;
        Ok(path.end)
    }

    /// Whether the word at `n` stands in front of a type, or of an expression.
    fn qualifies(&self, n: usize) -> bool {
        let Some(t) = self.toks.get(n).filter(|t| t.is_word() && !t.is("void")) else { return false };
        let before = is_statement(t.text) || is_qualifier(t.text) || matches!(t.text, "typedef" | "unsigned" | "inline" | "export");
        before && (self.is_word(n + 1) || self.is(n + 1, "::"))
    }

    /// The place behind the angle brackets of a type at `open`.
    fn angle(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (n, t) in self.toks.iter().enumerate().skip(open) {
            match t.text {
                "<" => depth += 1,
                ">" => depth = depth.saturating_sub(1),
                ">>" => depth = depth.saturating_sub(2),
                "," | "::" => {}
                _ if matches!(t.kind, Kind::Word | Kind::Number) => {}
                _ => return None,
            }
            if depth == 0 {
                return Some(n + 1);
            }
        }
        None
    }

    /// Notes the names of a declaration, the first of which begins at `n`, with what stands between them.
    fn declarators(&mut self, mut n: usize) {
        loop {
            self.declared.insert(n);
            let mut k = self.path(n).end;
            if self.is(k, "(") {
                return;
            }
            while self.is(k, "[") {
                k = self.end(k);
            }
            k = self.semantics(k);
            // A sampler's.
            if self.is(k, "{") {
                self.skipped.insert(k, self.end(k));
                k = self.end(k);
            }
            if self.is(k, "=") {
                let most = k + MOST_VALUE;
                while k < self.toks.len().min(most) && !matches!(self.toks[k].text, ";" | "," | "}" | ")") {
                    if self.is(k, "sampler_state") && self.is(k + 1, "{") {
                        self.skipped.insert(k, self.end(k + 1));
                    }
                    k = if matches!(self.toks[k].text, "(" | "[" | "{") { self.end(k) } else { k + 1 };
                }
            }
            let more = self.is(k, ",") && self.top() != Opened::Parameters && self.is_word(k + 1);
            if !more || !self.toks.get(k + 2).is_some_and(|t| matches!(t.text, ";" | "=" | "," | "[" | ":" | "{")) {
                return;
            }
            n = k + 1;
        }
    }

    /// Passes over `: TEXCOORD0 : register(c1)` at `n`.
    fn semantics(&mut self, mut n: usize) -> usize {
        while self.is(n, ":") && self.is_word(n + 1) {
            let end = if self.is(n + 2, "(") { self.end(n + 2) } else { n + 2 };
            self.skipped.insert(n, end);
            n = end;
        }
        n
    }

    /// Declares the name that begins at `n`.
    fn declare(&mut self, n: usize) -> Result<usize, Mistake> {
        let path = self.path(n);
        let function = self.is(path.end, "(") && matches!(self.top(), Opened::Space(_) | Opened::Buffer | Opened::Structure);
        let mut around = Vec::new();
        if path.len() == 1 {
            self.name(n)?;
        } else {
            self.resolve(&path)?;
            // `float A::f() {` is read as if it stood in `A`.
            around = self.inner(&path).map_or_else(Vec::new, |s| self.spaces[s].around.clone());
        }
        if function {
            let behind = self.semantics(self.end(path.end));
            let end = if self.is(behind, "{") { self.end(behind) } else { behind };
            around.into_iter().for_each(|s| self.open(Opened::Space(s), end));
            self.open(Opened::Parameters, end);
        }
        Ok(path.end)
    }

    /// Declares the name at `n` in the scope that is open, and gives its global name if it has one.
    fn name(&mut self, n: usize) -> Result<Option<String>, Mistake> {
        let name = self.toks[n].text;
        if !matches!(self.top(), Opened::Space(_) | Opened::Buffer) {
            self.scopes.last_mut().into_iter().for_each(|s| drop(s.names.insert(name, Meaning::Own)));
            return Ok(None);
        }
        let space = self.space();
        let global = self.global(n, space);
        match self.spaces[space].names.insert(name, global.clone()) {
            Some(other) if other != global => Err((n, format!("`{name}` is declared here and by `using`"))),
            _ => Ok(Some(global)),
        }
    }

    /// Gives the name at `n` that a namespace declares its global name.
    fn global(&mut self, n: usize, space: usize) -> String {
        let name = self.toks[n].text;
        if space == 0 {
            self.globals.entry(name).or_default().push(n);
            return name.to_string();
        }
        let global = within(&self.spaces[space].path, name);
        self.edits.push((self.toks[n].at..self.toks[n].end(), global.clone()));
        global
    }

    /// `namespace A::B {`, `namespace {` and `namespace A = B::C;`.
    fn namespace(&mut self, n: usize) -> Result<usize, Mistake> {
        let Opened::Space(around) = self.top() else {
            return Err((n, "a namespace stands in another one, or outside of everything".to_string()));
        };
        if self.is_word(n + 1) && self.is(n + 2, "=") {
            let path = self.path(n + 3);
            let space = self.named(&path)?;
            self.spaces[around].spaces.insert(self.toks[n + 1].text, space);
            return self.ends_in_semicolon(n, path.end);
        }
        let path = if self.is_word(n + 1) { self.path(n + 1) } else { n + 1..n + 1 };
        let open = path.end;
        let end = self.end(open);
        if !self.is(open, "{") {
            return Err((open.min(self.toks.len() - 1), "a namespace's name and `{` are expected behind `namespace`".to_string()));
        }
        if self.around[end - 1] != self.around[open] || !self.is(end - 1, "}") {
            return Err((open, "this namespace is not closed by `}`".to_string()));
        }
        let mut space = around;
        for n in path.step_by(2) {
            space = self.child(space, n)?;
            self.open(Opened::Space(space), end);
        }
        self.blank(n..open + 1);
        self.blank(end - 1..end);
        Ok(open + 1)
    }

    /// The namespace in another one whose name stands at `n`.
    fn child(&mut self, of: usize, n: usize) -> Result<usize, Mistake> {
        let name = self.toks[n].text;
        if let Some(known) = self.spaces[of].spaces.get(name) {
            return Ok(*known);
        }
        let child = self.spaces.len();
        let extended = |all: &[usize]| all.iter().copied().chain([child]).collect();
        let mut path = self.spaces[of].path.clone();
        path.push(name);
        if path.len() > MAX_DEPTH {
            return Err((n, format!("namespaces are nested more than {MAX_DEPTH} deep")));
        }
        let around = extended(&self.spaces[of].around);
        self.spaces.push(Space { path, around, ..Space::default() });
        self.spaces[of].spaces.insert(name, child);
        Ok(child)
    }

    /// Leaves out what stands from `n` to the semicolon that must come at `end`.
    fn ends_in_semicolon(&mut self, n: usize, end: usize) -> Result<usize, Mistake> {
        if !self.is(end, ";") {
            return Err((end.min(self.toks.len() - 1), "`;` is expected here".to_string()));
        }
        self.blank(n..end + 1);
        Ok(end + 1)
    }

    /// `using namespace A;` and `using A::f;`.
    fn using(&mut self, n: usize) -> Result<usize, Mistake> {
        let whole = self.is(n + 1, "namespace");
        let path = self.path(n + 1 + usize::from(whole));
        if whole {
            let (space, from) = (self.named(&path)?, self.space());
            let both = self.spaces[space].around.iter().zip(&self.spaces[from].around).take_while(|(a, b)| a == b).last();
            let used = Used { space, seen_in: both.map_or(0, |(a, _)| *a) };
            self.used += 1;
            if self.used > MAX_USED {
                return Err((n, format!("more than {MAX_USED} namespaces are used")));
            }
            match self.top() {
                Opened::Space(s) => self.spaces[s].used.push(used),
                _ => self.scopes.last_mut().into_iter().for_each(|s| s.used.push(used)),
            }
            return self.ends_in_semicolon(n, path.end);
        }
        let inner = self.inner(&path).filter(|_| self.is(path.end, ";"));
        let Some(space) = inner else {
            return Err((n, "only `using namespace A;` and `using A::f;` are translated: `typedef` gives a type another name".to_string()));
        };
        let last = path.end - 1;
        let name = self.toks[last].text;
        let global = self.member(space, last)?.ok_or_else(|| self.missing(space, last))?;
        let before = match self.top() {
            Opened::Space(s) => self.spaces[s].names.insert(name, global.clone()).map(Meaning::Global),
            _ => self.scopes.last_mut().and_then(|s| s.names.insert(name, Meaning::Global(global.clone()))),
        };
        if before.is_some_and(|b| b != Meaning::Global(global)) {
            return Err((last, format!("`{name}` is declared here and by `using`")));
        }
        self.ends_in_semicolon(n, path.end)
    }

    /// `struct S : B {`.
    fn structure(&mut self, n: usize) -> Result<usize, Mistake> {
        let named = self.is_word(n + 1);
        let mut open = n + 1 + usize::from(named);
        if self.is(open, ":") {
            open += self.toks[open..].iter().take_while(|t| t.is_word() || matches!(t.text, ":" | "," | "::")).count();
        }
        if !self.is(open, "{") {
            // `struct S s`, of a type that is known, or `struct S;`.
            let forward = named && self.is(n + 2, ";");
            return if forward { self.name(n + 1).map(|_| n + 2) } else { Ok(n + 1) };
        }
        let global = if named { self.name(n + 1)? } else { None };
        let mut names = self.members_of(open);
        let mut base = n + 2;
        while base < open {
            let path = self.path(base);
            if let Some(known) = self.resolve(&path)?.and_then(|of| self.members.get(&of)) {
                names.extend(known);
                self.inherited += known.len();
            }
            if self.inherited > MAX_INHERITED {
                return Err((n, format!("structures inherit more than {MAX_INHERITED} members")));
            }
            base = path.end;
        }
        let end = self.end(open);
        if self.is_word(end) {
            self.declarators(end);
        }
        self.open(Opened::Structure, end);
        self.scopes.last_mut().into_iter().for_each(|s| s.names = names.iter().map(|m| (*m, Meaning::Own)).collect());
        self.members.extend(global.map(|name| (name, names)));
        Ok(open + 1)
    }

    /// The names that the structure at a brace declares: its functions know those that come behind them.
    fn members_of(&self, open: usize) -> BTreeSet<&'t str> {
        let mut out = BTreeSet::new();
        let (mut n, end) = (open + 1, self.end(open));
        while n < end {
            let before = &self.toks[n - 1];
            let behind = self.toks.get(n + 1).is_some_and(|t| matches!(t.text, ";" | "," | "=" | "[" | ":" | "("));
            if behind && self.is_word(n) && (before.is_word() || matches!(before.text, ">" | "," | "}")) {
                out.insert(self.toks[n].text);
            }
            n = if matches!(self.toks[n].text, "(" | "[" | "{") { self.end(n) } else { n + 1 };
        }
        out
    }

    /// `cbuffer C : register(b0) {`; nothing in the text means the buffer by its name.
    fn buffer(&mut self, n: usize) -> Result<usize, Mistake> {
        let open = self.semantics(n + 2);
        if self.is(open, "{") {
            let space = self.space();
            if space != 0 {
                self.global(n + 1, space);
            }
            self.open(Opened::Buffer, self.end(open));
            return Ok(open + 1);
        }
        Ok(n + 1)
    }

    /// What is used where the token stands that is read now: by its scopes, by their namespaces, and by what these use.
    fn used(&self) -> Vec<Used> {
        let own = |s: &Scope<'_>| match s.opened {
            Opened::Space(n) => self.spaces[n].used.clone(),
            _ => s.used.clone(),
        };
        let mut all: Vec<Used> = self.scopes.iter().flat_map(own).collect();
        let mut n = 0;
        while n < all.len() {
            let more: Vec<Used> = self.spaces[all[n].space].used.iter().filter(|u| !all.contains(u)).copied().collect();
            all.extend(more);
            n += 1;
        }
        all
    }

    /// The namespaces whose names stand in an open one.
    fn seen_in(&self, space: usize, used: &[Used]) -> Vec<usize> {
        [space].into_iter().chain(used.iter().filter(|u| u.seen_in == space).map(|u| u.space)).collect()
    }

    /// What the name at `n` means.
    fn lookup(&self, n: usize) -> Result<Option<Meaning>, Mistake> {
        let name = self.toks[n].text;
        let used = self.used();
        for scope in self.scopes.iter().rev() {
            if let Some(known) = scope.names.get(name) {
                return Ok(Some(known.clone()));
            }
            let Opened::Space(space) = scope.opened else { continue };
            let all = self.seen_in(space, &used);
            if let Some(only) = self.only(n, all.iter().filter_map(|s| self.spaces[*s].names.get(name)))? {
                return Ok(Some(Meaning::Global(only)));
            }
        }
        Ok(None)
    }

    /// The one global name of several that a name may mean.
    fn only<'s>(&self, n: usize, all: impl Iterator<Item = &'s String>) -> Result<Option<String>, Mistake> {
        let all: BTreeSet<&String> = all.collect();
        let spelt: Vec<String> = all.iter().map(|g| format!("`{g}`")).collect();
        match spelt.len() {
            0 | 1 => Ok(all.first().map(|g| g.to_string())),
            _ => Err((n, format!("`{}` may be {}: write its namespace", self.toks[n].text, spelt.join(" or ")))),
        }
    }

    /// What a namespace declares by the name at `n`, or else what it uses.
    fn member(&self, space: usize, n: usize) -> Result<Option<String>, Mistake> {
        let name = self.toks[n].text;
        if let Some(own) = self.spaces[space].names.get(name) {
            return Ok(Some(own.clone()));
        }
        let mut all = vec![space];
        let mut k = 0;
        while k < all.len() {
            let more: Vec<usize> = self.spaces[all[k]].used.iter().map(|u| u.space).filter(|s| !all.contains(s)).collect();
            all.extend(more);
            k += 1;
        }
        self.only(n, all.iter().filter_map(|s| self.spaces[*s].names.get(name)))
    }

    /// The namespace that the name at `n` means in front of `::`.
    fn lookup_space(&self, n: usize) -> Option<usize> {
        let name = self.toks[n].text;
        let used = self.used();
        for scope in self.scopes.iter().rev() {
            let Opened::Space(space) = scope.opened else { continue };
            if let Some(found) = self.seen_in(space, &used).iter().find_map(|s| self.spaces[*s].spaces.get(name)) {
                return Some(*found);
            }
            // `S::f` of a structure.
            if self.spaces[space].names.get(name).is_some_and(|global| self.members.contains_key(global)) {
                return None;
            }
        }
        None
    }

    /// The words of a path, and the namespace in which the first one stands that is none itself, if a namespace comes first.
    fn descend(&self, path: &Range<usize>) -> Option<(usize, usize)> {
        let absolute = self.is(path.start, "::");
        if path.len() == 1 {
            return None;
        }
        let (mut space, mut n) = if absolute { (0, path.start + 1) } else { (self.lookup_space(path.start)?, path.start + 2) };
        while n + 2 < path.end {
            let Some(inner) = self.spaces[space].spaces.get(self.toks[n].text) else { break };
            (space, n) = (*inner, n + 2);
        }
        (n < path.end).then_some((space, n))
    }

    /// The namespace of what a path names.
    fn inner(&self, path: &Range<usize>) -> Option<usize> {
        self.descend(path).filter(|(_, n)| n + 1 == path.end).map(|(space, _)| space)
    }

    /// The namespace that a path names.
    fn named(&self, path: &Range<usize>) -> Result<usize, Mistake> {
        let last = path.end.min(self.toks.len()) - 1;
        let found = match path.len() {
            1 => self.lookup_space(last.min(path.start)),
            _ => self.inner(path).and_then(|space| self.spaces[space].spaces.get(self.toks[last].text).copied()),
        };
        found.ok_or_else(|| (last, format!("no namespace `{}` is known here", self.toks[last].text)))
    }

    fn missing(&self, space: usize, n: usize) -> Mistake {
        (n, format!("the namespace `{}` has no `{}` so far", self.spaces[space].path.join("::"), self.toks[n].text))
    }

    /// Writes what a path names, and gives its global name if it has one.
    fn resolve(&mut self, path: &Range<usize>) -> Result<Option<String>, Mistake> {
        let Some((space, n)) = self.descend(path) else {
            let first = &self.toks[path.start];
            return match self.lookup(path.start)? {
                Some(Meaning::Global(global)) => Ok(Some(self.mean(path.start, global))),
                None if path.len() > 1 && !is_vulkan(first) => Err((path.start, format!("no namespace `{}` is known here", first.text))),
                _ => Ok(None),
            };
        };
        let Some(global) = self.member(space, n)? else {
            // A function of the language is global, too.
            let known = space == 0 && self.is(path.start, "::");
            self.blank(path.start..n);
            return if known { Ok(None) } else { Err(self.missing(space, n)) };
        };
        self.blank(path.start..n);
        Ok(Some(self.mean(n, global)))
    }

    /// Lets the name at `n` mean what is global by a name.
    fn mean(&mut self, n: usize, global: String) -> String {
        let t = &self.toks[n];
        if t.text != global {
            self.edits.push((t.at..t.end(), global.clone()));
        } else {
            self.globals.entry(t.text).or_default().push(n);
            if self.scopes.iter().any(|s| s.names.contains_key(t.text)) {
                self.hidden.insert(t.text);
            }
        }
        global
    }
}

/// Whether this stands before `::` for what Vulkan adds.
fn is_vulkan(t: &Token<'_>) -> bool {
    matches!(t.text, "vk" | "spv")
}

/// Types that take others in angle brackets.
fn is_template(word: &str) -> bool {
    let begins = ["Texture", "RWTexture", "RasterizerOrdered"];
    let ends = ["Buffer", "Stream", "Patch"];
    matches!(word, "vector" | "matrix") || begins.iter().any(|b| word.starts_with(b)) || ends.iter().any(|e| word.ends_with(e))
}

/// Whether an attribute that stands in one bracket begins at `n`.
fn is_attribute(toks: &[Token<'_>], n: usize) -> bool {
    const ATTRIBUTES: &[&str] = &[
        "allow_uav_condition",
        "branch",
        "call",
        "earlydepthstencil",
        "fastopt",
        "flatten",
        "forcecase",
        "instance",
        "loop",
        "maxvertexcount",
        "numthreads",
        "shader",
        "unroll",
    ];
    let statement = n == 0 || !toks[n - 1].is_word();
    statement && toks.get(n + 1).is_some_and(|t| ATTRIBUTES.contains(&t.text.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::written_out;

    #[test]
    fn what_is_left_of_a_text_is_read() {
        let text = "namespace A::B\n{ struct S : T { float a; float f() { return a; } } s, t[2]; cbuffer C : register(b0) { float2 p : packoffset(c0); } float g(float x);
float ::A::B::\ng(float x = ::y) : COLOR { for (int i = 0;;) { using namespace A; using A::B::s; } return ::x; } }
namespace D = A::B; [[vk::binding(0)]] Texture2D<vector<float, 4>> tex : register(t0), u; sampler q = sampler_state { Filter = 1; };
using A::B::S; using namespace\nD; struct V : A::B::S { S a; }; float h(float S) { return ::S + D::t[1]; } namespace { class E; }";
        let tokens: Vec<_> = crate::glsl::lex::tokens(text).iter().map(|t| t.at..t.end()).collect();
        let beginnings = (0..=text.len()).map(|end| text[..end].to_string());
        let without = tokens.iter().map(|t| format!("{}{}", &text[..t.start], &text[t.end..]));
        let twice = tokens.iter().map(|t| format!("{} {}", &text[..t.end], &text[t.start..]));
        let mut read = 0;
        for text in beginnings.chain(without).chain(twice) {
            // Nothing ends the process, and each line stays where it is.
            if let Ok(out) = written_out(&text) {
                assert_eq!(out.matches('\n').count(), text.matches('\n').count(), "{out}");
                read += 1;
            }
        }
        assert_eq!(written_out(text).err(), None);
        assert!(read > 100, "{read}");
    }
}
