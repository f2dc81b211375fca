//! The file assembler for picasso's language: directives, procedures, blocks, padding NOPs, labels, the container.
//!
//! Facts: ISA sheet sections 11 (padding rules), 14 (tables), 16 (language). A line `;;;; file` begins another program,
//! as a further file on picasso's command line does: symbols start afresh, code and descriptors are shared. Other marks
//! that picasso takes for comments say what its language cannot: `;;;; name` and `;;;; uniform`.

use crate::abi::semantics::DUMMY;
use crate::container::{Constant, Executable, MEANT_OUTPUTS, OUTPUT_TYPES, OutputEntry, Shbin, UniformEntry, header, numbering};
use crate::emit::descriptors;
use crate::isa::forms::Op;
use crate::isa::parse::{Named, Names, Parsed, components, is_name, mask_of, number, parse_statement, plain_register, strip_comment};
use crate::isa::registers::{FLOAT_UNIFORMS, IDENTITY, Index, Reg, mask_text as mask_text_of};
use crate::isa::word::{Instr, encode, encode_with};
use crate::legal::numerics::to_bits24;
use indexmap::IndexMap;
use retroshade_lower::{AsmOutput, TextError};

/// Separates the programs of one text, as files on picasso's command line are separate.
pub const FILE_MARK: &str = ";;;; file";
/// Behind a mark: the program's uniforms have places of their own. Without it vertex programs share theirs by name.
pub const OWN_UNIFORMS: &str = "own uniforms";
/// Behind a declaration: the name in the file, where an identifier cannot say it.
pub const NAME_MARK: &str = ";;;; name ";
/// A uniform that lies over others: its first register, how many, its name.
pub const UNIFORM_MARK: &str = ";;;; uniform ";
/// Words of vertex code that the loader takes.
pub const VERTEX_WORDS: usize = 512;

/// A uniform as the header names it.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The identifier.
    pub name: String,
    /// First number, as in the container's tables.
    pub first: u16,
    /// Number of registers.
    pub size: u16,
    /// Whether it belongs to a geometry program that shares none with vertex programs.
    pub geometry: bool,
}

/// A C-style name as picasso exports it: `$` becomes `.`.
fn exported(name: &str) -> String {
    name.replace('$', ".")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    Proc,
    If,
    Else,
    Loop,
}

#[derive(Debug)]
struct Block {
    kind: BlockKind,
    /// The flow instruction.
    at: usize,
    /// First word of the block.
    start: usize,
    /// Where the else part began.
    else_at: usize,
    name: String,
    line: u32,
}

/// Places of uniforms by kind, and those that already have names.
#[derive(Clone, Default)]
struct Space {
    next: [u8; 3],
    names: IndexMap<String, (Kind, u8, u8)>,
}

/// A kind of uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Float,
    Int,
    Bool,
}

impl Kind {
    /// Its registers, and its first number in the container's tables.
    fn registers(self) -> (u8, u16) {
        match self {
            Kind::Float => (FLOAT_UNIFORMS, numbering::FLOAT),
            Kind::Int => (4, numbering::INT),
            Kind::Bool => (16, numbering::BOOL),
        }
    }
}

/// Symbols of one program.
#[derive(Default)]
struct Symbols {
    aliases: IndexMap<String, Named>,
    bools: IndexMap<String, u8>,
    ints: IndexMap<String, u8>,
}

impl Names for Symbols {
    fn register(&self, name: &str) -> Option<Named> {
        self.aliases.get(name).copied()
    }
    fn uniform(&self, kind: char, name: &str) -> Option<u8> {
        if kind == 'b' { self.bools.get(name).copied() } else { self.ints.get(name).copied() }
    }
}

/// What is shared by the programs of one text.
#[derive(Default)]
struct Assembler {
    code: Vec<Instr>,
    lines: Vec<u32>,
    errors: Vec<TextError>,
    labels: IndexMap<String, usize>,
    procs: IndexMap<String, (usize, usize)>,
    label_uses: Vec<(usize, String, u32)>,
    proc_uses: Vec<(usize, String, u32)>,
    blocks: Vec<Block>,
    /// Position right after the last block end, where a further end needs a NOP.
    last_end: Option<usize>,
    program: Program,
    /// What the vertex programs so far have declared.
    shared: Space,
    executables: Vec<Executable>,
    /// The procedure where each of them starts, and the line that its file ends at.
    entries: Vec<(String, u32)>,
    warnings: Vec<TextError>,
    /// Whether NOPs that a block's end needs are put in.
    pad: bool,
    /// Uniforms in the order of their declarations, for the header.
    declared: Vec<Declared>,
    /// Whether the first file is a geometry program.
    geometry_first: Option<bool>,
}

