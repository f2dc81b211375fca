//! Places of statements in SPIR-V. The crate `glslang` cannot ask for line information, but GLSL itself can: by the extension
//! GL_EXT_spirv_intrinsics a call becomes an instruction, here an `OpLine`, in front of every statement and loop condition.
//! HLSL has no such extension: there every place is a function that does nothing, and its calls become the `OpLine`s afterwards.

use super::edit::{Edit, edited, separated};
use super::globals::Globals;
use super::lex::{Kind, Token, close};
use super::library;
use super::once;
use super::upgrade::{plain, written};
use crate::spirv::LOOSE;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The function that stands for `OpLine`; in HLSL the beginning of its name.
const NAME: &str = "shaderc_line";

/// A place in the user's texts: the file's number, line and byte in it, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

struct Marker<'a> {
    toks: &'a [Token<'a>],
    place: &'a dyn Fn(usize) -> Option<Place>,
    hlsl: bool,
    /// What is written where, and instead of what.
    edits: Vec<Edit>,
    /// The functions of HLSL's places.
    functions: BTreeSet<String>,
}

/// A preprocessed text with marks. `place` gives the place of a token by its number, `more` is what stands behind some tokens.
pub(crate) fn marked(
    text: &str,
    toks: &[Token<'_>],
    hlsl: bool,
    place: &dyn Fn(usize) -> Option<Place>,
    more: &[(usize, String)],
) -> String {
    let (edits, places) = if hlsl { once::loads(toks) } else { Default::default() };
    let mut m = Marker { toks, place, hlsl, edits, functions: BTreeSet::new() };
    let mut n = 0;
    let mut declaration = 0;
    while n < toks.len() {
        let body = toks[n].is("{") && m.is_body(declaration, n);
        n = match toks[n].text {
            "{" if body => m.block(n),
            "(" | "[" | "{" => close(toks, n),
            _ => n + 1,
        };
        if toks.get(n - 1).is_some_and(|t| matches!(t.text, ";" | "{" | "}")) {
            declaration = n;
        }
    }
    m.edits.extend(more.iter().filter_map(|(n, what)| Some((toks.get(*n)?.end()..toks[*n].end(), what.clone()))));
    // Right behind the version, which comes first.
    let first = if hlsl { 0 } else { text.find('\n').map_or(text.len(), |n| n + 1) };
    let mut head = String::new();
    if hlsl {
        m.functions.iter().for_each(|f| head.push_str(&format!("void {f}() {{}}\n")));
        head.push_str(&places);
        head.push_str(&library::prelude(toks));
    } else {
        head.push_str("#extension GL_EXT_spirv_intrinsics : enable\nspirv_instruction(id = 8) void ");
        let _ = writeln!(head, "{NAME}(spirv_literal int file, spirv_literal int line, spirv_literal int column);");
    }
    m.edits.insert(0, (first..first, head));
    edited(text, m.edits)
}

impl Marker<'_> {
    fn is(&self, n: usize, text: &str) -> bool {
        self.toks.get(n).is_some_and(|t| t.is(text))
    }

    /// Whether the bracket at `open` begins the body of a function, whose declaration begins at `first`.
    fn is_body(&self, first: usize, open: usize) -> bool {
        if !self.hlsl {
            return open > 0 && self.toks[open - 1].is(")");
        }
        // `float4 f(float2 p : TEXCOORD0) : SV_Target {`, but not `cbuffer b : register(b0) {` nor what sets a variable.
        if matches!(self.toks[first].text, "cbuffer" | "tbuffer" | "struct" | "class" | "interface") {
            return false;
        }
        let (mut n, mut parameters) = (first, false);
        while n < open {
            n = match self.toks[n].text {
                "=" => return false,
                "(" => {
                    parameters = true;
                    close(self.toks, n)
                }
                "[" => close(self.toks, n),
                _ => n + 1,
            };
        }
        parameters
    }

    /// The mark for token `n`, and what stands behind it.
    fn call(&mut self, n: usize, behind: char) -> String {
        let Some(p) = (self.place)(n) else { return String::new() };
        if !self.hlsl {
            return format!(" {NAME}({},{},{}){behind} ", p.file, p.line, p.column);
        }
        let name = format!("{NAME}_{}_{}_{}", p.file, p.line, p.column);
        self.functions.insert(name.clone());
        format!(" {name}(){behind} ")
    }

    /// Puts a mark for token `n` in front of it.
    fn mark(&mut self, n: usize, behind: char) {
        let Some(at) = self.toks.get(n).map(|t| t.at) else { return };
        let call = self.call(n, behind);
        self.edits.push((at..at, call));
    }

    /// Rewrites `b.Store4(at, value);`, which glslang makes so many stores of that each has place and value computed for itself, in between: they get
    /// variables of their own where that makes a difference.
    fn store_of_several(&mut self, n: usize) -> bool {
        let end = self.find(n, ";");
        let is_store =
            |k: &usize| matches!(self.toks[*k].text, "Store2" | "Store3" | "Store4") && self.is(k - 1, ".") && self.is(k + 1, "(");
        let mut k = n;
        // The buffer is a name, maybe with an index.
        while k < end && !self.is(k, ".") {
            k = if self.is(k, "[") { close(self.toks, k) } else { k + 1 };
        }
        let Some(k) = Some(k + 1).filter(|k| self.hlsl && *k < end && is_store(k)) else { return false };
        let arguments = separated(self.toks, k + 1);
        let [at, value] = &arguments[..] else { return false };
        let computed = |t: &Token<'_>| matches!(t.text, "(" | "=" | "++" | "--");
        if close(self.toks, k + 1) != end || !self.toks[at.start..value.end].iter().any(computed) {
            return false;
        }
        let store: Vec<&str> = self.toks[n..=k].iter().map(|t| t.text).collect();
        let behind = format!("; {}(shaderc_at, shaderc_value); }}", store.join(" "));
        let head = format!("{{{} uint shaderc_at = ", self.call(n, ';'));
        let span = |from: usize, to: usize| self.toks[from].at..self.toks[to].end();
        let edits = [
            (self.toks[n].at..self.toks[at.start].at, head),
            (span(at.end, at.end), format!("; uint{} shaderc_value = ", &self.toks[k].text[5..])),
            (span(value.end, end), behind),
        ];
        self.edits.extend(edits);
        true
    }

    /// The index of the next `what` outside brackets, or of the bracket that ends these.
    fn find(&self, mut n: usize, what: &str) -> usize {
        while let Some(t) = self.toks.get(n) {
            if t.is(what) || matches!(t.text, ")" | "]" | "}") {
                return n;
            }
            n = if matches!(t.text, "(" | "[" | "{") { close(self.toks, n) } else { n + 1 };
        }
        n
    }

    /// Marks an expression, unless it is none or declares something.
    fn expression(&mut self, n: usize) {
        let word = |n: usize| self.toks.get(n).is_some_and(|t| t.kind == Kind::Word);
        let none = matches!(self.toks.get(n).map(|t| t.text), None | Some(";" | ")"));
        let declares = word(n) && word(n + 1);
        if !none && !declares {
            self.mark(n, ',');
        }
    }

    fn block(&mut self, open: usize) -> usize {
        let mut n = open + 1;
        while n < self.toks.len() && !self.is(n, "}") {
            let next = self.statement(n, false);
            n = next.max(n + 1);
        }
        n + 1
    }

    /// A statement, alone (`if (x) here;`) or among others; gives the index behind it.
    fn statement(&mut self, n: usize, alone: bool) -> usize {
        let Some(t) = self.toks.get(n) else { return n };
        match t.text {
            "{" => return self.block(n),
            ";" => return n + 1,
            "case" | "default" => return self.find(n, ":") + 1,
            "[" => {
                if !alone {
                    self.mark(n, ';');
                }
                let next = close(self.toks, n);
                return self.statement(next, true);
            }
            "if" | "while" | "switch" if self.is(n + 1, "(") => {
                self.expression(n + 2);
                let mut next = self.statement(close(self.toks, n + 1), true);
                if t.is("if") && self.is(next, "else") {
                    next = self.statement(next + 1, true);
                }
                return next;
            }
            "for" if self.is(n + 1, "(") => {
                if !alone {
                    self.mark(n, ';');
                }
                let condition = self.find(n + 2, ";") + 1;
                self.expression(condition);
                let step = self.find(condition, ";") + 1;
                self.expression(step);
                return self.statement(close(self.toks, n + 1), true);
            }
            "do" => {
                let next = self.statement(n + 1, true);
                if self.is(next, "while") && self.is(next + 1, "(") {
                    self.expression(next + 2);
                    return close(self.toks, next + 1) + 1;
                }
                return next;
            }
            "break" | "continue" => {}
            "return" if alone => self.expression(n + 1),
            "discard" if alone => {}
            _ if self.store_of_several(n) => {}
            _ if alone => self.expression(n),
            _ => self.mark(n, ';'),
        }
        self.find(n, ";") + 1
    }
}

