//! What the declarations of a preprocessed text say and SPIR-V does not: their order, their places, and which members are truth values.

use super::lex::{Kind, Token, close};
use super::outside::declarations;
use super::upgrade::{plain, written};
use crate::spirv::{INITIAL, LOOSE_HLSL};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The global declarations of a text.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    /// Names of variables in the order of declaration; a block goes by its instance, or by itself where it has none.
    pub(crate) order: Vec<String>,
    /// Uniforms of type `bool` and vectors of it, as they are listed: `lit`, `u.lit`, `lights[].on`.
    pub(crate) bools: BTreeSet<String>,
    /// Textures and samplers that are members of structures, written in the same way: `lights[].map`.
    pub(crate) opaque: BTreeSet<String>,
    /// Uniforms, blocks and textures that have no `binding`; glslang gives them the first one.
    pub(crate) unbound: BTreeSet<String>,
    /// The token that names a variable, a block or a member.
    pub(crate) places: BTreeMap<String, usize>,
    /// First values of uniforms, which glslang leaves out: what declares a variable of the same value, and the token behind which it may stand.
    pub(crate) initial: Vec<(usize, String)>,
}

/// A member of a structure or block, or a variable.
struct Member<'a> {
    ty: &'a str,
    name: &'a str,
    array: bool,
}

/// Structures within structures.
const MAX_DEPTH: usize = 16;
/// Members of blocks that are truth values.
const MAX_BOOLS: usize = 4096;

fn is_qualifier(t: &str) -> bool {
    matches!(
        t,
        "in" | "out"
            | "uniform"
            | "const"
            | "flat"
            | "smooth"
            | "noperspective"
            | "centroid"
            | "sample"
            | "invariant"
            | "precise"
            | "shared"
            | "buffer"
            | "coherent"
            | "volatile"
            | "restrict"
            | "readonly"
            | "writeonly"
            | "patch"
            | "highp"
            | "mediump"
            | "lowp"
    )
}

/// What qualifiers say of a declaration.
#[derive(Clone, Copy, Debug, Default)]
struct Qualifiers {
    uniform: bool,
    bound: bool,
}

struct Reader<'a> {
    toks: &'a [Token<'a>],
    structs: BTreeMap<&'a str, Vec<Member<'a>>>,
    out: Globals,
}

