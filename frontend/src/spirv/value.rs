//! Values of the source while they are translated, and vectors seen as lanes.

use super::binary::Id;
use super::place::{Place, Root};
use retroshade_ir::inst::Imm;
use retroshade_ir::{Function, Opcode, Value, ValueDef};
use std::rc::Rc;

/// A value of the source.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    /// A scalar or vector.
    Leaf(Value),
    /// Members of a struct, elements of an array, columns of a matrix.
    Agg(Rc<[Val]>),
    /// A matrix that is the transpose of another one, not yet computed.
    Transposed(Rc<Val>),
    /// A product of two matrices, not yet computed, and how many loops were around it: `(A × B) × v` is cheaper as `A × (B × v)`.
    Product(Rc<(Val, Val, u32)>),
    /// A pointer, or a composite in read-only memory that is loaded when a part of it is needed.
    Place(Place),
    /// Textures and samplers.
    Resource(Rc<Resource>),
}

/// A texture, a sampler or both.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resource {
    /// The texture.
    pub(crate) image: Option<Part>,
    /// The sampler; of a combined one, the same.
    pub(crate) sampler: Option<Part>,
}

/// A texture or sampler in a variable, or a choice of several by a computed index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// The variable.
    pub(crate) variable: Id,
    /// Which of the variable's, counted from its first; every one that may be meant.
    pub(crate) leaves: Vec<u32>,
    /// Chooses among them where there are several.
    pub(crate) index: Option<Value>,
}

impl Val {
    /// A composite.
    pub(crate) fn agg(parts: Vec<Val>) -> Val {
        Val::Agg(parts.into())
    }

    /// Whether this or a part of it points to a held value: what loads give never does.
    pub(crate) fn is_pointer_to_held(&self) -> bool {
        match self {
            Val::Place(p) => matches!(p.root, Root::Held(_)),
            Val::Agg(parts) => parts.iter().any(Val::is_pointer_to_held),
            Val::Transposed(v) => v.is_pointer_to_held(),
            Val::Product(v) => v.0.is_pointer_to_held() || v.1.is_pointer_to_held(),
            Val::Leaf(_) | Val::Resource(_) => false,
        }
    }
}

/// Where a lane of a vector comes from, as far as that is known without new instructions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lane {
    /// An existing scalar.
    Scalar(Value),
    /// A constant.
    Bits(u32),
    /// A lane of a vector.
    Of(Value, u8),
    /// Nothing is promised about it.
    Undef,
}

/// Traces lane `n` of `v` to its origin.
pub(crate) fn trace_lane(f: &Function, v: Value, n: u8) -> Lane {
    let (mut v, mut n) = (f.resolve(v), n);
    loop {
        if !f.ty(v).is_vector() {
            return trace_scalar(f, v);
        }
        let ValueDef::Result(inst, _) = f.values[v].1 else { return Lane::Of(v, n) };
        let d = &f.insts[inst];
        match (d.op, &d.imm) {
            (Opcode::Const, Imm::Const(bits)) => return Lane::Bits(bits[n as usize]),
            (Opcode::Undef, _) => return Lane::Undef,
            (Opcode::Splat, _) => return trace_scalar(f, d.args[0]),
            (Opcode::Build, _) => return trace_scalar(f, d.args[n as usize]),
            (Opcode::Insert, Imm::Lane(at)) if *at == n => return trace_scalar(f, d.args[1]),
            (Opcode::Insert, _) => v = f.resolve(d.args[0]),
            (Opcode::Shuffle, Imm::Lanes(mask)) => {
                let from = mask[n as usize];
                let first = f.ty(d.args[0]).lanes;
                (v, n) = if from < first { (f.resolve(d.args[0]), from) } else { (f.resolve(d.args[1]), from - first) };
            }
            _ => return Lane::Of(v, n),
        }
    }
}

fn trace_scalar(f: &Function, v: Value) -> Lane {
    let v = f.resolve(v);
    if let ValueDef::Result(inst, _) = f.values[v].1 {
        let d = &f.insts[inst];
        match (d.op, &d.imm) {
            (Opcode::Const, Imm::Const(bits)) => return Lane::Bits(bits[0]),
            (Opcode::Undef, _) => return Lane::Undef,
            (Opcode::Extract, Imm::Lane(n)) => return Lane::Of(f.resolve(d.args[0]), *n),
            _ => {}
        }
    }
    Lane::Scalar(v)
}
