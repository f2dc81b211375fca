//! The parser's frame: token cursor, error collection, and the order of a file's parts.
//!
//! A file is the `shader` line, declarations, the entry's blocks, and helper functions in braces, in that order of
//! declarations before code. Each statement is a line; after an error the rest of the line is skipped.

use super::MAX_ERRORS;
use super::insts::AstFunc;
use super::lexer::{Tok, Token, lex, unquote};
use crate::diag::{Diagnostic, FileId, Span};
use crate::entities::*;
use crate::module::{Module, Stage};
use crate::types::Type;
use std::collections::HashMap;

/// Parsing a line failed; the error has been reported.
pub(super) struct Bail;
pub(super) type Parsed<T> = Result<T, Bail>;

/// Declared names of one kind, with the place of the declaration.
pub(super) type Names<E> = HashMap<String, (E, Span)>;

pub(super) struct Parser<'a> {
    pub(super) file: FileId,
    pub(super) text: &'a str,
    tokens: Vec<Token>,
    pos: usize,
    pub(super) errors: Vec<Diagnostic>,
    pub(super) inputs: Names<Input>,
    pub(super) outputs: Names<Output>,
    pub(super) uniforms: Names<Uniform>,
    pub(super) textures: Names<Texture>,
    pub(super) storage: Names<Storage>,
    pub(super) shared: Names<Shared>,
}

/// Parses a whole file.
pub(super) fn run(file: FileId, text: &str) -> Result<Module, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let tokens = lex(file, text, &mut errors);
    // Binary data has nothing that the parser could add.
    if errors.iter().any(|e| e.code == "E0002") {
        return Err(errors);
    }
    let mut p = Parser {
        file,
        text,
        tokens,
        pos: 0,
        errors,
        inputs: HashMap::new(),
        outputs: HashMap::new(),
        uniforms: HashMap::new(),
        textures: HashMap::new(),
        storage: HashMap::new(),
        shared: HashMap::new(),
    };
    let module = p.module();
    match module {
        Ok(m) if p.errors.is_empty() => Ok(m),
        _ => {
            p.errors.sort_by_key(|e| e.span.start);
            p.errors.truncate(MAX_ERRORS);
            Err(p.errors)
        }
    }
}

impl<'a> Parser<'a> {
    // ---- tokens ----