/// Reads the declarations of a text.
pub(crate) fn globals(toks: &[Token<'_>]) -> Globals {
    let mut r = Reader { toks, structs: BTreeMap::new(), out: Globals::default() };
    let mut n = 0;
    while n < toks.len() {
        n = r.declaration(n).max(n + 1);
    }
    r.out
}

/// Reads the order of HLSL's textures, the buffers without a register and the first values of its uniforms, which are all variables outside functions and
/// blocks that are not `static`.
pub(crate) fn of_hlsl(toks: &[Token<'_>]) -> Globals {
    let mut r = Reader { toks, structs: BTreeMap::new(), out: Globals::default() };
    r.out.unbound.insert(LOOSE_HLSL.to_string());
    let mut textures = Vec::new();
    let qualifies = |w: &str| matches!(w, "uniform" | "extern" | "shared" | "row_major" | "column_major" | "precise");
    for d in declarations(toks) {
        let end = d.tokens.end;
        let first = d.tokens.clone().find(|n| !qualifies(toks[*n].text)).unwrap_or(end);
        if !toks[first..end].iter().any(|t| t.is("register")) {
            let name = match r.word(first) {
                Some("cbuffer" | "tbuffer") => r.word(first + 1),
                Some("ConstantBuffer") => toks[first..end].iter().position(|t| t.is(">")).and_then(|k| r.word(first + k + 1)),
                _ => None,
            };
            r.out.unbound.extend(name.map(str::to_string));
        }
        if d.set {
            r.first_values(first, end);
        } else if r.is(end, ";") {
            r.textures(first, end, &mut textures);
        }
    }
    // Machines count them in this order.
    if textures.iter().all(|t| t.0.is_some()) {
        textures.sort();
    }
    r.out.order = textures.into_iter().map(|t| t.1).collect();
    r.out
}

impl<'a> Reader<'a> {
    /// Notes textures and samplers with their registers, `sampler2D a : register(s1), b;`.
    fn textures(&mut self, first: usize, end: usize, out: &mut Vec<(Option<u32>, String)>) {
        if !self.word(first).is_some_and(|ty| ty.starts_with("sampler") || ty.starts_with("Texture")) {
            return;
        }
        let mut n = first + 1;
        if self.is(n, "<") {
            n += 1 + self.toks[n..].iter().position(|t| t.is(">")).unwrap_or(0);
        }
        while self.word(n).is_some() && n < end {
            let name = written(self.toks[n].text);
            let mut register = None;
            while n < end && !self.is(n, ",") {
                if self.is(n, "register") {
                    register = self.word(n + 2).and_then(|r| r.get(1..)?.parse().ok());
                }
                n = if matches!(self.toks[n].text, "(" | "[" | "{") { close(self.toks, n) } else { n + 1 };
            }
            out.push((register, name));
            n += 1;
        }
    }

    /// `float4 a : register(c3) = float4(0, 1, 0, 0), b;` up to the semicolon.
    fn first_values(&mut self, first: usize, end: usize) {
        let constant =
            |w: &str| matches!(w, "static" | "const" | "typedef" | "groupshared") || w.starts_with("sampler") || w.starts_with("Sampler");
        let Some(ty) = self.word(first).filter(|w| !constant(w)) else { return };
        let mut n = first + 1;
        if self.is(n, "<") {
            n += 1 + self.toks[n..].iter().position(|t| t.is(">")).unwrap_or(0);
        }
        let ty = format!("{ty} {}", self.text(first + 1..n));
        while let Some(name) = self.word(n).filter(|_| n < end) {
            let behind = n + 1;
            let (mut dims, mut value) = (None, None);
            n = behind;
            while n < end && !self.is(n, ",") {
                match self.toks[n].text {
                    ":" if value.is_none() => dims = dims.or(Some(n)),
                    "=" => value = value.or(Some(n)),
                    _ => {}
                }
                n = if matches!(self.toks[n].text, "(" | "[" | "{") { close(self.toks, n) } else { n + 1 };
            }
            if let Some(value) = value {
                let array = self.text(behind..dims.unwrap_or(value));
                let text = format!(" static {ty}{INITIAL}{name} {array} {};", self.text(value..n));
                self.out.initial.push((end, text));
            }
            n += 1;
        }
    }

    fn is(&self, n: usize, text: &str) -> bool {
        self.toks.get(n).is_some_and(|t| t.is(text))
    }

    fn word(&self, n: usize) -> Option<&'a str> {
        self.toks.get(n).filter(|t| t.kind == Kind::Word).map(|t| plain(t.text))
    }

    fn note(&mut self, name: &str, n: usize) {
        self.out.places.entry(name.to_string()).or_insert(n);
    }

    /// The index behind the next semicolon outside brackets.
    fn end(&self, mut n: usize) -> usize {
        while n < self.toks.len() {
            match self.toks[n].text {
                ";" => return n + 1,
                "(" | "[" | "{" => n = close(self.toks, n),
                _ => n += 1,
            }
        }
        n
    }

    /// Skips qualifiers; gives what they say.
    fn qualifiers(&self, mut n: usize) -> (usize, Qualifiers) {
        let mut q = Qualifiers::default();
        loop {
            match self.word(n) {
                Some("layout") => {
                    let end = if self.is(n + 1, "(") { close(self.toks, n + 1) } else { n + 1 };
                    q.bound |= self.toks[n..end].iter().any(|t| t.is("binding"));
                    n = end;
                }
                Some(word) if is_qualifier(word) => {
                    q.uniform |= matches!(word, "uniform" | "buffer");
                    n += 1;
                }
                _ => return (n, q),
            }
        }
    }

    fn declaration(&mut self, start: usize) -> usize {
        let toks = self.toks;
        if self.is(start, "precision") {
            return self.end(start);
        }
        let (n, q) = self.qualifiers(start);
        let Some(t) = self.word(n) else { return self.end(start) };
        if t == "struct" {
            let named = self.word(n + 1);
            let open = n + 1 + usize::from(named.is_some());
            if !self.is(open, "{") {
                return self.end(start);
            }
            let behind = close(toks, open);
            let members = self.members(open + 1, behind - 1);
            let name = named.unwrap_or("");
            self.structs.insert(name, members);
            return self.variables(name, behind..behind, q);
        }
        if self.is(n + 1, "{") {
            let behind = close(toks, n + 1);
            let members = self.members(n + 2, behind - 1);
            let instance = self.word(behind);
            self.note(t, n);
            if let Some(i) = instance {
                self.note(i, behind);
            }
            self.out.order.push(instance.unwrap_or(t).to_string());
            if q.uniform {
                if !q.bound {
                    self.out.unbound.insert(instance.unwrap_or(t).to_string());
                }
                let prefix = instance.map_or(String::new(), |i| format!("{i}."));
                for m in &members {
                    self.leaves(&prefix, m, 0);
                }
            }
            return self.end(behind);
        }
        // The type may be an array: `vec4[2] a`.
        let mut name = n + 1;
        while self.is(name, "[") {
            name = close(toks, name);
        }
        if self.word(name).is_some() && self.is(name + 1, "(") {
            let behind = close(toks, name + 1);
            return if self.is(behind, "{") { close(toks, behind) } else { self.end(behind) };
        }
        self.variables(t, n + 1..name, q)
    }

    /// The text of some tokens.
    fn text(&self, tokens: Range<usize>) -> String {
        let all = self.toks.get(tokens).unwrap_or_default().iter().map(|t| t.text);
        all.collect::<Vec<_>>().join(" ")
    }

    /// `name[2] = …, name;` behind a type and what makes an array of it.
    fn variables(&mut self, ty: &'a str, array: Range<usize>, q: Qualifiers) -> usize {
        let mut n = array.end;
        let mut initial = Vec::new();
        while let Some(name) = self.word(n) {
            self.note(name, n);
            self.out.order.push(name.to_string());
            if q.uniform {
                if !q.bound {
                    self.out.unbound.insert(name.to_string());
                }
                let m = Member { ty, name, array: self.is(n + 1, "[") };
                self.leaves("", &m, 0);
            }
            let behind = n + 1;
            while n < self.toks.len() && !self.is(n, ",") && !self.is(n, ";") {
                n = if matches!(self.toks[n].text, "(" | "[" | "{") { close(self.toks, n) } else { n + 1 };
            }
            let rest = self.text(behind..n);
            if q.uniform && rest.contains('=') {
                initial.push(format!("{ty} {} {INITIAL}{name} {rest}; ", self.text(array.clone())));
            }
            if !self.is(n, ",") {
                break;
            }
            n += 1;
        }
        let end = self.end(n);
        self.out.initial.extend(initial.into_iter().map(|text| (end - 1, text)));
        end
    }

    /// The members between two braces.
    fn members(&mut self, from: usize, to: usize) -> Vec<Member<'a>> {
        let mut out = Vec::new();
        let mut n = from;
        while n < to {
            let (at, _) = self.qualifiers(n);
            let Some(ty) = self.word(at) else { break };
            let mut name = at + 1;
            let mut array = false;
            while self.is(name, "[") {
                array = true;
                name = close(self.toks, name);
            }
            while let Some(text) = self.word(name).filter(|_| name < to) {
                out.push(Member { ty, name: text, array: array || self.is(name + 1, "[") });
                self.note(text, name);
                while name < to && !self.is(name, ",") && !self.is(name, ";") {
                    name = if matches!(self.toks[name].text, "(" | "[" | "{") { close(self.toks, name) } else { name + 1 };
                }
                if !self.is(name, ",") {
                    break;
                }
                name += 1;
            }
            n = self.end(name).max(n + 1);
        }
        out
    }

    /// Notes truth values and what is opaque among the members of a uniform.
    fn leaves(&mut self, prefix: &str, m: &Member<'a>, depth: usize) {
        let array = if m.array { "[]" } else { "" };
        if matches!(m.ty, "bool" | "bvec2" | "bvec3" | "bvec4") && self.out.bools.len() < MAX_BOOLS {
            self.out.bools.insert(format!("{prefix}{}", m.name));
            return;
        }
        if depth > 0 && is_opaque(m.ty) {
            self.out.opaque.insert(format!("{prefix}{}{array}", m.name));
            return;
        }
        if depth > MAX_DEPTH {
            return;
        }
        if let Some((name, members)) = self.structs.remove_entry(m.ty) {
            let prefix = format!("{prefix}{}{array}.", m.name);
            for inner in &members {
                self.leaves(&prefix, inner, depth + 1);
            }
            self.structs.insert(name, members);
        }
    }
}

/// Whether a type is a texture, a sampler or an image.
fn is_opaque(ty: &str) -> bool {
    let ty = ty.strip_prefix(['i', 'u']).unwrap_or(ty);
    ["sampler", "texture", "image"].iter().any(|t| ty.starts_with(t))
}