/// Opcodes and decorations of SPIR-V that matter here.
pub(super) mod op {
    pub(in crate::glsl) const SOURCE: u32 = 3;
    pub(in crate::glsl) const NAME: u32 = 5;
    pub(in crate::glsl) const MEMBER_NAME: u32 = 6;
    pub(in crate::glsl) const STRING: u32 = 7;
    pub(in crate::glsl) const LINE: u32 = 8;
    pub(in crate::glsl) const ENTRY_POINT: u32 = 15;
    pub(in crate::glsl) const TYPE_BOOL: u32 = 20;
    pub(in crate::glsl) const TYPE_INT: u32 = 21;
    pub(in crate::glsl) const TYPE_FLOAT: u32 = 22;
    pub(in crate::glsl) const TYPE_VECTOR: u32 = 23;
    pub(in crate::glsl) const TYPE_MATRIX: u32 = 24;
    pub(in crate::glsl) const TYPE_ARRAY: u32 = 28;
    pub(in crate::glsl) const TYPE_RUNTIME_ARRAY: u32 = 29;
    pub(in crate::glsl) const TYPE_STRUCT: u32 = 30;
    pub(in crate::glsl) const TYPE_POINTER: u32 = 32;
    pub(in crate::glsl) const CONSTANT: u32 = 43;
    pub(in crate::glsl) const VARIABLE: u32 = 59;
    pub(in crate::glsl) const CONSTANT_NULL: u32 = 46;
    pub(in crate::glsl) const FUNCTION: u32 = 54;
    pub(in crate::glsl) const FUNCTION_END: u32 = 56;
    pub(in crate::glsl) const FUNCTION_CALL: u32 = 57;
    pub(in crate::glsl) const LOAD: u32 = 61;
    pub(in crate::glsl) const STORE: u32 = 62;
    pub(in crate::glsl) const DECORATE: u32 = 71;
    pub(in crate::glsl) const MEMBER_DECORATE: u32 = 72;
    pub(in crate::glsl) const COMPOSITE_CONSTRUCT: u32 = 80;
    pub(in crate::glsl) const COMPOSITE_EXTRACT: u32 = 81;
    pub(in crate::glsl) const F_MUL: u32 = 133;
    pub(in crate::glsl) const F_DIV: u32 = 136;
    pub(in crate::glsl) const S_REM: u32 = 138;
    pub(in crate::glsl) const S_MOD: u32 = 139;
    pub(in crate::glsl) const F_REM: u32 = 140;
    pub(in crate::glsl) const F_MOD: u32 = 141;
    pub(in crate::glsl) const MATRIX_TIMES_MATRIX: u32 = 146;
    pub(in crate::glsl) const GROUP_I_ADD: u32 = 349;
    pub(in crate::glsl) const GROUP_LOGICAL_XOR: u32 = 364;
    // Group operations.
    pub(in crate::glsl) const INCLUSIVE_SCAN: u32 = 1;
    pub(in crate::glsl) const EXCLUSIVE_SCAN: u32 = 2;
    // Decorations.
    pub(in crate::glsl) const BLOCK: u32 = 2;
    pub(in crate::glsl) const BUFFER_BLOCK: u32 = 3;
    pub(in crate::glsl) const ROW_MAJOR: u32 = 4;
    pub(in crate::glsl) const ARRAY_STRIDE: u32 = 6;
    pub(in crate::glsl) const OFFSET: u32 = 35;
    pub(in crate::glsl) const LOCATION: u32 = 30;
    pub(in crate::glsl) const BINDING: u32 = 33;
    // Storage classes.
    pub(in crate::glsl) const UNIFORM_CONSTANT: u32 = 0;
    pub(in crate::glsl) const UNIFORM: u32 = 2;
    pub(in crate::glsl) const INPUT: u32 = 1;
    pub(in crate::glsl) const OUTPUT: u32 = 3;
    pub(in crate::glsl) const PRIVATE: u32 = 6;
}

