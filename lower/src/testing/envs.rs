//! Random environments for random programs.

use super::random::OWN_WORDS;
use crate::rng::Rng;
use crate::validate::meaning::inputs::random_texture;
use retroshade_ir::*;

/// An environment for a module: `lanes` invocations (fragments: whole quads; compute: two workgroups).
pub fn random_env(module: &Module, lanes: usize, mantissa: u32, rng: &mut Rng) -> ShaderEnv {
    let keep = u32::MAX << (23 - mantissa.min(23));
    let mut env = ShaderEnv { workgroups: [2, 1, 1], ..ShaderEnv::default() };
    let word = |rng: &mut Rng, s: Scalar| match s {
        Scalar::F32 => rng.float().to_bits() & keep,
        Scalar::F16 => numerics::from_f32(Scalar::F16, rng.float()),
        Scalar::I32 => rng.int(),
        Scalar::I1 => rng.below(2) as u32,
    };
    let lanes = if module.stage == Stage::Fragment { lanes.div_ceil(4) * 4 } else { lanes };
    if module.stage != Stage::Compute {
        for n in 0..lanes {
            let inputs = module.inputs.values().map(|d| match d.binding {
                Binding::Builtin(Builtin::Position) if module.stage == Stage::Fragment => {
                    let (x, y) = (n % 2 + n / 4 * 2, n / 2 % 2);
                    [x as f32 + 0.5, y as f32 + 0.5, 0.5, 1.0].map(f32::to_bits).to_vec()
                }
                Binding::Builtin(Builtin::VertexIndex) => vec![n as u32],
                Binding::Builtin(Builtin::FrontFacing) => vec![u32::from(n / 4 % 2 == 0)],
                _ => (0..d.count.max(1) * d.ty.lanes as u32).map(|_| word(rng, d.ty.scalar)).collect(),
            });
            env.invocations.push(InvocationInputs { inputs: inputs.collect() });
        }
    }
    env.uniforms =
        module.uniforms.values().map(|u| (0..u.elements() * u.ty.lanes as u32).map(|_| word(rng, u.ty.scalar)).collect()).collect();
    for d in module.textures.values() {
        env.textures.push(random_texture(d, rng));
    }
    let invocations = module.workgroup_size.iter().product::<u32>() * env.workgroups.iter().product::<u32>();
    env.storage = module
        .storage
        .values()
        .map(|s| {
            let words = if s.name.starts_with("own") {
                invocations * OWN_WORDS
            } else if s.name == "counters" {
                16
            } else {
                32
            };
            (0..words).map(|n| word(rng, s.word(n as usize))).collect()
        })
        .collect();
    env
}
