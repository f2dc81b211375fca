//! What the GLSL rewriting leaves to be put right in naga's module, or in the finished one.

use naga::{Expression, Module, SampleLevel, SwizzleComponent};
use std::collections::BTreeMap;

/// Gives variables that the rewriting made the names that the user knows.
pub(crate) fn names(module: &mut Module, renames: &BTreeMap<String, String>) {
    let rename = |n: &mut Option<String>| match n.as_ref().and_then(|n| renames.get(n)) {
        Some(new) => {
            *n = Some(new.clone());
            true
        }
        None => false,
    };
    for (_, g) in module.global_variables.iter_mut() {
        rename(&mut g.name);
    }
    for e in &mut module.entry_points {
        for a in &mut e.function.arguments {
            rename(&mut a.name);
        }
        // The members of the result are the output variables.
        let Some(result) = &e.function.result else { continue };
        let mut ty = module.types[result.ty].clone();
        if let naga::TypeInner::Struct { members, .. } = &mut ty.inner {
            let mut changed = false;
            for m in members {
                changed |= rename(&mut m.name);
            }
            if changed {
                module.types.replace(result.ty, ty);
            }
        }
    }
}

/// Functions that stand for `textureGather` with one of the components.
pub(crate) fn gathers(module: &mut Module) {
    for (_, f) in module.functions.iter_mut() {
        let component = f.name.as_deref().and_then(|n| n.strip_prefix("shaderc_gather")?.chars().next());
        let component = match component {
            Some('0') => SwizzleComponent::X,
            Some('1') => SwizzleComponent::Y,
            Some('2') => SwizzleComponent::Z,
            Some('3') => SwizzleComponent::W,
            _ => continue,
        };
        for (_, e) in f.expressions.iter_mut() {
            if let Expression::ImageSample { gather, level, .. } = e {
                *gather = Some(component);
                *level = SampleLevel::Zero;
            }
        }
    }
}

/// Forbids contraction in a whole program: `precise` and `invariant` are not followed from variable to variable.
pub(crate) fn keep_roundings(module: &mut retroshade_ir::Module) {
    for f in module.functions.values_mut() {
        for d in f.insts.values_mut() {
            d.precise |= matches!(d.op.group(), "Float");
        }
    }
}