/// The instructions of a module.
pub(super) fn instructions(words: &[u32]) -> impl Iterator<Item = (u32, &[u32])> {
    let mut rest = words.get(5..).unwrap_or_default();
    std::iter::from_fn(move || {
        let head = rest.first()?;
        let (inst, more) = rest.split_at_checked((head >> 16).max(1) as usize)?;
        rest = more;
        Some((head & 0xffff, inst))
    })
}

pub(super) fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The variables of a module and their names; a block without one goes by its own.
fn variables(words: &[u32]) -> Vec<(u32, String)> {
    let mut names = BTreeMap::new();
    let mut inner = BTreeMap::new();
    let mut out = Vec::new();
    for (opcode, inst) in instructions(words) {
        match (opcode, inst) {
            (op::NAME, [_, id, name @ ..]) => {
                names.insert(*id, text(name));
            }
            (op::TYPE_POINTER, [_, id, _, of]) | (op::TYPE_ARRAY, [_, id, of, _]) | (op::TYPE_RUNTIME_ARRAY, [_, id, of]) => {
                inner.insert(*id, *of);
            }
            (op::VARIABLE, [_, ty, id, ..]) => {
                let mut block = *ty;
                while let Some(of) = inner.get(&block) {
                    block = *of;
                }
                let name = |id: &u32| names.get(id).map(|n| plain(n)).filter(|n| !n.is_empty());
                out.push((*id, name(id).or_else(|| name(&block)).unwrap_or("").to_string()));
            }
            _ => {}
        }
    }
    out
}