    pub(super) fn peek(&self) -> Tok {
        self.tokens[self.pos].tok
    }
    pub(super) fn span(&self) -> Span {
        let t = self.tokens[self.pos];
        Span::new(self.file, t.start, t.end)
    }
    /// The text of the token at hand.
    pub(super) fn str(&self) -> &'a str {
        let t = self.tokens[self.pos];
        &self.text[t.start as usize..t.end as usize]
    }
    /// From the start of `from` to the end of the last token taken.
    pub(super) fn span_from(&self, from: Span) -> Span {
        let end = self.tokens[self.pos.saturating_sub(1)].end;
        Span::new(self.file, from.start, end.max(from.start))
    }
    pub(super) fn bump(&mut self) -> &'a str {
        let s = self.str();
        if self.peek() != Tok::Eof {
            self.pos += 1;
        }
        s
    }
    pub(super) fn at_word(&self, w: &str) -> bool {
        self.peek() == Tok::Word && self.str() == w
    }
    pub(super) fn eat_word(&mut self, w: &str) -> bool {
        let yes = self.at_word(w);
        if yes {
            self.bump();
        }
        yes
    }
    pub(super) fn at_punct(&self, c: u8) -> bool {
        self.peek() == Tok::Punct(c)
    }
    pub(super) fn eat(&mut self, c: u8) -> bool {
        let yes = self.at_punct(c);
        if yes {
            self.bump();
        }
        yes
    }
    pub(super) fn expect(&mut self, c: u8) -> Parsed<()> {
        if self.eat(c) { Ok(()) } else { self.unexpected(&format!("`{}`", c as char)) }
    }

    // ---- errors ----

    pub(super) fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }
    pub(super) fn report(&mut self, d: Diagnostic) {
        // Lines are parsed in order but resolved later, so more are kept than shown; the earliest win.
        if self.errors.len() < 8 * MAX_ERRORS {
            self.errors.push(d);
        }
    }
    pub(super) fn fail<T>(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Parsed<T> {
        self.error(code, span, message);
        Err(Bail)
    }
    /// Reports that something else was expected here.
    pub(super) fn unexpected<T>(&mut self, wanted: &str) -> Parsed<T> {
        let found = match self.peek() {
            Tok::Newline => "the end of the line".to_string(),
            Tok::Eof => "the end of the file".to_string(),
            _ => {
                let s = self.str();
                format!("`{}`", s.chars().take(40).collect::<String>())
            }
        };
        let span = self.span();
        self.fail("E0001", span, format!("expected {wanted}, found {found}"))
    }
    /// Skips the rest of a faulty line.
    pub(super) fn recover(&mut self) {
        while !matches!(self.peek(), Tok::Newline | Tok::Eof) {
            self.pos += 1;
        }
    }
    pub(super) fn end_line(&mut self) -> Parsed<()> {
        match self.peek() {
            Tok::Newline => {
                self.bump();
                Ok(())
            }
            Tok::Eof => Ok(()),
            _ => self.unexpected("the end of the line"),
        }
    }
    pub(super) fn skip_newlines(&mut self) {
        while self.peek() == Tok::Newline {
            self.bump();
        }
    }

    // ---- small pieces ----

    /// An unsigned number of 32 bits.
    pub(super) fn number(&mut self) -> Parsed<u32> {
        if self.peek() != Tok::Number {
            return self.unexpected("a number");
        }
        let (s, span) = (self.str(), self.span());
        match super::numbers::parse_wide(s).and_then(|v| u32::try_from(v).ok()) {
            Some(v) => {
                self.bump();
                Ok(v)
            }
            None => self.fail("E0008", span, format!("`{s}` is not an unsigned number of 32 bits")),
        }
    }
    /// A number of up to 64 bits with sign.
    pub(super) fn wide(&mut self) -> Parsed<i64> {
        if self.peek() != Tok::Number {
            return self.unexpected("a number");
        }
        let (s, span) = (self.str(), self.span());
        match super::numbers::parse_wide(s) {
            Some(v) => {
                self.bump();
                Ok(v)
            }
            None => self.fail("E0008", span, format!("`{s}` is not an integer of 64 bits")),
        }
    }
    pub(super) fn string(&mut self) -> Parsed<String> {
        if self.peek() != Tok::Str {
            return self.unexpected("a quoted name");
        }
        Ok(unquote(self.bump()))
    }
    /// A type of the IR.
    pub(super) fn ty(&mut self) -> Parsed<Type> {
        if self.peek() != Tok::Word {
            return self.unexpected("a type");
        }
        let (s, span) = (self.str(), self.span());
        match Type::parse(s) {
            Some(t) => {
                self.bump();
                Ok(t)
            }
            None => self.fail("E0007", span, format!("there is no type `{s}` (types are i1, i32, f32, f16, and x2, x3, x4 of these)")),
        }
    }
    /// `%name`, with its place.
    pub(super) fn name(&mut self) -> Parsed<(String, Span)> {
        if self.peek() != Tok::Name {
            return self.unexpected("a name with `%`");
        }
        let span = self.span();
        Ok((unquote(&self.bump()[1..]), span))
    }

    // ---- the file ----

    fn module(&mut self) -> Parsed<Module> {
        self.skip_newlines();
        if self.peek() == Tok::Eof {
            let span = Span::new(self.file, 0, 0);
            return self.fail("E0004", span, "the file is empty: expected `shader STAGE \"NAME\"`");
        }
        let mut module = match self.header() {
            Ok(m) => m,
            Err(Bail) => {
                // Not a shader at all: further errors would be noise. A faulty header of a shader: go on.
                if !self.text.trim_start().starts_with("shader") && !self.text.contains("\nshader ") {
                    return Err(Bail);
                }
                self.recover();
                Module::new("main", Stage::Vertex)
            }
        };
        let mut entry = AstFunc::default();
        let mut helpers: Vec<AstFunc> = Vec::new();
        loop {
            self.skip_newlines();
            if self.peek() == Tok::Eof {
                break;
            }
            if self.at_word("func") {
                match self.helper(&mut module) {
                    Ok(f) => helpers.push(f),
                    Err(Bail) => self.recover(),
                }
                continue;
            }
            let line = if entry.blocks.is_empty() && !self.at_block_label() {
                self.declaration(&mut module, &mut entry)
            } else {
                self.code_line(&module, &mut entry)
            };
            if line.and_then(|()| self.end_line()).is_err() {
                self.recover();
            }
        }
        if entry.blocks.is_empty() {
            let end = self.span();
            self.error("E0021", end, "the entry has no block");
        }
        self.resolve(&mut module, entry, helpers);
        if self.errors.is_empty() { Ok(module) } else { Err(Bail) }
    }

    fn header(&mut self) -> Parsed<Module> {
        if !self.eat_word("shader") {
            return self.unexpected("`shader STAGE \"NAME\"`");
        }
        let (s, span) = (self.str(), self.span());
        let Some(stage) = Stage::from_name(s) else {
            return self.fail("E0001", span, format!("expected a stage (vertex, geometry, fragment or compute), found `{s}`"));
        };
        self.bump();
        let name = self.string()?;
        if self.end_line().is_err() {
            self.recover();
        }
        Ok(Module::new(&name, stage))
    }

    /// `func @name(v0: f32) -> f32 {` … `}`
    fn helper(&mut self, module: &mut Module) -> Parsed<AstFunc> {
        let start = self.span();
        self.bump();
        if self.peek() != Tok::At {
            return self.unexpected("a function name with `@`");
        }
        let name = unquote(&self.bump()[1..]);
        let mut f = AstFunc { name, ..AstFunc::default() };
        f.params = self.params()?;
        if self.peek() == Tok::Arrow {
            self.bump();
            loop {
                f.results.push(self.ty()?);
                if !self.eat(b',') {
                    break;
                }
            }
        }
        f.span = self.span_from(start);
        self.expect(b'{')?;
        if self.end_line().is_err() {
            self.recover();
        }
        loop {
            self.skip_newlines();
            if self.peek() == Tok::Eof || self.at_word("func") {
                let _ = self.unexpected::<()>("`}`");
                break;
            }
            if self.eat(b'}') {
                if self.end_line().is_err() {
                    self.recover();
                }
                break;
            }
            let line = if self.at_word("local") && f.blocks.is_empty() { self.local(&mut f) } else { self.code_line(module, &mut f) };
            if line.and_then(|()| self.end_line()).is_err() {
                self.recover();
            }
        }
        if f.blocks.is_empty() {
            self.error("E0021", f.span, format!("function `@{}` has no block", f.name));
        }
        Ok(f)
    }
}
