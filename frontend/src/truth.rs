//! GLSL's blocks that naga cannot take as they are.
//!
//! PICA200 has boolean uniforms, and GLSL's way to write one is a `bool` member of a uniform block. naga's validator refuses those, and
//! its layout gives them a single byte. Other blocks have layouts that its types cannot say, or that its validator refuses, see `layout`.
//! Such a block stands in naga's module as a plain variable; the translation treats it as the uniform that it is.

use crate::layout::{Layout, Rules};
use naga::{AddressSpace, GlobalVariable, Handle, Module, ResourceBinding, ScalarKind, TypeInner};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Uniform blocks that naga takes for plain variables, and their bindings.
pub(crate) type Hidden = HashMap<Handle<GlobalVariable>, Option<ResourceBinding>>;

/// Layouts of blocks, where naga's types do not have them.
pub(crate) type Layouts = HashMap<Handle<GlobalVariable>, Rc<Layout>>;

/// Hides all uniform blocks that naga would refuse; finds the layouts of the blocks, which are known by name.
pub(crate) fn hide(module: &mut Module, named: &BTreeMap<String, Layout>) -> (Hidden, Layouts) {
    let (mut hidden, mut layouts) = (Hidden::new(), Layouts::new());
    let truth = truth_types(module);
    let blocks: Vec<_> = module.global_variables.iter().map(|(h, g)| (h, g.ty, g.space)).collect();
    for (h, ty, space) in blocks {
        let uniform = matches!(space, AddressSpace::Uniform | AddressSpace::Immediate);
        if !uniform && !matches!(space, AddressSpace::Storage { .. }) {
            continue;
        }
        let layout = module.types[ty].name.as_ref().and_then(|n| named.get(n)).cloned();
        let layout = match layout {
            Some(l) => l,
            None if uniform && truth.contains(&ty) => Layout { rules: Rules::Std140, keys: Vec::new() },
            None => continue,
        };
        layouts.insert(h, Rc::new(layout));
        if uniform {
            let g = module.global_variables.get_mut(h);
            g.space = AddressSpace::Private;
            hidden.insert(h, g.binding.take());
        }
    }
    (hidden, layouts)
}

/// The types that have truth values somewhere inside.
fn truth_types(module: &Module) -> Vec<Handle<naga::Type>> {
    let mut found: Vec<Handle<naga::Type>> = Vec::new();
    // Types only name earlier ones.
    for (h, t) in module.types.iter() {
        let has = match &t.inner {
            TypeInner::Scalar(s) | TypeInner::Vector { scalar: s, .. } => s.kind == ScalarKind::Bool,
            TypeInner::Array { base, .. } => found.binary_search(base).is_ok(),
            TypeInner::Struct { members, .. } => members.iter().any(|m| found.binary_search(&m.ty).is_ok()),
            _ => false,
        };
        if has {
            found.push(h);
        }
    }
    found
}