/// Whether glslang gave a variable a binding that the text does not.
fn is_unbound(name: &str, globals: &Globals) -> bool {
    // A texture that stood in a structure, `s[1].t`, is bound where that is.
    name == LOOSE || name.split(['.', '[']).next().is_some_and(|of| globals.unbound.contains(of))
}

/// The binding of the counters that a block of glslang's holds; it gives all of them the first.
fn counters(name: &str) -> Option<u32> {
    name.strip_prefix("gl_AtomicCounterBlock_")?.parse().ok()
}

/// A texture that nobody declared.
pub(crate) enum Invented {
    /// With its rules for OpenGL's uniforms, glslang makes one where a function joins a texture and a sampler that are its parameters, or
    /// takes one of an array of them, and reads that instead.
    ByFunction,
    /// And where an array of structures with textures has another index than a number.
    OfStructures,
}

/// The first texture that nobody declared.
pub(crate) fn invented(words: &[u32], globals: &Globals) -> Option<Invented> {
    let mut names = BTreeMap::new();
    instructions(words).find_map(|(opcode, inst)| match (opcode, inst) {
        (op::NAME, [_, id, name @ ..]) => {
            names.insert(*id, text(name));
            None
        }
        (op::VARIABLE, [_, _, id, op::UNIFORM_CONSTANT, ..]) => {
            let name = names.get(id).map_or("", |n| plain(n));
            if name.contains('.') {
                (!globals.opaque.contains(&any_element(name))).then_some(Invented::OfStructures)
            } else {
                (!globals.places.contains_key(name)).then_some(Invented::ByFunction)
            }
        }
        _ => None,
    })
}

/// A name with its indices left out, `s[1].t[0][2]` as `s[].t[]`.
fn any_element(name: &str) -> String {
    let mut out = String::new();
    for part in name.split_inclusive(']') {
        let (before, index) = part.split_once('[').map_or((part, false), |(b, _)| (b, true));
        out.push_str(before);
        if index && !(before.is_empty() && out.ends_with("[]")) {
            out.push_str("[]");
        }
    }
    out
}

