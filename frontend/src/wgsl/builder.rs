//! A SPIR-V module under construction: sections of words, numbers, types and constants that exist once.

use naga::{ScalarKind, VectorSize};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use spirv::{Capability, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};

/// An id.
pub(super) type Id = u32;

/// Bytes of a name that are kept; an instruction has room for 256 KiB.
const MAX_NAME: usize = 1 << 12;

/// Appends an instruction.
pub(super) fn put(out: &mut Vec<u32>, op: Op, operands: &[u32]) {
    out.push((operands.len() as u32 + 1) << 16 | op as u32);
    out.extend_from_slice(operands);
}

/// Operands, then a text as SPIR-V holds it.
fn with_text(operands: &[u32], text: &str) -> Vec<u32> {
    let mut end = text.len().min(MAX_NAME);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut bytes = text.as_bytes()[..end].to_vec();
    bytes.resize((end + 4) / 4 * 4, 0);
    let mut all = operands.to_vec();
    all.extend(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
    all
}

/// The sections of a module in the order in which they stand.
#[derive(Default)]
pub(super) struct Builder {
    last: Id,
    head: Vec<u32>,
    modes: Vec<u32>,
    names: Vec<u32>,
    decorations: Vec<u32>,
    /// Types, constants and variables.
    declarations: Vec<u32>,
    /// Functions.
    pub(super) functions: Vec<u32>,
    /// What is declared once, by what it is.
    known: FxHashMap<(Op, SmallVec<[u32; 8]>), Id>,
    constants: FxHashSet<Id>,
    /// Bits of constant numbers.
    numbers: FxHashMap<Id, u32>,
    /// Lanes of constant vectors.
    vectors: FxHashMap<Id, SmallVec<[Id; 4]>>,
    /// The instructions of GLSL.std.450.
    pub(super) glsl: Id,
    /// The file that lines belong to.
    pub(super) file: Id,
}

impl Builder {
    /// A module with what every one has.
    pub(super) fn new() -> Builder {
        let mut b = Builder::default();
        put(&mut b.head, Op::Capability, &[Capability::Shader as u32]);
        b.glsl = b.id();
        put(&mut b.head, Op::ExtInstImport, &with_text(&[b.glsl], "GLSL.std.450"));
        put(&mut b.head, Op::MemoryModel, &[0, spirv::MemoryModel::GLSL450 as u32]);
        b.file = b.id();
        put(&mut b.names, Op::String, &with_text(&[b.file], ""));
        b
    }

    /// The finished words.
    pub(super) fn finish(self) -> Vec<u32> {
        let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0600, 0, self.last + 1, 0];
        for section in [self.head, self.modes, self.names, self.decorations, self.declarations, self.functions] {
            words.extend(section);
        }
        words
    }

    /// A new id.
    pub(super) fn id(&mut self) -> Id {
        self.last += 1;
        self.last
    }

    /// The entry point.
    pub(super) fn entry(&mut self, model: ExecutionModel, function: Id, name: &str, interface: &[Id]) {
        let mut operands = with_text(&[model as u32, function], name);
        operands.extend_from_slice(interface);
        put(&mut self.head, Op::EntryPoint, &operands);
    }

    /// A mode of the entry point.
    pub(super) fn mode(&mut self, function: Id, mode: ExecutionMode, values: &[u32]) {
        put(&mut self.modes, Op::ExecutionMode, &[&[function, mode as u32], values].concat());
    }

    /// Names an id.
    pub(super) fn name(&mut self, id: Id, name: Option<&str>) {
        if let Some(name) = name {
            put(&mut self.names, Op::Name, &with_text(&[id], name));
        }
    }

    /// Names a member.
    pub(super) fn member_name(&mut self, id: Id, member: u32, name: Option<&str>) {
        if let Some(name) = name {
            put(&mut self.names, Op::MemberName, &with_text(&[id, member], name));
        }
    }

    /// Decorates an id.
    pub(super) fn decorate(&mut self, id: Id, d: Decoration, values: &[u32]) {
        put(&mut self.decorations, Op::Decorate, &[&[id, d as u32], values].concat());
    }

    /// Decorates a member.
    pub(super) fn decorate_member(&mut self, id: Id, member: u32, d: Decoration, values: &[u32]) {
        put(&mut self.decorations, Op::MemberDecorate, &[&[id, member, d as u32], values].concat());
    }

    /// A declaration that exists once: a type.
    pub(super) fn once(&mut self, op: Op, operands: &[u32]) -> Id {
        let key = (op, SmallVec::from_slice(operands));
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.declare(op, operands);
        self.known.insert(key, id);
        id
    }

    /// A declaration of its own: an array or a structure, which are told apart by their decorations.
    pub(super) fn declare(&mut self, op: Op, operands: &[u32]) -> Id {
        let id = self.id();
        put(&mut self.declarations, op, &[&[id], operands].concat());
        id
    }

    /// A constant, which exists once.
    fn constant(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let key = (op, [&[ty], operands].concat().into());
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.id();
        put(&mut self.declarations, op, &[&[ty, id], operands].concat());
        self.known.insert(key, id);
        self.constants.insert(id);
        id
    }

    /// A variable of the module.
    pub(super) fn variable(&mut self, class: StorageClass, pointee: Id, init: Option<Id>) -> Id {
        let ty = self.pointer(class, pointee);
        let id = self.id();
        let mut operands = vec![ty, id, class as u32];
        operands.extend(init);
        put(&mut self.declarations, Op::Variable, &operands);
        id
    }

    /// A pointer type.
    pub(super) fn pointer(&mut self, class: StorageClass, to: Id) -> Id {
        self.once(Op::TypePointer, &[class as u32, to])
    }

    /// The type of a number or truth value.
    pub(super) fn scalar(&mut self, s: naga::Scalar) -> Id {
        let bits = u32::from(s.width) * 8;
        match s.kind {
            ScalarKind::Bool => self.once(Op::TypeBool, &[]),
            ScalarKind::Float => self.once(Op::TypeFloat, &[bits]),
            ScalarKind::AbstractFloat => self.once(Op::TypeFloat, &[32]),
            ScalarKind::Uint => self.once(Op::TypeInt, &[bits, 0]),
            ScalarKind::Sint => self.once(Op::TypeInt, &[bits, 1]),
            ScalarKind::AbstractInt => self.once(Op::TypeInt, &[32, 1]),
        }
    }

    /// The type of a scalar or vector.
    pub(super) fn numeric(&mut self, size: Option<VectorSize>, s: naga::Scalar) -> Id {
        let one = self.scalar(s);
        match size {
            None => one,
            Some(n) => self.once(Op::TypeVector, &[one, n as u32]),
        }
    }

    /// A constant number or truth value.
    pub(super) fn number(&mut self, s: naga::Scalar, bits: u64) -> Id {
        let ty = self.scalar(s);
        let low = bits as u32;
        let id = match (s.kind, s.width) {
            (ScalarKind::Bool, _) => self.constant(if bits == 0 { Op::ConstantFalse } else { Op::ConstantTrue }, ty, &[]),
            (ScalarKind::Float | ScalarKind::Uint | ScalarKind::Sint, 8) => self.constant(Op::Constant, ty, &[low, (bits >> 32) as u32]),
            _ => self.constant(Op::Constant, ty, &[low]),
        };
        self.numbers.insert(id, low);
        id
    }

    /// A constant word.
    pub(super) fn word(&mut self, n: u32) -> Id {
        self.number(naga::Scalar::U32, n.into())
    }

    /// The same number in every lane.
    pub(super) fn filled(&mut self, size: Option<VectorSize>, s: naga::Scalar, bits: u32) -> Id {
        let one = self.number(s, bits.into());
        match size {
            None => one,
            Some(n) => {
                let ty = self.numeric(size, s);
                self.composite(ty, &vec![one; n as usize], true)
            }
        }
    }

    /// A constant of a type that is zero.
    pub(super) fn null(&mut self, ty: Id) -> Id {
        self.constant(Op::ConstantNull, ty, &[])
    }

    /// A constant vector, or another composite.
    pub(super) fn composite(&mut self, ty: Id, parts: &[Id], vector: bool) -> Id {
        let id = self.constant(Op::ConstantComposite, ty, parts);
        if vector {
            self.vectors.insert(id, SmallVec::from_slice(parts));
        }
        id
    }

    /// Whether an id is a constant.
    pub(super) fn is_constant(&self, id: Id) -> bool {
        self.constants.contains(&id)
    }

    /// The lanes of a constant scalar or vector.
    pub(super) fn lanes(&self, id: Id) -> Option<SmallVec<[Id; 4]>> {
        if self.numbers.contains_key(&id) {
            return Some(SmallVec::from_slice(&[id]));
        }
        self.vectors.get(&id).cloned()
    }

    /// The bits of every lane of a constant scalar or vector.
    pub(super) fn bits(&self, id: Id) -> Option<SmallVec<[u32; 4]>> {
        self.lanes(id)?.iter().map(|lane| self.numbers.get(lane).copied()).collect()
    }
}