/// One program's directives.
#[derive(Default)]
struct Program {
    symbols: Symbols,
    exe: Executable,
    entry: Option<String>,
    no_dvle: bool,
    space: Space,
    /// A geometry program whose mode is told: it shares no uniforms with vertex programs.
    own_space: bool,
    top_float: u8,
    top_int: u8,
    /// Components of each output register that have a type.
    outputs: [u8; 16],
    /// The name in the file of what the line declares.
    real: Option<String>,
    /// Lines of an open `.constfa`.
    array: Option<(String, Option<usize>, Vec<[f32; 4]>)>,
}

impl Program {
    fn new(space: Space) -> Program {
        Program { space, top_float: FLOAT_UNIFORMS, top_int: 4, ..Program::default() }
    }

    /// Whether its uniforms are a geometry program's own: the mode is told.
    fn geometry_space(&self) -> bool {
        self.exe.geometry && self.own_space
    }

    /// How many output registers it may write.
    fn output_registers(&self) -> u8 {
        if self.exe.geometry { MEANT_OUTPUTS } else { 16 }
    }
}

/// Assembles a text; `pad` says whether NOPs that blocks need at their ends are put in.
pub fn assemble(source: &str, pad: bool) -> Result<AsmOutput, Vec<TextError>> {
    let mut a = Assembler { program: Program::new(Space::default()), pad, ..Assembler::default() };
    for (n, line) in source.lines().enumerate() {
        let number = n as u32 + 1;
        if let Some(rest) = line.strip_prefix(FILE_MARK) {
            if a.started() {
                a.finish_program(number);
            }
            if rest.trim_end().ends_with(OWN_UNIFORMS) {
                a.program.space = Space::default();
                a.program.own_space = true;
            }
            continue;
        }
        if let Some(rest) = line.strip_prefix(UNIFORM_MARK) {
            if let Err(e) = a.over_others(rest) {
                a.error(e, number, line);
            }
            continue;
        }
        a.program.real = line.split_once(NAME_MARK).map(|(_, name)| name.trim_end().to_string());
        // What a preprocessor leaves of file names and lines.
        if line.trim_start().starts_with('#') {
            continue;
        }
        if let Err(e) = a.line(line, number) {
            a.error(e, number, line);
        }
    }
    a.finish_program(source.lines().count() as u32);
    a.finish()
}

fn fail<T>(message: impl Into<String>) -> Parsed<T> {
    Err(TextError::new(message))
}

impl Assembler {
    /// Whether the program has said anything yet.
    fn started(&self) -> bool {
        !self.code.is_empty() || !self.executables.is_empty() || self.program.entry.is_some() || !self.program.symbols.aliases.is_empty()
    }

    fn error(&mut self, e: TextError, line: u32, text: &str) {
        let column = if e.column > 0 { e.column } else { (text.len() - text.trim_start().len()) as u32 + 1 };
        if self.errors.len() < 20 {
            self.errors.push(TextError { line, column, ..e });
        }
    }

    fn emit(&mut self, i: Instr, line: u32) {
        self.code.push(i);
        self.lines.push(line);
    }

