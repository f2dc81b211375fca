//! The binary form: words to tables of names, decorations, types, constants, variables and functions.
//!
//! Every read is checked against the words that there are; nothing is allocated by a count that the words only claim. Bodies of functions
//! stay words: [`Insts`] walks them again wherever they are translated.

use super::types::{Num, Ty, Types};
use retroshade_ir::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use spirv::{Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};
use std::ops::Range;

/// A result whose error is a finished diagnostic.
pub(crate) type R<T> = Result<T, Diagnostic>;

/// An id.
pub(crate) type Id = u32;

/// The largest id that SPIR-V's universal limits allow.
const MAX_ID: u32 = 0x3f_ffff;
/// Words of a binary.
pub(crate) const MAX_WORDS: usize = 1 << 19;
/// Words in front of the instructions.
const HEADER: usize = 5;

/// What is wrong with the module, at a word.
pub(crate) fn malformed(at: usize, what: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error("F0012", Span::NONE, format!("this is no valid SPIR-V: {what} (word {at})"))
}

/// What no machine has.
fn refused(what: &str) -> Diagnostic {
    Diagnostic::error("F0125", Span::NONE, what)
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inst<'w> {
    /// What it does.
    pub(crate) op: Op,
    /// Its operands, result type and result included.
    pub(crate) operands: &'w [u32],
    /// Its first word.
    pub(crate) at: usize,
}

impl<'w> Inst<'w> {
    /// Operand `n`.
    pub(crate) fn word(&self, n: usize) -> R<u32> {
        self.operands.get(n).copied().ok_or_else(|| malformed(self.at, format_args!("{:?} with {} operands", self.op, self.operands.len())))
    }

    /// Operands from `n` on.
    pub(crate) fn rest(&self, n: usize) -> &'w [u32] {
        self.operands.get(n..).unwrap_or(&[])
    }

    /// A literal string from operand `n` on, and the operand behind it.
    pub(crate) fn string(&self, n: usize) -> R<(String, usize)> {
        let mut bytes = Vec::new();
        for (k, w) in self.rest(n).iter().enumerate() {
            for b in w.to_le_bytes() {
                if b == 0 {
                    return Ok((String::from_utf8_lossy(&bytes).into_owned(), n + k + 1));
                }
                bytes.push(b);
            }
        }
        Err(malformed(self.at, "a string without end"))
    }
}

/// A name as the IR has it: SPIR-V takes any characters.
pub(crate) fn name(text: &str) -> String {
    text.replace(char::is_control, "_")
}

/// The instructions of a stretch of words, which has been walked before.
#[derive(Clone, Debug)]
pub(crate) struct Insts<'w> {
    words: &'w [u32],
    at: usize,
    end: usize,
}

impl<'w> Iterator for Insts<'w> {
    type Item = Inst<'w>;

    fn next(&mut self) -> Option<Inst<'w>> {
        if self.at >= self.end {
            return None;
        }
        let inst = decode(self.words, self.at).ok()?;
        self.at += inst.operands.len() + 1;
        Some(inst)
    }
}

/// The instruction at a word.
fn decode(words: &[u32], at: usize) -> R<Inst<'_>> {
    let first = words.get(at).copied().ok_or_else(|| malformed(at, "the module ends too early"))?;
    let (len, code) = ((first >> 16) as usize, first & 0xffff);
    if len == 0 || at + len > words.len() {
        return Err(malformed(at, format_args!("an instruction of {len} words where {} are left", words.len() - at)));
    }
    let Some(op) = Op::from_u32(code) else { return Err(malformed(at, format_args!("the operation {code} does not exist"))) };
    Ok(Inst { op, operands: &words[at + 1..at + len], at })
}

/// A decoration with its literals.
pub(crate) type Deco<'w> = (Decoration, &'w [u32]);

/// A constant as it stands in the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constant<'w> {
    /// Its type.
    pub(crate) ty: Id,
    /// How it is made.
    pub(crate) inst: Inst<'w>,
}

/// A variable of the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global {
    /// Its id.
    pub(crate) id: Id,
    /// What it points to.
    pub(crate) ty: Id,
    /// Where it lives.
    pub(crate) storage: StorageClass,
    /// Its first value.
    pub(crate) init: Option<Id>,
    /// Its first word.
    pub(crate) at: usize,
}

