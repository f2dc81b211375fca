//! The tables of a program's entry point: constants, inputs, outputs, uniforms, the geometry program's mode.
//!
//! Facts: ISA sheet section 14.

use crate::abi::{self, Abi};
use crate::container::{Constant, Executable};
use crate::emit::Emitted;
use crate::isa::registers::FLOAT_UNIFORMS;
use crate::legal::numerics::to_bits24;
use crate::select::mir::{Leaf, Program, Rounds};
use retroshade_ir::{Module, Span, Stage};
use retroshade_lower::CompileError;

/// Which of the uniforms that count loops are nothing else.
pub fn unread(p: &Program, abi: &mut Abi) {
    let counting = abi.integers.iter().filter_map(|i| if let Rounds::Uniform { uniform, .. } = i.rounds { Some(uniform) } else { None });
    for u in counting.collect::<Vec<_>>() {
        let abi::Place::Float { reg, comp, .. } = abi.uniforms[u] else { continue };
        let tests = p.blocks.iter().flat_map(|b| &b.test).flat_map(|t| t.refs());
        let reads = p.blocks.iter().flat_map(|b| &b.nodes).flat_map(|n| n.reads().collect::<Vec<_>>());
        let is = |r: crate::select::mir::Ref| matches!(r.leaf, Leaf::Uni { reg: x, comp: c, .. } if u16::from(x) == reg && c == comp);
        abi.unread[u] = !tests.chain(reads).chain(p.indices.iter().copied()).any(is);
    }
}

/// The tables of the program's entry.
pub fn executable(m: &Module, abi: &Abi, e: &Emitted, words: usize) -> Result<Executable, CompileError> {
    let mut constants: Vec<Constant> = Vec::new();
    for (k, r) in e.constants.regs.iter().enumerate() {
        let reg = FLOAT_UNIFORMS as usize - 1 - k.min(FLOAT_UNIFORMS as usize - 1);
        if reg < abi.free as usize {
            let needed = abi.free as u64 + e.constants.regs.len() as u64;
            return Err(CompileError::limit(
                "P0303",
                Span::NONE,
                "uniforms and constants do not fit the float registers",
                needed,
                FLOAT_UNIFORMS as u64,
            ));
        }
        constants.push(Constant::Float(reg as u16, r.map(|v| v.map_or(0, |v| to_bits24(f32::from_bits(v))))));
    }
    constants.extend(abi.integers.iter().filter_map(|i| match i.rounds {
        Rounds::Known(n) => Some(Constant::Int(u16::from(i.register), [(n - 1) as u8, 0, i.step, 0])),
        Rounds::Uniform { .. } => None,
    }));
    constants.extend(e.truth.map(|b| Constant::Bool(u16::from(b), true)));
    if constants.is_empty() {
        // Programs without any constant are reported to hang the machine.
        constants.push(if abi.free < FLOAT_UNIFORMS {
            Constant::Float(FLOAT_UNIFORMS as u16 - 1, [0; 4])
        } else {
            Constant::Bool(15, false)
        });
    }
    let outputs = abi::output_entries(m, abi);
    Ok(Executable {
        geometry: m.stage == Stage::Geometry,
        merge: m.stage == Stage::Geometry && outputs.iter().any(|o| o.kind == abi::semantics::DUMMY),
        entry: 0,
        end: e.main.min(words as u32),
        inputs: m.inputs.iter().flat_map(|(k, d)| (0..d.count).map(move |e| (k, e))).fold(0, |s, (k, e)| {
            match abi::input_place(m, abi, k, e) {
                abi::InputPlace::Register(r) => s | 1 << (r & 15),
                abi::InputPlace::Uniform(_) => s,
            }
        }),
        mode: match abi.vertices {
            abi::Vertices::Registers => 0,
            abi::Vertices::Variable(_) => 1,
            abi::Vertices::Fixed(_) => 2,
        },
        whole: if let abi::Vertices::Variable(n) = abi.vertices { n } else { 0 },
        vertices: if let abi::Vertices::Fixed(n) = abi.vertices { n } else { 0 },
        outputs_mask: outputs.iter().fold(0, |s, o| s | 1 << o.reg),
        constants,
        uniforms: abi::uniform_entries(m, abi, &abi::reflect(m, abi)),
        outputs,
        ..Executable::default()
    })
}
