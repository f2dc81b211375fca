//! Several programs in one file: the code one behind the other, descriptors shared, an entry point for each.

use crate::abi::semantics;
use crate::compile::unlinked;
use crate::container::Shbin;
use crate::emit::{Emitted, descriptor_spill};
use crate::isa::asm::{self, LinkError};
use crate::isa::dis;
use crate::isa::forms::Op;
use crate::isa::word::Instr;
use retroshade_ir::{Span, Stage};
use retroshade_lower::{CompileError, CompiledShader};

/// Whether the geometry programs of a file find the vertices that they read: each fits a vertex program.
fn interfaces(shaders: &[CompiledShader]) -> Result<(), CompileError> {
    let of = |stage: Stage| shaders.iter().filter(move |s| s.stage == stage).map(|s| &s.legal);
    for g in of(Stage::Geometry) {
        let mut first = None;
        for v in of(Stage::Vertex) {
            match semantics::fits(v, g) {
                Ok(()) => {
                    first = None;
                    break;
                }
                Err(e) => first = first.or(Some(e)),
            }
        }
        if let Some(e) = first {
            return Err(e);
        }
    }
    Ok(())
}

/// Joins programs into one file: the code one behind the other, descriptors shared, an entry point for each.
pub fn join(shaders: &[CompiledShader]) -> Result<Vec<u8>, CompileError> {
    let mut code: Vec<Instr> = Vec::new();
    let mut executables = Vec::new();
    let mut vertex_words = 0;
    // Vertex code must lie in the first words.
    let mut order: Vec<&CompiledShader> = shaders.iter().collect();
    order.sort_by_key(|s| s.stage != Stage::Vertex);
    let internal = |e: retroshade_lower::TextError| CompileError::Internal(e.to_string());
    interfaces(shaders)?;
    for s in order {
        let bin = Shbin::read(&s.container).map_err(internal)?;
        let base = code.len() as u16;
        for mut i in dis::decode_all(&bin).map_err(internal)? {
            if matches!(i.op, Op::Call | Op::Callc | Op::Callu | Op::Ifc | Op::Ifu | Op::For | Op::Jmpc | Op::Jmpu) {
                i.target += base;
            }
            code.push(i);
        }
        for mut e in bin.executables {
            e.entry += base as u32;
            e.end += base as u32;
            executables.push(e);
        }
        if s.stage == Stage::Vertex {
            vertex_words = code.len() as u32;
        }
    }
    let mut spans = vec![Span::NONE; code.len()];
    let linked = match asm::link(&code) {
        // Each fitted by itself: `mad`s share their few entries now.
        Err(LinkError::Descriptors(_, _, true)) => {
            let mut marks: Vec<&mut u32> = executables.iter_mut().flat_map(|e| [&mut e.entry, &mut e.end]).collect();
            marks.push(&mut vertex_words);
            descriptor_spill::split_mads(&mut code, &mut spans, &mut marks);
            asm::link(&code)
        }
        other => other,
    };
    if vertex_words as usize > asm::VERTEX_WORDS {
        let m = "the vertex programs are too long together";
        return Err(CompileError::limit("P0306", Span::NONE, m, u64::from(vertex_words), asm::VERTEX_WORDS as u64));
    }
    if code.len() > 4096 {
        return Err(CompileError::limit("P0306", Span::NONE, "the programs are too long together", code.len() as u64, 4096));
    }
    let (code, descriptors) = linked.map_err(|e| unlinked(&e, &Emitted { code: code.clone(), spans, ..Emitted::default() }))?;
    Ok(Shbin { code, descriptors, executables }.write())
}
