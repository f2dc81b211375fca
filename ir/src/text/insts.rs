//! Blocks and instructions of the text form, read into lines whose values are still numbers.

use super::lexer::{Tok, unquote};
use super::numbers::{parse_float, parse_int};
use super::parser::{Bail, Names, Parsed, Parser};
use crate::diag::Span;
use crate::entities::*;
use crate::function::LocalDecl;
use crate::inst::{AtomicOp, FloatCC, Imm, IntCC, MemRef, TexInfo, TexLod, TexOp};
use crate::module::Module;
use crate::opcode::{Opcode, ResultRule};
use crate::types::{F32, I32, Scalar, Type};
use smallvec::SmallVec;

/// A value by its number, and where it is written.
pub(super) type AstValue = (u32, Span);

/// A function as written.
#[derive(Default)]
pub(super) struct AstFunc {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) params: Vec<(AstValue, Type)>,
    pub(super) results: Vec<Type>,
    pub(super) locals: Vec<LocalDecl>,
    pub(super) local_names: Names<Local>,
    pub(super) blocks: Vec<AstBlock>,
}

pub(super) struct AstBlock {
    pub(super) number: u32,
    pub(super) span: Span,
    pub(super) params: Vec<(AstValue, Type)>,
    pub(super) insts: Vec<AstInst>,
}

pub(super) struct AstCall {
    pub(super) block: u32,
    pub(super) span: Span,
    pub(super) args: Vec<AstValue>,
}

pub(super) struct AstInst {
    pub(super) span: Span,
    pub(super) op: Opcode,
    pub(super) results: SmallVec<[AstValue; 1]>,
    pub(super) ty: Option<Type>,
    pub(super) precise: bool,
    pub(super) relaxed: bool,
    pub(super) args: SmallVec<[AstValue; 3]>,
    pub(super) imm: Imm,
    pub(super) callee: Option<(String, Span)>,
    pub(super) targets: Vec<AstCall>,
}

/// The number behind `v12` or `block3`.
fn numbered(s: &str, prefix: &str) -> Option<u32> {
    let d = s.strip_prefix(prefix)?;
    if d.is_empty() || !d.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    d.parse().ok()
}