/// What HLSL's inputs and outputs are called: members of structures by themselves, the result of the entry point by its location.
fn handed_on(words: &[u32]) -> BTreeMap<u32, String> {
    let mut names = BTreeMap::new();
    let mut out = BTreeMap::new();
    let mut locations = BTreeMap::new();
    for (opcode, inst) in instructions(words) {
        match (opcode, inst) {
            (op::NAME, [_, id, name @ ..]) => {
                names.insert(*id, text(name));
            }
            (op::DECORATE, [_, id, op::LOCATION, n]) => {
                locations.insert(*id, *n);
            }
            (op::VARIABLE, [_, _, id, op::INPUT | op::OUTPUT, ..]) => {
                let name = names.get(id).map_or("", String::as_str);
                let name = match name.rsplit('.').next() {
                    Some("@entryPointOutput") | None => format!("location{}", locations.get(id).unwrap_or(&0)),
                    Some(last) => written(last),
                };
                out.insert(*id, name);
            }
            _ => {}
        }
    }
    out
}

/// The bindings of HLSL's buffers that have no register: the lowest that no other one has.
fn buffers(words: &[u32], unbound: &BTreeSet<u32>) -> BTreeMap<u32, u32> {
    let (mut bindings, mut storage, mut inner) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
    let (mut taken, mut free): (BTreeSet<u32>, Vec<u32>) = Default::default();
    for (opcode, inst) in instructions(words) {
        match (opcode, inst) {
            (op::DECORATE, [_, id, op::BINDING, n]) => {
                bindings.insert(*id, *n);
            }
            (op::DECORATE, [_, id, op::BUFFER_BLOCK, ..]) => {
                storage.insert(*id);
            }
            (op::TYPE_POINTER, [_, id, _, of]) => {
                inner.insert(*id, *of);
            }
            (op::VARIABLE, [_, ty, id, op::UNIFORM, ..]) if !inner.get(ty).is_some_and(|of| storage.contains(of)) => {
                if unbound.contains(id) {
                    free.push(*id);
                } else {
                    taken.extend(bindings.get(id));
                }
            }
            _ => {}
        }
    }
    free.into_iter().zip((0..).filter(|n| !taken.contains(n))).collect()
}

/// The variables that the entry point sets before it calls anything: those with a first value.
fn set_first(words: &[u32]) -> BTreeSet<u32> {
    let mut out = BTreeSet::new();
    let (mut entry, mut within) = (None, false);
    for (opcode, inst) in instructions(words) {
        match (opcode, inst) {
            (op::ENTRY_POINT, [_, _, id, ..]) => entry = Some(*id),
            (op::FUNCTION, [_, _, id, ..]) => within = entry == Some(*id),
            (op::FUNCTION_CALL, _) => within = false,
            (op::STORE, [_, to, ..]) if within => {
                out.insert(*to);
            }
            _ => {}
        }
    }
    out
}

/// The functions of HLSL's places, and what the words of their `OpLine` are.
fn places(words: &[u32]) -> BTreeMap<u32, [u32; 3]> {
    let named = instructions(words).filter_map(|(opcode, inst)| match (opcode, inst) {
        (op::NAME, [_, id, name @ ..]) => Some((*id, text(name))),
        _ => None,
    });
    let place = |(id, name): (u32, String)| {
        // glslang's names end in the parameters' types.
        let mut numbers = name.strip_prefix(NAME)?.strip_prefix('_')?.split(['_', '(']).map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some((id, [next()?, next()?, next()?]))
    };
    named.filter_map(place).collect()
}