    fn line(&mut self, line: &str, number: u32) -> Parsed<()> {
        let mut text = strip_comment(line).trim();
        // Labels may precede a statement; a colon stands nowhere else.
        while let Some((name, rest)) = text.split_once(':') {
            let name = name.trim();
            if !is_name(name) {
                return fail(format!("`{name}` is not a label"));
            }
            if self.labels.insert(name.to_string(), self.code.len()).is_some() {
                return fail(format!("label `{name}` is defined twice"));
            }
            text = rest.trim();
        }
        if text.is_empty() {
            return Ok(());
        }
        if text.starts_with('(') && self.program.array.is_some() {
            return self.array_line(text);
        }
        if let Some(rest) = text.strip_prefix('.') {
            let (word, args) = rest.split_once(|c: char| c.is_whitespace() || c == '(').map_or((rest, ""), |(w, _)| (w, &rest[w.len()..]));
            return self.directive(&word.to_ascii_lowercase(), args.trim(), number);
        }
        if self.blocks.is_empty() {
            return fail("instructions stand inside a procedure");
        }
        let at = self.code.len();
        let statement = parse_statement(text, &self.program.symbols).and_then(|s| match s.as_ref().map(|s| encode(&s.instr)) {
            Some(Err(e)) => fail(e.to_string()),
            _ => Ok(s),
        });
        let s = match statement {
            Ok(Some(s)) => s,
            Ok(None) => return Ok(()),
            Err(e) => {
                // What is wrong with the head of a block is not wrong with what stands in it.
                let kind = match text.split_whitespace().next().map(str::to_ascii_lowercase).as_deref() {
                    Some("ifc" | "ifu") => Some(BlockKind::If),
                    Some("for") => Some(BlockKind::Loop),
                    _ => None,
                };
                if let Some(kind) = kind {
                    self.blocks.push(Block { kind, at, start: at + 1, else_at: 0, name: String::new(), line: number });
                    self.emit(Instr::new(Op::Nop), number);
                }
                return Err(e);
            }
        };
        // An older way to say what the program is.
        if s.instr.op == Op::Setemit {
            self.program.exe.geometry = true;
        }
        if let Reg::O(n) = s.instr.dst
            && s.instr.writes_register()
            && n >= self.program.output_registers()
        {
            return fail(format!("geometry programs write o0 to o{}, not o{n}", MEANT_OUTPUTS - 1));
        }
        let kind = match s.instr.op {
            Op::Ifc | Op::Ifu => Some(BlockKind::If),
            Op::For => Some(BlockKind::Loop),
            _ => None,
        };
        if let Some(kind) = kind {
            self.blocks.push(Block { kind, at, start: at + 1, else_at: 0, name: String::new(), line: number });
        }
        if let Some(l) = s.label {
            self.label_uses.push((at, l, number));
        }
        if let Some(p) = s.procedure {
            self.proc_uses.push((at, p, number));
        }
        self.emit(s.instr, number);
        Ok(())
    }

    /// The NOP that a block's end needs (ISA sheet section 11, rule 1).
    fn pad(&mut self, b: &Block, line: u32) {
        let here = self.code.len();
        let empty = here == b.start && b.kind != BlockKind::Else;
        let ends_meet = self.last_end == Some(here);
        let label_here = b.kind != BlockKind::Proc && self.labels.values().any(|at| *at == here);
        let flow = here > b.start
            && match self.code[here - 1].op {
                Op::Jmpc | Op::Jmpu | Op::Call | Op::Callc | Op::Callu => true,
                Op::Break | Op::Breakc => b.kind == BlockKind::Loop,
                _ => false,
            };
        if !(empty || ends_meet || flow || label_here) {
            return;
        }
        if self.pad {
            self.emit(Instr::new(Op::Nop), line);
        } else {
            self.warnings.push(TextError::at(line, 1, "the block needs a NOP here"));
        }
    }

