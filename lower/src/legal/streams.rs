//! Vertex streams of geometry programs: the machines write vertices to one, stream 0.

use retroshade_ir::{Imm, Module, Span};

/// Where a program first emits to, or ends a primitive of, another stream than 0.
#[must_use]
pub fn beyond_first(m: &Module) -> Option<Span> {
    let all = m.functions.values().flat_map(|f| f.ordered().map(move |(_, i)| (f, i)));
    all.filter(|(f, i)| matches!(f.insts[*i].imm, Imm::Stream(s) if s != 0)).map(|(f, i)| f.spans[i]).next()
}