/// A block of a function: a stretch of words between label and terminator.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// The label.
    pub(crate) label: Id,
    /// Its instructions, the terminator included.
    pub(crate) words: Range<usize>,
    /// Where the terminator stands.
    pub(crate) end: usize,
    /// Where the merge instruction stands, if there is one.
    pub(crate) merge: Option<usize>,
    /// The last line instruction in front of it. By the letter a line ends with its block; here it goes on in the order of the text.
    pub(crate) line: Option<usize>,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Func {
    /// Its first word.
    pub(crate) at: usize,
    /// The type of its result.
    pub(crate) result: Id,
    /// Parameters: id and type.
    pub(crate) params: Vec<(Id, Id)>,
    /// Blocks in their order; none if it is only declared.
    pub(crate) blocks: Vec<Body>,
}

/// An entry point.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its stage.
    pub(crate) model: ExecutionModel,
    /// Its function.
    pub(crate) function: Id,
    /// Its name.
    pub(crate) name: String,
    /// The variables that it declares to use.
    pub(crate) interface: Vec<Id>,
}

/// A module in tables.
#[derive(Debug)]
pub(crate) struct Binary<'w> {
    words: &'w [u32],
    /// Names by id.
    pub(crate) names: FxHashMap<Id, String>,
    /// Names of members.
    pub(crate) member_names: FxHashMap<(Id, u32), String>,
    /// Texts of OpString.
    pub(crate) strings: FxHashMap<Id, String>,
    /// Whether the source is HLSL, whose kinds of objects count their registers for themselves.
    pub(crate) hlsl: bool,
    decorations: FxHashMap<Id, Vec<Deco<'w>>>,
    member_decorations: FxHashMap<(Id, u32), Vec<Deco<'w>>>,
    /// Types.
    pub(crate) types: Types,
    /// Constants.
    pub(crate) constants: FxHashMap<Id, Constant<'w>>,
    /// Specialisation constants in their order.
    pub(crate) specs: Vec<Id>,
    /// Variables in their order.
    pub(crate) globals: Vec<Global>,
    /// Types of integers that are smaller than a word, and what is of them; empty where the module has no such types.
    small: FxHashMap<Id, Num>,
    /// Functions.
    pub(crate) functions: FxHashMap<Id, Func>,
    /// Entry points in their order.
    pub(crate) entries: Vec<Entry>,
    /// Execution modes: the function, the mode, its operands; whether these are ids.
    pub(crate) modes: Vec<(Id, ExecutionMode, &'w [u32], bool)>,
    /// Imported instruction sets.
    pub(crate) sets: FxHashMap<Id, String>,
    /// Instructions of the debug sets outside functions.
    pub(crate) debug: FxHashMap<Id, Inst<'w>>,
}

impl<'w> Binary<'w> {
    /// Reads a module.
    pub(crate) fn read(words: &'w [u32], defines: &[(String, String)]) -> R<Binary<'w>> {
        if words.len() > MAX_WORDS {
            return Err(Diagnostic::error("L0001", Span::NONE, format!("the binary has {} words; the limit is {MAX_WORDS}", words.len())));
        }
        if words.len() < HEADER || words[0] != spirv::MAGIC_NUMBER {
            return Err(malformed(0, "it does not begin with SPIR-V's header"));
        }
        if words[3] > MAX_ID {
            return Err(malformed(3, format_args!("ids up to {}, more than SPIR-V allows ({MAX_ID})", words[3])));
        }
        let mut b = Binary {
            words,
            names: Default::default(),
            member_names: Default::default(),
            strings: Default::default(),
            hlsl: false,
            decorations: Default::default(),
            member_decorations: Default::default(),
            types: Types::default(),
            constants: Default::default(),
            specs: Vec::new(),
            globals: Vec::new(),
            small: Default::default(),
            functions: Default::default(),
            entries: Vec::new(),
            modes: Vec::new(),
            sets: Default::default(),
            debug: Default::default(),
        };
        let mut at = HEADER;
        while at < words.len() {
            let inst = decode(words, at)?;
            at += inst.operands.len() + 1;
            if inst.op == Op::Function {
                at = b.function(inst, at)?;
            } else {
                b.declaration(inst, defines)?;
            }
        }
        Ok(b)
    }

    /// The instructions of a block.
    pub(crate) fn insts(&self, words: Range<usize>) -> Insts<'w> {
        Insts { words: self.words, at: words.start, end: words.end }
    }