    fn directive(&mut self, word: &str, args: &str, line: u32) -> Parsed<()> {
        match word {
            "proc" => {
                if !self.blocks.is_empty() {
                    return fail("procedures do not nest");
                }
                if !is_name(args) {
                    return fail(format!("`{args}` is not a name"));
                }
                let at = self.code.len();
                self.last_end = None;
                self.blocks.push(Block { kind: BlockKind::Proc, at, start: at, else_at: 0, name: args.to_string(), line });
            }
            "else" => {
                let Some(b) = self.blocks.pop() else { return fail("`.else` outside a block") };
                if b.kind != BlockKind::If {
                    self.blocks.push(b);
                    return fail("`.else` belongs to `ifc` and `ifu`");
                }
                self.pad(&b, line);
                let here = self.code.len();
                self.last_end = None;
                self.blocks.push(Block { kind: BlockKind::Else, start: here, else_at: here, ..b });
            }
            "end" => return self.end(line),
            "entry" => {
                if !is_name(args) {
                    return fail(format!("`{args}` is not a name"));
                }
                self.program.entry = Some(args.to_string());
            }
            "nodvle" => self.program.no_dvle = true,
            "fvec" | "ivec" | "bool" => {
                let kind = match word {
                    "fvec" => Kind::Float,
                    "ivec" => Kind::Int,
                    _ => Kind::Bool,
                };
                for item in args.split(',').map(str::trim).filter(|i| !i.is_empty()) {
                    self.uniform(kind, item)?;
                }
            }
            "constf" => {
                let (name, v) = named_tuple(args)?;
                let v = floats(&v)?;
                let n = self.constant_register(1)?;
                self.float_constant(n, v);
                self.name(name, Reg::C(n))?;
            }
            "consti" => {
                let (name, v) = named_tuple(args)?;
                let v = bytes(&v)?;
                if self.program.top_int <= self.program.space.next[Kind::Int as usize] {
                    return fail("no integer register is left");
                }
                self.program.top_int -= 1;
                let n = self.program.top_int;
                self.program.exe.constants.push(Constant::Int(n as u16, v));
                self.unused(name)?;
                self.program.symbols.ints.insert(name.to_string(), n);
            }
            "constfa" if self.program.array.is_some() => return self.array_line(args),
            "constfa" => {
                let (name, size) = array_name(args)?;
                if !args.contains('[') || size == Some(0) {
                    return fail("`.constfa` takes name[] or name[size]");
                }
                self.unused(name)?;
                self.program.array = Some((name.to_string(), size, Vec::new()));
            }
            "setf" | "seti" => {
                let (name, v) = named_tuple(args)?;
                if word == "setf" {
                    let reg = self.program.symbols.register(name).map(|n| n.reg).or_else(|| plain_register(name));
                    let Some(Reg::C(n)) = reg else { return fail(format!("`{name}` is not a float uniform")) };
                    self.float_constant(n, floats(&v)?);
                } else {
                    let n = crate::isa::parse::uniform('i', name, &self.program.symbols)?;
                    self.program.exe.constants.push(Constant::Int(n as u16, bytes(&v)?));
                }
            }
            "setb" => {
                let (name, v) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
                let n = crate::isa::parse::uniform('b', name, &self.program.symbols)?;
                let v = match v.trim().to_ascii_lowercase().as_str() {
                    "true" | "on" | "1" => true,
                    "false" | "off" | "0" => false,
                    other => return fail(format!("`{other}` is not a truth value")),
                };
                self.program.exe.constants.push(Constant::Bool(n as u16, v));
            }
            "in" => {
                let mut words = args.split_whitespace();
                let Some(name) = words.next() else { return fail("`.in` needs a name") };
                let n = match words.next() {
                    Some(r) => match crate::isa::parse::source(r, &self.program.symbols)?.reg {
                        Reg::V(n) => n,
                        _ => return fail(format!("`{r}` is not an input register")),
                    },
                    None => match (0..16).find(|n| self.program.exe.inputs >> n & 1 == 0) {
                        Some(n) => n,
                        None => return fail("no input register is left"),
                    },
                };
                self.program.exe.inputs |= 1 << n;
                // Inputs have no hidden names.
                self.entry(name, numbering::INPUT + n as u16, 1);
                self.name(name, Reg::V(n))?;
            }
            "out" => return self.output(args),
            "alias" => {
                let Some((name, rest)) = args.split_once(char::is_whitespace) else { return fail("`.alias` needs a name and a register") };
                let rest = rest.trim();
                if plain_register(name).is_some() {
                    return fail(format!("`{name}` is a register"));
                }
                for (letter, small) in [('b', Kind::Bool), ('i', Kind::Int)] {
                    let known = self.program.symbols.uniform(letter, rest.split('[').next().unwrap_or(rest)).is_some();
                    if known || rest.strip_prefix(letter).is_some_and(|d| d.starts_with(|c: char| c.is_ascii_digit())) {
                        let n = crate::isa::parse::uniform(letter, rest, &self.program.symbols)?;
                        self.unused(name)?;
                        let symbols = &mut self.program.symbols;
                        let names = if small == Kind::Bool { &mut symbols.bools } else { &mut symbols.ints };
                        names.insert(name.to_string(), n);
                        return Ok(());
                    }
                }
                let s = crate::isa::parse::source(rest, &self.program.symbols)?;
                self.define(name, Named { reg: s.reg, index: s.index, neg: s.neg, swz: s.swz })?;
            }
            "gsh" => return self.geometry(args),
            _ => return fail(format!("`.{word}` is not a directive")),
        }
        Ok(())
    }

