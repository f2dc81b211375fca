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

/// Forbids contraction in a whole program: `precise` and `invariant` are not followed from variable to variable.
pub(crate) fn keep_roundings(module: &mut retroshade_ir::Module) {
    for f in module.functions.values_mut() {
        for d in f.insts.values_mut() {
            d.precise |= matches!(d.op.group(), "Float");
        }
    }
}

/// Gives `gl_ClipDistance` the size that the program uses; naga's has none, and its validator takes no such result.
pub(crate) fn clip_distances(module: &mut Module) {
    let unsized_array = |t: &naga::Type| matches!(t.inner, naga::TypeInner::Array { size: naga::ArraySize::Dynamic, .. });
    let found = module
        .global_variables
        .iter()
        .find(|(_, g)| g.name.as_deref() == Some("gl_ClipDistance") && unsized_array(&module.types[g.ty]))
        .map(|(h, g)| (h, g.ty));
    let Some((global, old)) = found else { return };
    let mut count = 1u32;
    let entries = module.entry_points.iter().map(|e| &e.function);
    for f in module.functions.iter().map(|(_, f)| f).chain(entries) {
        for (_, e) in f.expressions.iter() {
            let (base, index) = match e {
                Expression::AccessIndex { base, index } => (base, Some(*index)),
                Expression::Access { base, index } => match &f.expressions[*index] {
                    Expression::Literal(naga::Literal::I32(k)) => (base, u32::try_from(*k).ok()),
                    Expression::Literal(naga::Literal::U32(k)) => (base, Some(*k)),
                    _ => (base, None),
                },
                _ => continue,
            };
            if matches!(f.expressions[*base], Expression::GlobalVariable(g) if g == global) {
                // An index that is computed may be any of the eight that there are.
                count = count.max(index.map_or(8, |k| k.saturating_add(1)).min(8));
            }
        }
    }
    let naga::TypeInner::Array { base, stride, .. } = module.types[old].inner else { return };
    let Some(size) = std::num::NonZeroU32::new(count) else { return };
    let span = module.types.get_span(old);
    let inner = naga::TypeInner::Array { base, size: naga::ArraySize::Constant(size), stride };
    let new = module.types.insert(naga::Type { name: None, inner }, span);
    module.global_variables.get_mut(global).ty = new;
    let Module { entry_points, types, .. } = module;
    for e in entry_points {
        let Some(result) = &mut e.function.result else { continue };
        let mut ty = types[result.ty].clone();
        let naga::TypeInner::Struct { members, span } = &mut ty.inner else { continue };
        let mut more = 0;
        for m in members {
            m.offset += more;
            if m.ty == old {
                m.ty = new;
                more = (count - 1) * stride;
            }
        }
        *span += more;
        let (before, at) = (result.ty, types.get_span(result.ty));
        let after = types.insert(ty, at);
        result.ty = after;
        for (_, x) in e.function.expressions.iter_mut() {
            if let Expression::Compose { ty, .. } = x
                && *ty == before
            {
                *ty = after;
            }
        }
    }
}
