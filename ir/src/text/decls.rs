//! Declarations of the text form: inputs, outputs, uniforms, textures, storage, shared memory, local arrays, and what
//! the stage declares.

use super::insts::AstFunc;
use super::lexer::{Tok, unquote};
use super::parser::{Bail, Parsed, Parser};
use crate::diag::Span;
use crate::entities::*;
use crate::function::LocalDecl;
use crate::module::*;
use crate::types::{F32, I1, I32, Scalar, Type};

/// A declared type: element, array dimensions (outermost first, with explicit strides), and how the source spells it.
struct Shape {
    ty: Type,
    matrix: bool,
    columns: u32,
    dims: Vec<(u32, Option<u32>)>,
    source: Option<String>,
}

/// An attribute: `@name` with its arguments' place still ahead.
struct Attribute {
    name: String,
    span: Span,
}

impl Parser<'_> {
    /// A line before the entry's first block.
    pub(super) fn declaration(&mut self, m: &mut Module, entry: &mut AstFunc) -> Parsed<()> {
        if self.peek() != Tok::Word {
            return self.unexpected("a declaration or a block");
        }
        let span = self.span();
        match self.str() {
            "input" | "output" => self.io(m),
            "uniform" => self.uniform(m),
            "texture" => self.texture(m),
            "storage" => self.storage(m),
            "shared" => self.shared(m),
            "local" => self.local(entry),
            "workgroup_size" => {
                self.bump();
                self.expect(b'(')?;
                let mut size = [1; 3];
                for (i, s) in size.iter_mut().enumerate() {
                    if i > 0 && !self.eat(b',') {
                        break;
                    }
                    *s = self.number()?;
                }
                m.workgroup_size = size;
                self.expect(b')')
            }
            "early_depth" => {
                self.bump();
                m.early_depth = true;
                Ok(())
            }
            "geometry" => {
                self.bump();
                let input = self.primitive()?;
                if self.peek() != Tok::Arrow {
                    return self.unexpected("`->`");
                }
                self.bump();
                let output = self.primitive()?;
                let mut g = GeometryInfo { input, output, max_vertices: 0, invocations: 1 };
                loop {
                    if self.eat_word("max_vertices") {
                        g.max_vertices = self.in_parentheses()?;
                    } else if self.eat_word("invocations") {
                        g.invocations = self.in_parentheses()?;
                    } else {
                        break;
                    }
                }
                m.geometry = Some(g);
                Ok(())
            }
            other => {
                let m = if crate::Opcode::from_name(other.split('.').next().unwrap_or("")).is_some() {
                    "an instruction must stand in a block: write `block0:` before it".to_string()
                } else {
                    format!("expected a declaration or a block, found `{other}`")
                };
                self.fail("E0001", span, m)
            }
        }
    }

    fn primitive(&mut self) -> Parsed<Primitive> {
        match Primitive::from_name(self.str()) {
            Some(p) if self.peek() == Tok::Word => {
                self.bump();
                Ok(p)
            }
            _ => self.unexpected("a primitive (points, lines, triangles, triangle_strip …)"),
        }
    }
    fn in_parentheses(&mut self) -> Parsed<u32> {
        self.expect(b'(')?;
        let n = self.number()?;
        self.expect(b')')?;
        Ok(n)
    }
    fn range(&mut self) -> Parsed<(i64, i64)> {
        self.expect(b'(')?;
        let lo = self.wide()?;
        self.expect(b',')?;
        let hi = self.wide()?;
        self.expect(b')')?;
        Ok((lo, hi))
    }
    fn text_argument(&mut self) -> Parsed<String> {
        self.expect(b'(')?;
        let s = self.string()?;
        self.expect(b')')?;
        Ok(s)
    }
    fn attribute(&mut self) -> Option<Attribute> {
        (self.peek() == Tok::At).then(|| {
            let span = self.span();
            Attribute { name: unquote(&self.bump()[1..]), span }
        })
    }
    fn bad_attribute<T>(&mut self, a: &Attribute, what: &str) -> Parsed<T> {
        self.fail("E0016", a.span, format!("{what} have no attribute `@{}`", a.name))
    }
    fn new_name<E: Copy>(&mut self, what: &str, (name, span): &(String, Span), known: Option<(E, Span)>) -> Parsed<()> {
        if let Some((_, first)) = known {
            let d = crate::Diagnostic::error("E0009", *span, format!("{what} `%{name}` is declared twice")).note(first, "first here");
            self.report(d);
            return Err(Bail);
        }
        Ok(())
    }

    /// `f32x4[3]`, `mat4x3[2:64]`, `u32`; everything up to the attributes.
    fn shape(&mut self) -> Parsed<Shape> {
        self.expect(b':')?;
        if self.peek() != Tok::Word {
            return self.unexpected("a type");
        }
        let s = self.str();
        let mut shape = Shape { ty: F32, matrix: false, columns: 1, dims: Vec::new(), source: None };
        if let Some((c, r)) = s.strip_prefix("mat").and_then(|d| d.split_once('x')) {
            match (c.parse::<u32>(), r.parse::<u8>()) {
                (Ok(c @ 2..=4), Ok(r @ 2..=4)) => {
                    self.bump();
                    (shape.ty, shape.matrix, shape.columns) = (F32.with_lanes(r), true, c);
                }
                _ => shape.ty = self.ty()?,
            }
        } else {
            let (base, lanes) = s.split_once('x').map_or((s, ""), |(b, l)| (b, l));
            let scalar = match base {
                "u32" => Some(I32),
                "bool" => Some(I1),
                _ => None,
            };
            match (scalar, lanes) {
                (Some(t), "") => (shape.ty, shape.source) = (t, Some(base.to_string())),
                (Some(t), "2" | "3" | "4") => {
                    (shape.ty, shape.source) = (t.with_lanes(lanes.parse().unwrap_or(1)), Some(base.to_string()));
                }
                _ => shape.ty = self.ty()?,
            }
            if shape.source.is_some() {
                self.bump();
            }
        }
        while self.eat(b'[') {
            let n = self.number()?;
            let stride = if self.eat(b':') { Some(self.number()?) } else { None };
            self.expect(b']')?;
            shape.dims.push((n, stride));
        }
        Ok(shape)
    }

    /// The shape of an input, output, shared variable or local array: at most one dimension.
    fn simple_shape(&mut self) -> Parsed<(Type, u32, Option<String>)> {
        let start = self.span();
        let s = self.shape()?;
        let span = self.span_from(start);
        if s.matrix || s.dims.len() > 1 || s.dims.iter().any(|d| d.1.is_some()) {
            return self.fail("E0007", span, "expected a scalar or vector type with at most one `[count]`");
        }
        let source = s.source.map(|b| if s.ty.lanes > 1 { format!("{b}x{}", s.ty.lanes) } else { b });
        Ok((s.ty, s.dims.first().map_or(1, |d| d.0), source))
    }

    fn io(&mut self, m: &mut Module) -> Parsed<()> {
        let start = self.span();
        let input = self.bump() == "input";
        let name = self.name()?;
        if input {
            let known = self.inputs.get(&name.0).copied();
            self.new_name("input", &name, known)?;
        } else {
            let known = self.outputs.get(&name.0).copied();
            self.new_name("output", &name, known)?;
        }
        // Registered before the rest is read, so that a faulty line does not make every use an error.
        let mut d = IoDecl::new(&name.0, F32, Binding::Location(0));
        d.span = name.1;
        if input {
            self.inputs.insert(name.0.clone(), (m.inputs.push(d.clone()), name.1));
        } else {
            self.outputs.insert(name.0.clone(), (m.outputs.push(d.clone()), name.1));
        }
        let (ty, count, source) = self.simple_shape()?;
        (d.ty, d.count, d.source_type) = (ty, count, source);
        d.interpolation = if ty.is_float() { Interpolation::Perspective } else { Interpolation::Flat };
        let mut bound = false;
        while let Some(a) = self.attribute() {
            match a.name.as_str() {
                "location" => (d.binding, bound) = (Binding::Location(self.in_parentheses()?), true),
                "builtin" => {
                    self.expect(b'(')?;
                    match Builtin::from_name(self.str()) {
                        Some(b) => (d.binding, bound) = (Binding::Builtin(b), true),
                        None => return self.unexpected("a builtin's name"),
                    }
                    self.bump();
                    self.expect(b')')?;
                }
                "unplaced" => d.unplaced = true,
                "linked" => d.linked = Some(self.text_argument()?),
                "blend_source" => d.blend_source = self.in_parentheses()?.min(255) as u8,
                "range" => d.range = Some(self.range()?),
                "type" => d.source_type = Some(self.text_argument()?),
                other => {
                    if let Some(i) = Interpolation::from_name(other) {
                        d.interpolation = i;
                    } else if let Some(s) = Sampling::from_name(other) {
                        d.sampling = s;
                    } else if let Some(b) = Builtin::from_name(other) {
                        (d.binding, bound) = (Binding::Builtin(b), true);
                    } else {
                        return self.bad_attribute(&a, "inputs and outputs");
                    }
                }
            }
        }
        d.span = self.span_from(start);
        let span = d.span;
        if input {
            if let Some(x) = m.inputs.values_mut().next_back() {
                *x = d;
            }
        } else if let Some(x) = m.outputs.values_mut().next_back() {
            *x = d;
        }
        if !bound {
            return self.fail("E0016", span, "expected `@location(n)` or a builtin such as `@position`");
        }
        Ok(())
    }

    fn uniform(&mut self, m: &mut Module) -> Parsed<()> {
        let start = self.span();
        self.bump();
        let name = self.name()?;
        let known = self.uniforms.get(&name.0).copied();
        self.new_name("uniform", &name, known)?;
        let id = m.uniforms.push(UniformDecl {
            name: name.0.clone(),
            ty: F32,
            dims: Vec::new(),
            matrix: false,
            rows: false,
            unit: 4,
            group: 0,
            binding: 0,
            offset: 0,
            range: None,
            source_type: None,
            size_of: None,
            span: name.1,
        });
        self.uniforms.insert(name.0.clone(), (id, name.1));
        let s = self.shape()?;
        let mut dims = s.dims;
        if s.matrix {
            dims.push((s.columns, None));
        }
        // Strides not written: 16 bytes innermost, and what an array contains outside.
        let mut out = Vec::with_capacity(dims.len());
        let mut next = 16u32;
        for (count, stride) in dims.iter().rev() {
            let stride = stride.unwrap_or(next);
            out.push(Dim { count: *count, stride });
            next = stride.saturating_mul(*count);
        }
        out.reverse();
        let mut d = m.uniforms[id].clone();
        (d.ty, d.matrix, d.source_type) = (s.ty, s.matrix, s.source);
        d.unit = default_unit(s.ty, &out);
        d.dims = out;
        while let Some(a) = self.attribute() {
            match a.name.as_str() {
                "binding" => d.binding = self.in_parentheses()?,
                "group" => d.group = self.in_parentheses()?,
                "offset" => d.offset = self.in_parentheses()?,
                "unit" => d.unit = self.in_parentheses()?,
                "matrix" => d.matrix = true,
                "row_major" => d.rows = true,
                "range" => d.range = Some(self.range()?),
                "type" => d.source_type = Some(self.text_argument()?),
                "size_of" => {
                    self.expect(b'(')?;
                    d.size_of = Some(self.texture_name()?);
                    self.expect(b')')?;
                }
                _ => return self.bad_attribute(&a, "uniforms"),
            }
        }
        d.span = self.span_from(start);
        m.uniforms[id] = d;
        Ok(())
    }

    fn texture(&mut self, m: &mut Module) -> Parsed<()> {
        let start = self.span();
        self.bump();
        let name = self.name()?;
        let known = self.textures.get(&name.0).copied();
        self.new_name("texture", &name, known)?;
        let id = m.textures.push(TextureDecl { span: name.1, ..TextureDecl::new(&name.0, TexDim::D2, 0) });
        self.textures.insert(name.0.clone(), (id, name.1));
        let mut d = m.textures[id].clone();
        self.expect(b':')?;
        match TexDim::from_name(self.str()) {
            Some(dim) => d.dim = dim,
            None => return self.unexpected("a dimension (1d, 2d, 3d, cube)"),
        }
        self.bump();
        while self.peek() == Tok::Word {
            match self.str() {
                "array" => d.arrayed = true,
                "shadow" => d.shadow = true,
                "multisampled" => d.multisampled = true,
                "f32" => (d.kind, d.signed) = (Scalar::F32, false),
                "i32" => (d.kind, d.signed) = (Scalar::I32, true),
                "u32" => (d.kind, d.signed) = (Scalar::I32, false),
                _ => return self.unexpected("array, shadow, multisampled, f32, i32 or u32"),
            }
            self.bump();
        }
        while let Some(a) = self.attribute() {
            match a.name.as_str() {
                "binding" => d.binding = self.in_parentheses()?,
                "group" => d.group = self.in_parentheses()?,
                "sampler" => d.sampler = Some(self.text_argument()?),
                _ => return self.bad_attribute(&a, "textures"),
            }
        }
        d.span = self.span_from(start);
        m.textures[id] = d;
        Ok(())
    }

    /// `f32, i32*3`: words of a storage buffer, up to the closing parenthesis.
    fn words(&mut self) -> Parsed<Vec<Scalar>> {
        let mut out = Vec::new();
        self.expect(b'(')?;
        while !self.at_punct(b')') {
            let span = self.span();
            let ty = self.ty()?;
            if ty.lanes != 1 {
                return self.fail("E0007", span, "the words of a buffer are scalars");
            }
            let n = if self.eat(b'*') { self.number()? } else { 1 };
            if out.len() + n as usize > 1 << 20 {
                return self.fail(
                    super::LIMIT_CODE,
                    span,
                    format!("too many words (needed {}, available {})", out.len() as u64 + u64::from(n), 1 << 20),
                );
            }
            out.extend(std::iter::repeat_n(ty.scalar, n as usize));
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')')?;
        Ok(out)
    }

    fn storage(&mut self, m: &mut Module) -> Parsed<()> {
        let start = self.span();
        self.bump();
        let name = self.name()?;
        let known = self.storage.get(&name.0).map(|k| k.1).or(self.shared.get(&name.0).map(|k| k.1)).map(|s| ((), s));
        self.new_name("storage or shared variable", &name, known)?;
        let id = m.storage.push(StorageDecl {
            name: name.0.clone(),
            head: Vec::new(),
            repeat: Vec::new(),
            source_type: String::new(),
            access: Access::ReadWrite,
            group: 0,
            binding: 0,
            span: name.1,
        });
        self.storage.insert(name.0.clone(), (id, name.1));
        let mut d = m.storage[id].clone();
        self.expect(b':')?;
        if self.eat_word("struct") {
            d.head = self.words()?;
            if self.eat_word("array") {
                d.repeat = self.words()?;
            }
        } else if self.eat_word("array") {
            d.repeat = self.words()?;
        } else {
            let ty = self.ty()?;
            self.expect(b'[')?;
            self.expect(b']')?;
            d.repeat = vec![ty.scalar; ty.lanes as usize];
            d.source_type = array_type(ty);
        }
        while let Some(a) = self.attribute() {
            match a.name.as_str() {
                "binding" => d.binding = self.in_parentheses()?,
                "group" => d.group = self.in_parentheses()?,
                "type" => d.source_type = self.text_argument()?,
                "access" => {
                    self.expect(b'(')?;
                    match Access::from_name(self.str()) {
                        Some(a) => d.access = a,
                        None => return self.unexpected("read, write or read_write"),
                    }
                    self.bump();
                    self.expect(b')')?;
                }
                _ => return self.bad_attribute(&a, "storage buffers"),
            }
        }
        d.span = self.span_from(start);
        m.storage[id] = d;
        Ok(())
    }

    fn shared(&mut self, m: &mut Module) -> Parsed<()> {
        let start = self.span();
        self.bump();
        let name = self.name()?;
        let known = self.storage.get(&name.0).map(|k| k.1).or(self.shared.get(&name.0).map(|k| k.1)).map(|s| ((), s));
        self.new_name("storage or shared variable", &name, known)?;
        let id = m.shared.push(SharedDecl { name: name.0.clone(), ty: F32, count: 1, span: name.1 });
        self.shared.insert(name.0.clone(), (id, name.1));
        let (ty, count, _) = self.simple_shape()?;
        let span = self.span_from(start);
        m.shared[id] = SharedDecl { name: name.0, ty, count, span };
        Ok(())
    }

    /// `local %name : type[count]`
    pub(super) fn local(&mut self, f: &mut AstFunc) -> Parsed<()> {
        self.bump();
        let name = self.name()?;
        let known = f.local_names.get(&name.0).copied();
        self.new_name("local array", &name, known)?;
        f.local_names.insert(name.0.clone(), (Local::from_u32(f.locals.len() as u32), name.1));
        f.locals.push(LocalDecl { name: name.0, ty: F32, count: 1 });
        let (ty, count, _) = self.simple_shape()?;
        if let Some(l) = f.locals.last_mut() {
            (l.ty, l.count) = (ty, count);
        }
        Ok(())
    }
}

/// The step of an index where none is written: 16 bytes in arrays and matrices, else the element's size.
pub(super) fn default_unit(ty: Type, dims: &[Dim]) -> u32 {
    if dims.is_empty() { u32::from(ty.lanes) * 4 } else { 16 }
}

/// The source type that `T[]` stands for.
pub(super) fn array_type(ty: Type) -> String {
    let s = ty.scalar.name();
    if ty.lanes == 1 { format!("array<{s}>") } else { format!("array<vec{}<{s}>>", ty.lanes) }
}
