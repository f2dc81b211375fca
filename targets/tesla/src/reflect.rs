//! What a program's user must know: where inputs, outputs, uniforms and buffers lie.

use crate::abi::Abi;
use retroshade_ir::{Binding, Module, Stage};
use retroshade_lower::{ReflectConstants, Reflection};

/// The interface of a compiled module.
pub(crate) fn reflect(source: &Module, abi: &Abi) -> Reflection {
    let mut r = Reflection::from_module(source);
    r.target = "tesla".to_string();
    let stage = source.stage;
    for (n, i) in r.inputs.iter_mut().enumerate() {
        let decl = &source.inputs[retroshade_ir::Input::from_u32(n as u32)];
        let letter = match stage {
            Stage::Vertex => "a",
            Stage::Geometry => "p",
            _ => "v",
        };
        let first = (0..4).find_map(|l| abi.input_offset(n as u32, 0, l));
        i.register = match decl.binding {
            Binding::Builtin(retroshade_ir::Builtin::Position) if stage == Stage::Fragment => Some("v[0x0]".to_string()),
            _ => first.map(|o| format!("{letter}[{o:#x}]")),
        };
    }
    for (n, o) in r.outputs.iter_mut().enumerate() {
        o.register = match stage {
            Stage::Fragment => abi.results.iter().find(|x| x.1.decl == n as u32).map(|x| format!("$r{}", x.0)),
            _ => abi.output_offset(n as u32, 0, 0).map(|x| format!("o[{x:#x}]")),
        };
    }
    for u in &mut r.uniforms {
        let place = abi.uniforms.iter().zip(source.uniforms.values()).find(|(_, d)| (d.group, d.binding) == (u.group, u.binding));
        if let Some((p, d)) = place {
            u.register = Some(format!("c{}[{:#x}]", p.space, p.offset - d.offset + u.offset));
        }
    }
    if let Some(c) = &abi.constants {
        r.constants.push(ReflectConstants { register: format!("c{}[0x0]", c.space), words: c.words.clone() });
    }
    for (n, t) in r.textures.iter_mut().enumerate() {
        t.unit = n as u32;
    }
    for (n, s) in r.storage.iter_mut().enumerate() {
        s.register = Some(match abi.storage_spaces.get(n).copied().flatten() {
            Some(space) => format!("c{space}[{:#x}]", crate::abi::BUFFER_HEADER),
            None => format!("g{n}[]"),
        });
    }
    r
}