/// Makes the marks of a module proper, gives names back as the user wrote them, and takes away the bindings that nobody wrote. Of HLSL, whose
/// declarations are only read in part, also what glslang takes for GLSL's.
pub(crate) fn finish(words: &[u32], files: &[&str], globals: &Globals, hlsl: bool) -> Vec<u32> {
    let Some(header) = words.get(..5) else { return words.to_vec() };
    let variables = variables(words);
    let unbound: BTreeSet<u32> = variables.iter().filter(|v| is_unbound(&v.1, globals)).map(|v| v.0).collect();
    // What is bound elsewhere than glslang says.
    let moved: BTreeMap<u32, u32> =
        if hlsl { buffers(words, &unbound) } else { variables.iter().filter_map(|v| Some((v.0, counters(&v.1)?))).collect() };
    let (names, places, set) = if hlsl { (handed_on(words), places(words), set_first(words)) } else { Default::default() };
    let mut pointees = BTreeMap::new();
    let mut out = header.to_vec();
    let first = header[3];
    out[3] = first + files.len() as u32;
    let mut strings = true;
    let mut within = false;
    for (opcode, inst) in instructions(words) {
        within |= opcode == op::FUNCTION && inst.get(2).is_some_and(|id| places.contains_key(id));
        if within {
            within = opcode != op::FUNCTION_END;
            continue;
        }
        if (op::SOURCE..=op::MEMBER_NAME).contains(&opcode) && strings {
            strings = false;
            for (n, f) in files.iter().enumerate() {
                push(&mut out, op::STRING, &[first + n as u32], f);
            }
        }
        if let (op::TYPE_POINTER, [_, id, _, of]) = (opcode, inst) {
            pointees.insert(*id, *of);
        }
        match (opcode, inst) {
            (op::LINE, [head, file, line, column]) => out.extend([*head, first + file, *line, *column]),
            (op::FUNCTION_CALL, [_, _, _, f]) if places.contains_key(f) => {
                let [file, line, column] = places[f];
                out.extend([4 << 16 | op::LINE, first + file, line, column]);
            }
            // What is `static` begins as 0.
            (op::VARIABLE, [_, ty, id, op::PRIVATE]) if hlsl && pointees.contains_key(ty) && !set.contains(id) => {
                let zero = out[3];
                out[3] += 1;
                out.extend([3 << 16 | op::CONSTANT_NULL, pointees[ty], zero, 5 << 16 | op::VARIABLE, *ty, *id, op::PRIVATE, zero]);
            }
            // Sums and products of a wave's lanes before one leave that one out.
            (op::GROUP_I_ADD..=op::GROUP_LOGICAL_XOR, [head, ty, id, scope, op::INCLUSIVE_SCAN, value]) if hlsl => {
                out.extend([*head, *ty, *id, *scope, op::EXCLUSIVE_SCAN, *value]);
            }
            // Remainders of HLSL have the sign of what is divided; glslang takes them for GLSL's.
            (op::S_MOD | op::F_MOD, [head, operands @ ..]) if hlsl => {
                out.push(head & 0xffff_0000 | if opcode == op::S_MOD { op::S_REM } else { op::F_REM });
                out.extend(operands);
            }
            (op::NAME, [_, id, ..]) if places.contains_key(id) => {}
            (op::NAME, [_, id, ..]) if names.contains_key(id) => push(&mut out, op::NAME, &[*id], &names[id]),
            (op::NAME, [_, id, name @ ..]) => rename(&mut out, inst, &[*id], name),
            (op::MEMBER_NAME, [_, id, n, name @ ..]) => rename(&mut out, inst, &[*id, *n], name),
            (op::DECORATE, [head, id, op::BINDING, _]) if moved.contains_key(id) => {
                out.extend([*head, *id, op::BINDING, moved[id]]);
            }
            (op::DECORATE, [_, id, op::BINDING, _]) if unbound.contains(id) && !hlsl => {}
            _ => out.extend(inst),
        }
    }
    out
}

fn rename(out: &mut Vec<u32>, inst: &[u32], operands: &[u32], name: &[u32]) {
    let name = text(name);
    let own = written(&name);
    if own == name { out.extend(inst) } else { push(out, inst[0] & 0xffff, operands, &own) }
}

/// Appends an instruction that ends in a text.
fn push(out: &mut Vec<u32>, opcode: u32, operands: &[u32], text: &str) {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(text.len() / 4 * 4 + 4, 0);
    out.push((1 + operands.len() as u32 + bytes.len() as u32 / 4) << 16 | opcode);
    out.extend(operands);
    out.extend(bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])));
}