    fn end(&mut self, line: u32) -> Parsed<()> {
        if let Some((name, size, mut values)) = self.program.array.take() {
            // Elements that are announced and not given are zero.
            values.resize(size.unwrap_or(values.len()), [0.0; 4]);
            if values.is_empty() {
                return fail(format!("`{name}` has no elements"));
            }
            let first = self.constant_register(values.len())?;
            for (k, v) in values.into_iter().enumerate() {
                self.float_constant(first + k as u8, v);
            }
            return self.name(&name, Reg::C(first));
        }
        let Some(b) = self.blocks.pop() else { return fail("`.end` outside a block") };
        self.pad(&b, line);
        let here = self.code.len();
        match b.kind {
            BlockKind::Proc => {
                self.last_end = None;
                if self.procs.insert(b.name.clone(), (b.start, here - b.start)).is_some() {
                    return fail(format!("procedure `{}` is defined twice", b.name));
                }
            }
            BlockKind::If => (self.code[b.at].target, self.code[b.at].num) = (here as u16, 0),
            BlockKind::Else => {
                let Ok(len) = u8::try_from(here - b.else_at) else { return fail("an else part has at most 255 words") };
                (self.code[b.at].target, self.code[b.at].num) = (b.else_at as u16, len);
            }
            BlockKind::Loop => self.code[b.at].target = (here - 1) as u16,
        }
        if b.kind != BlockKind::Proc {
            self.last_end = Some(here);
        }
        Ok(())
    }

    fn uniform(&mut self, kind: Kind, item: &str) -> Parsed<()> {
        let (name, size) = array_name(item)?;
        let size = size.unwrap_or(1);
        let (registers, first) = kind.registers();
        let p = &mut self.program;
        let limit = match kind {
            Kind::Float => p.top_float,
            Kind::Int => p.top_int,
            // The last one is the machine's in geometry programs.
            Kind::Bool => registers - u8::from(p.geometry_space()),
        };
        let known = p.space.names.get(name).copied();
        let n = match known {
            Some((k, n, s)) if (k, s as usize) == (kind, size) => n,
            Some(_) => return fail(format!("`{name}` was declared otherwise before")),
            None => {
                let n = p.space.next[kind as usize];
                if size == 0 || n as usize + size > limit as usize {
                    return fail(format!("no room for `{item}`: {} registers are left", limit.saturating_sub(n)));
                }
                p.space.next[kind as usize] += size as u8;
                p.space.names.insert(name.to_string(), (kind, n, size as u8));
                n
            }
        };
        if !name.starts_with('_') {
            let geometry = self.program.geometry_space();
            self.declared.push(Declared { name: name.to_string(), first: first + u16::from(n), size: size as u16, geometry });
        }
        if !name.starts_with('_') || self.program.real.is_some() {
            self.entry(name, first + u16::from(n), size as u16);
        }
        match kind {
            Kind::Float => self.name(name, Reg::C(n))?,
            Kind::Int => {
                self.unused(name)?;
                self.program.symbols.ints.insert(name.to_string(), n);
            }
            Kind::Bool => {
                self.unused(name)?;
                self.program.symbols.bools.insert(name.to_string(), n);
            }
        }
        Ok(())
    }

    /// Refuses a name that stands for something already.
    fn unused(&self, name: &str) -> Parsed<()> {
        let s = &self.program.symbols;
        if !is_name(name) {
            fail(format!("`{name}` is not a name"))
        } else if s.aliases.contains_key(name) || s.bools.contains_key(name) || s.ints.contains_key(name) {
            fail(format!("`{name}` is defined already"))
        } else {
            Ok(())
        }
    }

    /// An entry of the container's table.
    fn entry(&mut self, name: &str, first: u16, size: u16) {
        let name = self.program.real.take().unwrap_or_else(|| exported(name));
        self.program.exe.uniforms.push(UniformEntry { name, first, last: first + size - 1 });
    }

    /// What stands behind [`UNIFORM_MARK`].
    fn over_others(&mut self, text: &str) -> Parsed<()> {
        let mut words = text.splitn(3, ' ');
        let kinds = [('c', Kind::Float), ('i', Kind::Int), ('b', Kind::Bool)];
        let place = words.next().and_then(|reg| {
            let (letter, kind) = kinds.into_iter().find(|(letter, _)| reg.starts_with(*letter))?;
            Some((kind, reg.strip_prefix(letter)?.parse::<u8>().ok()?))
        });
        let size = words.next().and_then(number).and_then(|n| u16::try_from(n).ok());
        let (Some((kind, n)), Some(size), Some(name)) = (place, size, words.next()) else {
            return fail(format!("`{UNIFORM_MARK}` takes a register, how many, and a name"));
        };
        let (registers, first) = kind.registers();
        if size == 0 || u32::from(n) + u32::from(size) > u32::from(registers) {
            return fail("the uniform lies outside the register file");
        }
        self.program.real = Some(name.trim_end().to_string());
        self.entry("", first + u16::from(n), size);
        Ok(())
    }

