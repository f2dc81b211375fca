//! Truth values in GLSL uniform blocks.
//!
//! PICA200 has boolean uniforms, and GLSL's way to write one is a `bool` member of a uniform block. naga's validator refuses those, and
//! its layout gives them a single byte. So such a block is laid out again by std140's rules, and stands in naga's module as a plain
//! variable; the translation treats it as the uniform that it is.

use naga::{AddressSpace, GlobalVariable, Handle, Module, ResourceBinding, ScalarKind, TypeInner};
use std::collections::HashMap;

/// Uniform blocks that naga takes for plain variables, and their bindings.
pub(crate) type Hidden = HashMap<Handle<GlobalVariable>, Option<ResourceBinding>>;

/// Hides all uniform blocks that have truth values.
pub(crate) fn hide(module: &mut Module) -> Hidden {
    let mut hidden = Hidden::new();
    let blocks: Vec<_> =
        module.global_variables.iter().filter(|(_, g)| matches!(g.space, AddressSpace::Uniform)).map(|(h, g)| (h, g.ty)).collect();
    for (h, ty) in blocks {
        let TypeInner::Struct { members, .. } = &module.types[ty].inner else { continue };
        if !members.iter().any(|m| is_truth(&module.types[m.ty].inner)) {
            continue;
        }
        let mut members = members.clone();
        let mut at = 0u32;
        for m in &mut members {
            let (align, size) = layout(module, &module.types[m.ty].inner);
            at = at.next_multiple_of(align);
            m.offset = at;
            at = at.saturating_add(size);
        }
        let inner = TypeInner::Struct { members, span: at.next_multiple_of(16) };
        let name = module.types[ty].name.clone();
        if inner != module.types[ty].inner {
            module.types.replace(ty, naga::Type { name, inner });
        }
        let g = module.global_variables.get_mut(h);
        g.space = AddressSpace::Private;
        hidden.insert(h, g.binding.take());
    }
    hidden
}

fn is_truth(t: &TypeInner) -> bool {
    matches!(t, TypeInner::Scalar(s) | TypeInner::Vector { scalar: s, .. } if s.kind == ScalarKind::Bool)
}

/// Alignment and size by std140.
fn layout(module: &Module, t: &TypeInner) -> (u32, u32) {
    match t {
        TypeInner::Scalar(_) => (4, 4),
        TypeInner::Vector { size, .. } => match *size as u32 {
            2 => (8, 8),
            n => (16, 4 * n),
        },
        TypeInner::Matrix { columns, .. } => (16, 16 * *columns as u32),
        other => (16, other.try_size(module.to_ctx()).unwrap_or(0).next_multiple_of(16)),
    }
}