    /// The instruction at a word that has been walked before.
    pub(crate) fn inst(&self, at: usize) -> R<Inst<'w>> {
        decode(self.words, at)
    }

    /// Something that stands outside functions.
    fn declaration(&mut self, i: Inst<'w>, defines: &[(String, String)]) -> R<()> {
        match i.op {
            Op::Source => self.hlsl = i.word(0)? == spirv::SourceLanguage::HLSL as u32,
            Op::Name => {
                self.names.insert(i.word(0)?, name(&i.string(1)?.0));
            }
            Op::MemberName => {
                self.member_names.insert((i.word(0)?, i.word(1)?), name(&i.string(2)?.0));
            }
            Op::String => {
                self.strings.insert(i.word(0)?, i.string(1)?.0);
            }
            Op::Decorate | Op::DecorateId | Op::DecorateString => {
                if let Some(d) = Decoration::from_u32(i.word(1)?) {
                    self.decorations.entry(i.word(0)?).or_default().push((d, i.rest(2)));
                }
            }
            Op::MemberDecorate | Op::MemberDecorateString => {
                if let Some(d) = Decoration::from_u32(i.word(2)?) {
                    self.member_decorations.entry((i.word(0)?, i.word(1)?)).or_default().push((d, i.rest(3)));
                }
            }
            Op::GroupDecorate => {
                let group = self.decorations.get(&i.word(0)?).cloned().unwrap_or_default();
                for id in i.rest(1) {
                    self.decorations.entry(*id).or_default().extend(&group);
                }
            }
            Op::GroupMemberDecorate => {
                let group = self.decorations.get(&i.word(0)?).cloned().unwrap_or_default();
                for pair in i.rest(1).chunks_exact(2) {
                    self.member_decorations.entry((pair[0], pair[1])).or_default().extend(&group);
                }
            }
            Op::Capability => match spirv::Capability::from_u32(i.word(0)?) {
                Some(spirv::Capability::PhysicalStorageBufferAddresses) => {
                    return Err(refused("memory that is addressed by pointers (buffer references) exists on none of the machines"));
                }
                Some(spirv::Capability::CooperativeMatrixKHR | spirv::Capability::CooperativeMatrixNV) => {
                    return Err(refused("cooperative matrices exist on none of the machines"));
                }
                Some(spirv::Capability::Kernel) => return Err(refused("OpenCL's kernels run on none of the machines")),
                _ => {}
            },
            Op::ExtInstImport => {
                self.sets.insert(i.word(0)?, i.string(1)?.0);
            }
            Op::ExtInst => {
                self.debug.insert(i.word(1)?, i);
            }
            Op::EntryPoint => {
                let (name, next) = i.string(2)?;
                let Some(model) = ExecutionModel::from_u32(i.word(0)?) else { return Err(malformed(i.at, "an unknown stage")) };
                self.entries.push(Entry { model, function: i.word(1)?, name, interface: i.rest(next).to_vec() });
            }
            Op::ExecutionMode | Op::ExecutionModeId => {
                if let Some(m) = ExecutionMode::from_u32(i.word(1)?) {
                    self.modes.push((i.word(0)?, m, i.rest(2), i.op == Op::ExecutionModeId));
                }
            }
            Op::Variable => {
                let (ty, id) = (i.word(0)?, i.word(1)?);
                let Some(storage) = StorageClass::from_u32(i.word(2)?) else { return Err(malformed(i.at, "an unknown storage class")) };
                let Some(pointee) = self.types.pointee(ty) else { return Err(malformed(i.at, "a variable whose type is no pointer")) };
                self.globals.push(Global { id, ty: pointee, storage, init: i.operands.get(3).copied(), at: i.at });
            }
            Op::Constant
            | Op::ConstantTrue
            | Op::ConstantFalse
            | Op::ConstantComposite
            | Op::ConstantNull
            | Op::Undef
            | Op::SpecConstant
            | Op::SpecConstantTrue
            | Op::SpecConstantFalse
            | Op::SpecConstantComposite
            | Op::SpecConstantOp
            | Op::ConstantCompositeReplicateEXT
            | Op::SpecConstantCompositeReplicateEXT => {
                let id = i.word(1)?;
                if matches!(i.op, Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse) {
                    self.specs.push(id);
                }
                self.note_small(i.word(0)?, id);
                self.constants.insert(id, Constant { ty: i.word(0)?, inst: i });
            }
            op if super::types::declares(op) => {
                // Lengths of arrays may be specialisation constants.
                let mut types = std::mem::take(&mut self.types);
                let done = types.declare(self, i, defines);
                self.types = types;
                done?;
                let id = i.word(0)?;
                if let Some(n) = self.types.shape(id).and_then(Ty::num).filter(|n| n.is_small()) {
                    self.small.insert(id, n);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Keeps that an id is of a type of smaller integers, if it is.
    fn note_small(&mut self, ty: Id, id: Id) {
        if let Some(n) = self.small.get(&ty).copied() {
            self.small.insert(id, n);
        }
    }

    /// The numbers of an id, if they are integers smaller than a word.
    pub(crate) fn small(&self, id: Id) -> Option<Num> {
        self.small.get(&id).copied()
    }

    /// A function from its first instruction on; gives the word behind it.
    fn function(&mut self, first: Inst<'w>, mut at: usize) -> R<usize> {
        let mut f = Func { at: first.at, result: first.word(0)?, ..Func::default() };
        let id = first.word(1)?;
        let mut open: Option<Body> = None;
        let mut line = None;
        loop {
            let i = decode(self.words, at)?;
            at += i.operands.len() + 1;
            match i.op {
                Op::Line => line = Some(i.at),
                Op::NoLine => line = None,
                _ => {}
            }
            // Only results name a type first.
            if let (false, [ty, id, ..]) = (self.small.is_empty(), i.operands) {
                self.note_small(*ty, *id);
            }
            match i.op {
                Op::FunctionEnd => break,
                Op::FunctionParameter => f.params.push((i.word(1)?, i.word(0)?)),
                Op::Label => {
                    if open.is_some() {
                        return Err(malformed(i.at, "a block that begins before the one in front of it ends"));
                    }
                    open = Some(Body { label: i.word(0)?, words: at..at, end: at, merge: None, line });
                }
                Op::Line | Op::NoLine | Op::ExtInst | Op::ExtInstWithForwardRefsKHR if open.is_none() => {}
                Op::Function => return Err(malformed(i.at, "a function inside a function")),
                op => {
                    let Some(mut b) = open.take() else { return Err(malformed(i.at, "an instruction outside a block")) };
                    b.words.end = at;
                    if matches!(op, Op::SelectionMerge | Op::LoopMerge) {
                        b.merge = Some(i.at);
                    }
                    if ends_block(op) {
                        b.end = i.at;
                        f.blocks.push(b);
                    } else {
                        open = Some(b);
                    }
                }
            }
        }
        if open.is_some() {
            return Err(malformed(at, "a block without end"));
        }
        self.functions.insert(id, f);
        Ok(at)
    }

    /// The decorations of an id.
    pub(crate) fn decorations(&self, id: Id) -> &[Deco<'w>] {
        self.decorations.get(&id).map_or(&[], |d| d)
    }

    /// The decorations of a structure's member.
    pub(crate) fn of_member(&self, id: Id, member: u32) -> &[Deco<'w>] {
        self.member_decorations.get(&(id, member)).map_or(&[], |d| d)
    }

    /// Whether an id has a decoration.
    pub(crate) fn has(&self, id: Id, d: Decoration) -> bool {
        self.decorations(id).iter().any(|(x, _)| *x == d)
    }

    /// The first literal of a decoration.
    pub(crate) fn literal(&self, id: Id, d: Decoration) -> Option<u32> {
        literal(self.decorations(id), d)
    }

    /// A name that says something.
    pub(crate) fn name(&self, id: Id) -> Option<&str> {
        self.names.get(&id).map(String::as_str).filter(|n| !n.is_empty())
    }
}

/// The first literal of a decoration in a list.
pub(crate) fn literal(list: &[Deco<'_>], d: Decoration) -> Option<u32> {
    list.iter().find(|(x, _)| *x == d).and_then(|(_, w)| w.first().copied())
}

/// Whether an operation ends a block.
fn ends_block(op: Op) -> bool {
    matches!(
        op,
        Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::Return
            | Op::ReturnValue
            | Op::Kill
            | Op::Unreachable
            | Op::TerminateInvocation
            | Op::IgnoreIntersectionKHR
            | Op::TerminateRayKHR
            | Op::EmitMeshTasksEXT
    )
}
