//! What the GLSL rewriting and naga's SPIR-V reader leave to be put right in naga's module, or in the finished one.

use naga::{Expression, Module, SampleLevel, SwizzleComponent};
use std::collections::BTreeMap;

/// Gives variables that the rewriting made the names that the user knows.
pub(crate) fn names(module: &mut Module, renames: &BTreeMap<String, String>, instances: &BTreeMap<String, String>) {
    let rename = |n: &mut Option<String>| match n.as_ref().and_then(|n| renames.get(n)) {
        Some(new) => {
            *n = Some(new.clone());
            true
        }
        None => false,
    };
    for (_, g) in module.global_variables.iter_mut() {
        rename(&mut g.name);
        if g.name.is_none() {
            g.name = module.types[g.ty].name.as_ref().and_then(|block| instances.get(block)).cloned();
        }
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

/// SPIR-V's logical operations take vectors, which naga's logical operators do not; its bitwise ones take truth values of both shapes.
pub(crate) fn logical(module: &mut Module) {
    use naga::BinaryOperator as B;
    let entries = module.entry_points.iter_mut().map(|e| &mut e.function);
    for f in module.functions.iter_mut().map(|(_, f)| f).chain(entries) {
        for (_, e) in f.expressions.iter_mut() {
            if let Expression::Binary { op, .. } = e {
                *op = match *op {
                    B::LogicalAnd => B::And,
                    B::LogicalOr => B::InclusiveOr,
                    other => other,
                };
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