    fn define(&mut self, name: &str, named: Named) -> Parsed<()> {
        self.unused(name)?;
        self.program.symbols.aliases.insert(name.to_string(), named);
        Ok(())
    }

    fn name(&mut self, name: &str, reg: Reg) -> Parsed<()> {
        self.define(name, Named { reg, index: Index::None, neg: false, swz: IDENTITY })
    }

    fn constant_register(&mut self, size: usize) -> Parsed<u8> {
        let p = &mut self.program;
        if size > p.top_float.saturating_sub(p.space.next[Kind::Float as usize]) as usize {
            return fail("no float register is left for a constant");
        }
        p.top_float -= size as u8;
        Ok(p.top_float)
    }

    fn float_constant(&mut self, n: u8, v: [f32; 4]) {
        self.program.exe.constants.push(Constant::Float(n as u16, v.map(to_bits24)));
    }

    fn array_line(&mut self, text: &str) -> Parsed<()> {
        let v = floats(inside(text)?)?;
        if let Some((name, size, values)) = &mut self.program.array {
            if *size == Some(values.len()) {
                return fail(format!("`{name}` has more elements than announced"));
            }
            values.push(v);
        }
        Ok(())
    }

    fn output(&mut self, args: &str) -> Parsed<()> {
        let words: Vec<&str> = args.split_whitespace().collect();
        let (name, kind, place) = match words[..] {
            [n, k] => (n, k, None),
            [n, k, p] => (n, k, Some(p)),
            _ => return fail("`.out` takes a name, a type and perhaps a register"),
        };
        let (kind, kind_mask) = kind.split_once('.').map_or((kind, None), |(k, m)| (k, Some(m)));
        let kind = output_type(kind)?;
        let mask_text = |m: &str| components(m).map(|c| mask_of(&c));
        let mut mask = kind_mask.map(mask_text).transpose()?;
        let registers = self.program.output_registers();
        let reg = match place {
            // The lowest register that no output has.
            None => match (0..registers).find(|n| self.program.outputs[*n as usize] == 0) {
                Some(n) => n,
                None => return fail(format!("too many outputs: there are {registers} registers")),
            },
            Some(p) => {
                let (r, m) = p.split_once('.').map_or((p, None), |(r, m)| (r, Some(m)));
                if let Some(m) = m {
                    mask = Some(mask_text(m)?);
                }
                match crate::isa::parse::source(r, &self.program.symbols)?.reg {
                    Reg::O(n) if n < registers => n,
                    _ => return fail(format!("`{r}` is not an output register: they are o0 to o{}", registers - 1)),
                }
            }
        };
        let mask = mask.unwrap_or(15);
        if let Some(shared) = Some(self.program.outputs[reg as usize] & mask).filter(|m| *m != 0) {
            return fail(format!("o{reg}{} has a type already", mask_text_of(shared)));
        }
        if reg >= MEANT_OUTPUTS && kind != DUMMY {
            return fail(format!("o{reg} can only be a dummy: what has a meaning lies in o0 to o{}", MEANT_OUTPUTS - 1));
        }
        if name != "-" {
            self.name(name, Reg::O(reg))?;
        }
        let merge = kind == DUMMY && self.program.geometry_space();
        self.program.outputs[reg as usize] |= mask;
        let exe = &mut self.program.exe;
        exe.outputs_mask |= 1 << reg;
        exe.merge |= merge;
        exe.outputs.push(OutputEntry { kind, reg: reg as u16, mask });
        Ok(())
    }

