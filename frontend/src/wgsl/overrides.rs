//! Overrides as reflection lists them.

use super::writer::bits_of;
use naga::back::PipelineConstants;
use naga::{Expression, Handle, Scalar, TypeInner};
use retroshade_ir::surface::SpecConstant;

/// The overrides of a source, and the values with which it was compiled: `given` by the user, else those of `compiled`, where overrides are
/// constants; an override that the entry point does not use is left out there.
pub(super) fn constants(source: &naga::Module, compiled: &naga::Module, given: &PipelineConstants) -> Vec<SpecConstant> {
    let bits = |m: &naga::Module, e: Handle<Expression>| match m.global_expressions[e] {
        Expression::Literal(l) => Some(bits_of(l) as u32),
        _ => None,
    };
    let all = source.overrides.iter().map(|(_, o)| {
        let name = o.name.clone().unwrap_or_default();
        let TypeInner::Scalar(scalar) = source.types[o.ty].inner else { return None };
        let default = o.init.and_then(|e| bits(source, e));
        let key = o.id.map_or_else(|| name.clone(), |id| id.to_string());
        let user = given.get(&key).map(|v| match scalar {
            Scalar::F32 => (*v as f32).to_bits(),
            Scalar::F16 => half(*v as f32),
            Scalar::BOOL => (*v != 0.0).into(),
            Scalar::U32 => *v as u32,
            _ => *v as i32 as u32,
        });
        let computed = compiled.constants.iter().find(|(_, c)| c.name.as_ref() == Some(&name)).and_then(|(_, c)| bits(compiled, c.init));
        let value = user.or(computed).or(default)?;
        let ty = match scalar {
            Scalar::BOOL => "bool",
            Scalar::F32 => "f32",
            Scalar::F16 => "f16",
            Scalar::U32 => "u32",
            _ => "i32",
        };
        Some(SpecConstant { id: o.id.map(u32::from), name, ty: ty.to_string(), default, value })
    });
    all.flatten().collect()
}

fn half(x: f32) -> u32 {
    retroshade_ir::numerics::from_f32(retroshade_ir::Scalar::F16, x)
}