impl Parser<'_> {
    pub(super) fn at_block_label(&self) -> bool {
        self.peek() == Tok::Word && numbered(self.str(), "block").is_some()
    }

    fn at_value(&self) -> bool {
        self.peek() == Tok::Word && numbered(self.str(), "v").is_some()
    }

    fn value(&mut self) -> Parsed<AstValue> {
        if !self.at_value() {
            return self.unexpected("a value such as `v0`");
        }
        let span = self.span();
        Ok((numbered(self.bump(), "v").unwrap_or(0), span))
    }

    /// `(v0: f32, v1: i32)`, or nothing.
    pub(super) fn params(&mut self) -> Parsed<Vec<(AstValue, Type)>> {
        let mut out = Vec::new();
        if self.eat(b'(') {
            while !self.at_punct(b')') {
                let v = self.value()?;
                self.expect(b':')?;
                out.push((v, self.ty()?));
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b')')?;
        }
        Ok(out)
    }

    /// A block label or an instruction.
    pub(super) fn code_line(&mut self, m: &Module, f: &mut AstFunc) -> Parsed<()> {
        if self.at_block_label() {
            let start = self.span();
            let number = numbered(self.bump(), "block").unwrap_or(0);
            // The block exists even if its parameters are faulty.
            f.blocks.push(AstBlock { number, span: start, params: Vec::new(), insts: Vec::new() });
            let params = self.params()?;
            let limit = usize::from(u16::MAX);
            if params.len() > limit {
                let what = format!("too many block parameters (needed {}, available {limit})", params.len());
                return self.fail(super::LIMIT_CODE, start, what);
            }
            if let Some(b) = f.blocks.last_mut() {
                b.params = params;
            }
            return self.expect(b':');
        }
        let inst = self.inst(m, f)?;
        match f.blocks.last_mut() {
            Some(b) => {
                b.insts.push(inst);
                Ok(())
            }
            None => self.fail("E0001", inst.span, "an instruction must stand in a block: write `block0:` before it"),
        }
    }

    fn values(&mut self) -> Parsed<SmallVec<[AstValue; 3]>> {
        let mut out = SmallVec::new();
        if matches!(self.peek(), Tok::Newline | Tok::Eof) {
            return Ok(out);
        }
        loop {
            out.push(self.value()?);
            if !self.eat(b',') {
                return Ok(out);
            }
        }
    }

    /// `, v1, v2` after another operand.
    fn more_values(&mut self) -> Parsed<SmallVec<[AstValue; 3]>> {
        if self.eat(b',') { self.values() } else { Ok(SmallVec::new()) }
    }

    fn inst(&mut self, m: &Module, f: &AstFunc) -> Parsed<AstInst> {
        let start = self.span();
        let mut results: SmallVec<[AstValue; 1]> = SmallVec::new();
        if self.at_value() {
            loop {
                results.push(self.value()?);
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b'=')?;
        }
        let precise = self.eat_word("precise");
        let relaxed = self.eat_word("relaxed");
        if self.peek() != Tok::Word {
            return self.unexpected("an instruction");
        }
        let (word, word_span) = (self.str(), self.span());
        let (name, suffix) = word.split_once('.').map_or((word, None), |(n, t)| (n, Some(t)));
        let op = match name {
            "iconst" | "fconst" => Some(Opcode::Const),
            _ => Opcode::from_name(name),
        };
        let Some(op) = op else {
            let message = match word {
                "input" | "uniform" | "texture" | "storage" | "shared" | "local" => {
                    format!("`{word}` declarations stand before the first block")
                }
                _ => format!("there is no operation `{name}`"),
            };
            return self.fail("E0006", word_span, message);
        };
        let ty = match suffix {
            Some(t) => match Type::parse(t) {
                Some(t) => Some(t),
                None => return self.fail("E0007", word_span, format!("there is no type `{t}`")),
            },
            None => None,
        };
        self.bump();
        let mut i = AstInst {
            span: start,
            op,
            results,
            ty,
            precise,
            relaxed,
            args: SmallVec::new(),
            imm: Imm::None,
            callee: None,
            targets: Vec::new(),
        };
        self.operands(m, f, name, word_span, &mut i)?;
        i.span = self.span_from(start);
        match op.rule() {
            ResultRule::None if !i.results.is_empty() || i.ty.is_some() => {
                return self.fail("E0018", i.span, format!("`{name}` has no result"));
            }
            ResultRule::None | ResultRule::Call => {}
            _ if i.results.len() > 1 => return self.fail("E0018", i.span, format!("`{name}` has one result")),
            _ => {}
        }
        Ok(i)
    }

    fn operands(&mut self, m: &Module, f: &AstFunc, name: &str, op_span: Span, i: &mut AstInst) -> Parsed<()> {
        match i.op {
            Opcode::Const => {
                let Some(ty) = i.ty else {
                    return self.fail("E0017", op_span, format!("`{name}` needs a type: `{name}.i32`, `{name}.f32x4` …"));
                };
                i.imm = Imm::Const(self.literal(name, ty, op_span)?);
            }
            Opcode::Fcmp | Opcode::Icmp => {
                let (s, float) = (self.str(), i.op == Opcode::Fcmp);
                let imm = if float { FloatCC::from_name(s).map(Imm::FloatCC) } else { IntCC::from_name(s).map(Imm::IntCC) };
                let Some(imm) = imm else {
                    return self.unexpected(if float { "a relation (olt, oeq, une …)" } else { "a relation (eq, slt, uge …)" });
                };
                self.bump();
                i.imm = imm;
                i.args = self.values()?;
            }
            Opcode::Extract | Opcode::Insert => {
                i.args.push(self.value()?);
                self.expect(b',')?;
                if i.op == Opcode::Insert {
                    i.args.push(self.value()?);
                    self.expect(b',')?;
                }
                i.imm = Imm::Lane(self.number()?.min(255) as u8);
            }
            Opcode::Shuffle => {
                i.args.push(self.value()?);
                self.expect(b',')?;
                i.args.push(self.value()?);
                self.expect(b',')?;
                self.expect(b'[')?;
                let mut mask: SmallVec<[u8; 4]> = SmallVec::new();
                while !self.at_punct(b']') {
                    mask.push(self.number()?.min(255) as u8);
                    if !self.eat(b',') {
                        break;
                    }
                }
                self.expect(b']')?;
                i.imm = Imm::Lanes(mask);
            }
            Opcode::Input | Opcode::Uniform | Opcode::LocalLoad | Opcode::SharedLoad | Opcode::StorageLoad => {
                let (var, offset, index) = self.place(f, i.op)?;
                i.imm = Imm::Mem { var, offset };
                i.args.extend(index);
                if i.ty.is_none() {
                    i.ty = declared_type(m, f, var);
                }
            }
            Opcode::Output | Opcode::LocalStore | Opcode::SharedStore | Opcode::StorageStore => {
                let (var, offset, index) = self.place(f, i.op)?;
                i.imm = Imm::Mem { var, offset };
                i.args = self.more_values()?;
                i.args.extend(index);
            }
            Opcode::StorageLen => {
                let (var, offset, index) = self.place(f, i.op)?;
                i.imm = Imm::Mem { var, offset };
                i.args.extend(index);
                i.ty = i.ty.or(Some(I32));
            }
            Opcode::Atomic => {
                let Some(op) = AtomicOp::from_name(self.str()) else {
                    return self.unexpected("an atomic operation (add, umin, umax, smin, smax, and, or, xor, xchg, cas)");
                };
                self.bump();
                let (var, offset, index) = self.place(f, i.op)?;
                i.imm = Imm::Atomic { var, offset, op };
                i.args = self.more_values()?;
                i.args.extend(index);
                i.ty = i.ty.or(Some(I32));
            }
            Opcode::Tex => {
                i.imm = Imm::Tex(Box::new(self.tex_info()?));
                i.args = self.more_values()?;
            }
            Opcode::Ddx | Opcode::Ddy => {
                i.imm = Imm::Hint(if self.eat_word("coarse") {
                    1
                } else if self.eat_word("fine") {
                    2
                } else {
                    0
                });
                i.args = self.values()?;
            }
            Opcode::EmitVertex | Opcode::EndPrimitive => {
                i.imm = Imm::Stream(if self.peek() == Tok::Number { self.number()?.min(255) as u8 } else { 0 });
            }
            Opcode::Call => {
                if self.peek() != Tok::At {
                    return self.unexpected("a function such as `@name`");
                }
                let span = self.span();
                i.callee = Some((unquote(&self.bump()[1..]), span));
                i.args = self.arguments()?.into();
            }
            Opcode::Jump => i.targets.push(self.target()?),
            Opcode::BrIf => {
                i.args.push(self.value()?);
                for _ in 0..2 {
                    self.expect(b',')?;
                    let t = self.target()?;
                    i.targets.push(t);
                }
            }
            Opcode::Switch => {
                i.args.push(self.value()?);
                self.expect(b',')?;
                self.expect(b'[')?;
                let mut cases = Vec::new();
                while !self.at_punct(b']') {
                    let (s, span) = (self.str(), self.span());
                    match parse_int(s) {
                        Some(v) if self.peek() == Tok::Number => cases.push(v),
                        _ => return self.fail("E0008", span, format!("`{s}` is not an integer of 32 bits")),
                    }
                    self.bump();
                    self.expect(b':')?;
                    let t = self.target()?;
                    i.targets.push(t);
                    if !self.eat(b',') {
                        break;
                    }
                }
                self.expect(b']')?;
                self.expect(b',')?;
                let t = self.target()?;
                i.targets.push(t);
                i.imm = Imm::Cases(cases.into());
            }
            Opcode::Ext => {
                if !matches!(self.peek(), Tok::Word | Tok::Str) {
                    return self.unexpected("the name of a machine operation");
                }
                i.imm = Imm::Ext(unquote(self.bump()).into());
                self.eat(b',');
                i.args = self.values()?;
            }
            _ => {
                i.args = self.values()?;
                if i.ty.is_none() && i.op.rule() == ResultRule::Explicit {
                    i.ty = default_type(i.op);
                }
            }
        }
        if i.ty.is_none() && i.op.rule() == ResultRule::Explicit && !(i.op == Opcode::Ext && i.results.is_empty()) {
            return self.fail("E0017", op_span, format!("`{name}` needs a result type: `{name}.f32x4`"));
        }
        Ok(())
    }

    /// `(v0, v1)`, or nothing.
    fn arguments(&mut self) -> Parsed<Vec<AstValue>> {
        let mut out = Vec::new();
        if self.eat(b'(') {
            while !self.at_punct(b')') {
                out.push(self.value()?);
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b')')?;
        }
        Ok(out)
    }

    fn target(&mut self) -> Parsed<AstCall> {
        if !self.at_block_label() {
            return self.unexpected("a block such as `block1`");
        }
        let start = self.span();
        let block = numbered(self.bump(), "block").unwrap_or(0);
        let args = self.arguments()?;
        Ok(AstCall { block, span: self.span_from(start), args })
    }

    fn literal(&mut self, name: &str, ty: Type, span: Span) -> Parsed<[u32; 4]> {
        let float = name == "fconst" || (name == "const" && ty.is_float());
        if float != ty.is_float() {
            let right = if ty.is_float() { "fconst" } else { "iconst" };
            return self.fail("E0007", span, format!("`{name}` does not make constants of type {ty}: write `{right}.{ty}`"));
        }
        let lanes = usize::from(ty.lanes);
        let mut bits = [0; 4];
        if !self.at_punct(b'[') {
            let b = self.scalar_literal(ty.scalar)?;
            bits[..lanes].fill(b);
            return Ok(bits);
        }
        let start = self.span();
        self.bump();
        let mut n = 0;
        while !self.at_punct(b']') {
            let b = self.scalar_literal(ty.scalar)?;
            if let Some(x) = bits.get_mut(n) {
                *x = b;
            }
            n += 1;
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']')?;
        if n != lanes {
            let span = self.span_from(start);
            return self.fail("E0019", span, format!("a constant of type {ty} has {lanes} lanes, not {n}"));
        }
        Ok(bits)
    }

    fn scalar_literal(&mut self, ty: Scalar) -> Parsed<u32> {
        let (s, span) = (self.str(), self.span());
        if !matches!(self.peek(), Tok::Number | Tok::Word) {
            return self.unexpected("a number");
        }
        let v = match (ty, s) {
            (Scalar::I1, "true") => Some(1),
            (Scalar::I1, "false") => Some(0),
            (Scalar::F32 | Scalar::F16, _) => parse_float(ty, s),
            _ => parse_int(s),
        };
        match v {
            Some(v) => {
                self.bump();
                Ok(v)
            }
            None => self.fail("E0008", span, format!("`{s}` is not a constant of type {}", ty.name())),
        }
    }

    /// `%name`, `%name[3]`, `%name[v1]`, `%name[v1 + 3]`.
    fn place(&mut self, f: &AstFunc, op: Opcode) -> Parsed<(MemRef, u32, Option<AstValue>)> {
        let (name, span) = self.name()?;
        let var = match op {
            Opcode::Input => self.inputs.get(&name).map(|n| MemRef::Input(n.0)),
            Opcode::Output => self.outputs.get(&name).map(|n| MemRef::Output(n.0)),
            Opcode::Uniform => self.uniforms.get(&name).map(|n| MemRef::Uniform(n.0)),
            Opcode::LocalLoad | Opcode::LocalStore => f.local_names.get(&name).map(|n| MemRef::Local(n.0)),
            Opcode::SharedLoad | Opcode::SharedStore => self.shared.get(&name).map(|n| MemRef::Shared(n.0)),
            Opcode::Atomic => self.shared.get(&name).map(|n| MemRef::Shared(n.0)).or(self.storage.get(&name).map(|n| MemRef::Storage(n.0))),
            _ => self.storage.get(&name).map(|n| MemRef::Storage(n.0)),
        };
        let (mut offset, mut index) = (0, None);
        if self.eat(b'[') {
            if self.at_value() {
                index = Some(self.value()?);
                if self.eat(b'+') {
                    offset = self.number()?;
                }
            } else {
                offset = self.number()?;
            }
            self.expect(b']')?;
        }
        match var {
            Some(v) => Ok((v, offset, index)),
            None => {
                let kind = match op {
                    Opcode::Input => "input",
                    Opcode::Output => "output",
                    Opcode::Uniform => "uniform",
                    Opcode::LocalLoad | Opcode::LocalStore => "local array",
                    Opcode::SharedLoad | Opcode::SharedStore => "shared variable",
                    Opcode::Atomic => "shared variable or storage buffer",
                    _ => "storage buffer",
                };
                self.fail("E0012", span, format!("there is no {kind} `%{name}`"))
            }
        }
    }

    /// `sample bias compare offset(1, 0, 0) component(2) %tex`
    fn tex_info(&mut self) -> Parsed<TexInfo> {
        let Some(op) = TexOp::from_name(self.str()) else {
            return self.unexpected("a texture operation (sample, gather, fetch, size)");
        };
        self.bump();
        let mut info = TexInfo { op, texture: Texture::from_u32(0), lod: TexLod::Implicit, compare: false, offset: [0; 3], component: 0 };
        while self.peek() == Tok::Word {
            let s = self.str();
            if let Some(l) = TexLod::from_name(s) {
                info.lod = l;
                self.bump();
            } else if self.eat_word("compare") {
                info.compare = true;
            } else if self.eat_word("component") {
                self.expect(b'(')?;
                info.component = self.number()?.min(255) as u8;
                self.expect(b')')?;
            } else if self.eat_word("offset") {
                self.expect(b'(')?;
                for (k, o) in info.offset.iter_mut().enumerate() {
                    if k > 0 && !self.eat(b',') {
                        break;
                    }
                    let (span, v) = (self.span(), self.wide()?);
                    match i8::try_from(v) {
                        Ok(v) => *o = v,
                        Err(_) => return self.fail("E0008", span, format!("a texel offset is -128 … 127, not {v}")),
                    }
                }
                self.expect(b')')?;
            } else {
                return self.unexpected("a texture modifier or a texture such as `%tex`");
            }
        }
        info.texture = self.texture_name()?;
        Ok(info)
    }

    /// A texture that has been declared.
    pub(super) fn texture_name(&mut self) -> Parsed<Texture> {
        let (name, span) = self.name()?;
        match self.textures.get(&name) {
            Some(t) => Ok(t.0),
            None => self.fail("E0012", span, format!("there is no texture `%{name}`")),
        }
    }
}

/// The type of a load whose suffix is left out: the declaration's.
fn declared_type(m: &Module, f: &AstFunc, var: MemRef) -> Option<Type> {
    match var {
        MemRef::Input(i) => m.inputs.get(i).map(|d| d.ty),
        MemRef::Uniform(u) => m.uniforms.get(u).map(|d| d.ty),
        MemRef::Shared(s) => m.shared.get(s).map(|d| d.ty),
        MemRef::Local(l) => f.locals.get(l.as_u32() as usize).map(|d| d.ty),
        MemRef::Output(_) | MemRef::Storage(_) => None,
    }
}

/// The only result type that an operation with a written type can have.
fn default_type(op: Opcode) -> Option<Type> {
    use Opcode::*;
    match op {
        PackUnorm4x8 | PackSnorm4x8 | PackUnorm2x16 | PackSnorm2x16 | PackHalf2x16 => Some(I32),
        UnpackUnorm4x8 | UnpackSnorm4x8 => Some(F32.with_lanes(4)),
        UnpackUnorm2x16 | UnpackSnorm2x16 | UnpackHalf2x16 => Some(F32.with_lanes(2)),
        _ => None,
    }
}

impl From<Bail> for () {
    fn from(_: Bail) {}
}