    fn geometry(&mut self, args: &str) -> Parsed<()> {
        let lower = args.to_ascii_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let uniform = |t: &str| match plain_register(t) {
            Some(Reg::C(n)) => Ok(n),
            _ => fail(format!("`{t}` is not a float uniform")),
        };
        let count = |t: &str| number(t).and_then(|v| u8::try_from(v).ok()).ok_or_else(|| TextError::new(format!("`{t}` is not a count")));
        let exe = &mut self.program.exe;
        if words.is_empty() {
            // An older way: the mode is not told, uniforms are shared with vertex programs.
            exe.geometry = true;
            return Ok(());
        }
        if exe.geometry || !exe.constants.is_empty() || !exe.uniforms.is_empty() || !exe.outputs.is_empty() {
            return fail("`.gsh` stands once, before constants, uniforms and outputs");
        }
        exe.geometry = true;
        let first = match words[..] {
            ["point"] => 0,
            ["point", first] => uniform(first)?,
            ["variable" | "subdivision", first, vertices] => {
                exe.mode = 1;
                exe.whole = count(vertices)?;
                uniform(first)?
            }
            ["fixed" | "particle", first, array, vertices] => {
                exe.mode = 2;
                exe.array = uniform(array)?;
                exe.vertices = count(vertices)?;
                let first = uniform(first)?;
                if exe.array >= first {
                    return fail(format!("the vertices from c{} on lie where uniforms are allocated, from c{first} on", exe.array));
                }
                first
            }
            _ => return fail("`.gsh` takes point, variable or fixed with their registers"),
        };
        self.program.own_space = true;
        self.program.space = Space::default();
        self.program.space.next[Kind::Float as usize] = first;
        Ok(())
    }

    fn finish_program(&mut self, line: u32) {
        for b in std::mem::take(&mut self.blocks) {
            self.errors.push(TextError::at(b.line, 1, "this block has no `.end`"));
        }
        if !self.program.own_space {
            self.shared = self.program.space.clone();
        }
        let mut p = std::mem::replace(&mut self.program, Program::new(self.shared.clone()));
        self.last_end = None;
        // Labels are local to a file; procedures are not.
        for (at, l, line) in std::mem::take(&mut self.label_uses) {
            match self.labels.get(&l) {
                Some(t) => self.code[at].target = *t as u16,
                None => self.errors.push(TextError::at(line, 1, format!("label `{l}` is not defined"))),
            }
        }
        self.labels.clear();
        self.geometry_first.get_or_insert(p.exe.geometry);
        if p.no_dvle {
            return;
        }
        let name = p.entry.unwrap_or_else(|| "main".to_string());
        self.entries.push((name, line.max(1)));
        if p.exe.constants.is_empty() {
            self.warnings.push(TextError::at(1, 1, "no constant is defined: programs without one are reported to hang the machine"));
        }
        p.exe.uniforms.sort_by_key(|u| u.first);
        self.executables.push(p.exe);
    }

    fn finish(mut self) -> Result<AsmOutput, Vec<TextError>> {
        for (at, p, line) in std::mem::take(&mut self.proc_uses) {
            match self.procs.get(&p) {
                Some((start, len)) if *len <= 255 => (self.code[at].target, self.code[at].num) = (*start as u16, *len as u8),
                Some(_) => self.errors.push(TextError::at(line, 1, format!("procedure `{p}` is longer than 255 words"))),
                None => self.errors.push(TextError::at(line, 1, format!("procedure `{p}` is not defined"))),
            }
        }
        for (e, (name, line)) in self.executables.iter_mut().zip(&self.entries) {
            match self.procs.get(name) {
                Some((at, len)) => (e.entry, e.end) = (*at as u32, (at + len) as u32),
                None => self.errors.push(TextError::at(*line, 1, format!("the entry procedure `{name}` is not defined"))),
            }
            if !e.geometry && e.end as usize > VERTEX_WORDS {
                self.errors.push(TextError::at(*line, 1, format!("the vertex program ends beyond word {VERTEX_WORDS}")));
            }
        }
        if self.code.len() > 4096 {
            self.errors.push(TextError::at(1, 1, "the program is longer than 4096 words"));
        }
        if !self.errors.is_empty() {
            self.errors.sort_by_key(|e| (e.line, e.column));
            return Err(self.errors);
        }
        let (code, descriptors) = link(&self.code).map_err(|e| {
            let line = if let LinkError::Instruction(at, _) = e { self.lines[at] } else { 1 };
            vec![TextError::at(line, 1, e.to_string())]
        })?;
        let bin = Shbin { code, descriptors, executables: self.executables };
        Ok(AsmOutput {
            header: Some(header::of_assembly(&self.declared, self.geometry_first == Some(true))),
            code: bin.code.iter().flat_map(|w| w.to_le_bytes()).collect(),
            container: (!bin.executables.is_empty()).then(|| bin.write()),
            warnings: self.warnings,
        })
    }
}

/// Code words and operand descriptors.
pub type Linked = (Vec<u32>, Vec<u32>);

/// Why a program cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// An instruction that does not exist: its number and what is wrong.
    Instruction(usize, String),
    /// Too many descriptors: (needed, available, whether those that mad reaches).
    Descriptors(usize, usize, bool),
}

impl std::fmt::Display for LinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LinkError::Instruction(_, m) => f.write_str(m),
            LinkError::Descriptors(n, max, mad) => {
                write!(f, "{n} operand descriptors{} are needed, there are {max}", if *mad { " for mad" } else { "" })
            }
        }
    }
}

/// Encodes a program and its descriptors; an error names the instruction.
pub fn link(code: &[Instr]) -> Result<Linked, LinkError> {
    let mut encoded = Vec::with_capacity(code.len());
    for (at, i) in code.iter().enumerate() {
        encoded.push(encode(i).map_err(|e| LinkError::Instruction(at, e.to_string()))?);
    }
    let patterns: Vec<_> = encoded.iter().filter_map(|e| e.desc).collect();
    let table = descriptors::allocate(&patterns).map_err(|(n, max, mad)| LinkError::Descriptors(n, max, mad))?;
    let mut next = table.index.iter();
    let mut words = Vec::with_capacity(code.len());
    for (at, (i, e)) in code.iter().zip(&encoded).enumerate() {
        words.push(match e.desc.and_then(|_| next.next()) {
            Some(d) => encode_with(i, *d).map_err(|e| LinkError::Instruction(at, e.to_string()))?,
            None => e.word,
        });
    }
    Ok((words, table.table))
}

fn output_type(name: &str) -> Parsed<u16> {
    let lower = name.to_ascii_lowercase();
    let short = match lower.as_str() {
        "pos" => "position",
        "nquat" => "normalquat",
        "clr" => "color",
        "tcoord0" => "texcoord0",
        "tcoord0w" => "texcoord0w",
        "tcoord1" => "texcoord1",
        "tcoord2" => "texcoord2",
        other => other,
    };
    OUTPUT_TYPES
        .iter()
        .position(|t| *t == short && *t != "7")
        .map(|n| n as u16)
        .ok_or_else(|| TextError::new(format!("`{name}` is not an output type")))
}

fn array_name(text: &str) -> Parsed<(&str, Option<usize>)> {
    let (name, size) = match text.split_once('[') {
        None => (text, None),
        Some((n, r)) => {
            let r = r.trim().strip_suffix(']').map(str::trim);
            match r {
                Some("") => (n, None),
                Some(s) => match number(s).and_then(|v| usize::try_from(v).ok()) {
                    Some(v) => (n, Some(v)),
                    None => return fail(format!("`{s}` is not a size")),
                },
                None => return fail("`]` is missing"),
            }
        }
    };
    let name = name.trim();
    if is_name(name) { Ok((name, size)) } else { fail(format!("`{name}` is not a name")) }
}

fn inside(text: &str) -> Parsed<&str> {
    text.trim().strip_prefix('(').and_then(|r| r.strip_suffix(')')).ok_or_else(|| TextError::new("expected (x, y, z, w)"))
}

fn named_tuple(text: &str) -> Parsed<(&str, String)> {
    let Some(at) = text.find('(') else { return fail("expected name(x, y, z, w)") };
    Ok((text[..at].trim(), inside(&text[at..])?.to_string()))
}

fn parts(text: &str) -> Parsed<[&str; 4]> {
    let v: Vec<&str> = text.split(',').map(str::trim).collect();
    <[&str; 4]>::try_from(v).map_err(|v| TextError::new(format!("expected four numbers, found {}", v.len())))
}

fn floats(text: &str) -> Parsed<[f32; 4]> {
    let mut out = [0.0; 4];
    for (o, t) in out.iter_mut().zip(parts(text)?) {
        let t = t.trim_end_matches(['f', 'F']);
        let hex = number(t).filter(|_| t.contains("0x")).map(|v| v as f32);
        *o = hex
            .or_else(|| if t == "in" || t == "-in" { format!("{t}f").parse().ok() } else { t.parse().ok() })
            .ok_or_else(|| TextError::new(format!("`{t}` is not a number")))?;
    }
    Ok(out)
}

fn bytes(text: &str) -> Parsed<[u8; 4]> {
    let mut out = [0; 4];
    for (o, t) in out.iter_mut().zip(parts(text)?) {
        // The low byte, as picasso takes it: -1 is 255.
        *o = number(t).ok_or_else(|| TextError::new(format!("`{t}` is not a number")))? as u8;
    }
    Ok(out)
}
