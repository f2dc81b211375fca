//! Inputs for a program: mostly its own constants and small values, so that comparisons go both ways and cases of a `switch` are met.

use crate::rng::Rng;
use retroshade_ir::env::{Filter, Wrap};
use retroshade_ir::texture::texel_count;
use retroshade_ir::*;
use std::collections::BTreeMap;

/// Invocations of a program that has no workgroups: a quad of fragments.
const LANES: usize = 4;
/// The least words of a buffer whose size the program leaves open.
const WORDS: usize = 64;
/// Integers of a program beyond these are masks and the like: no values that inputs have.
const LARGE: u32 = 1 << 12;

/// What inputs are chosen from.
pub struct Inputs<'a> {
    module: &'a Module,
    floats: Vec<f32>,
    ints: Vec<u32>,
}

impl<'a> Inputs<'a> {
    /// The constants of a module.
    pub fn new(module: &'a Module) -> Inputs<'a> {
        let (mut floats, mut ints) = (vec![0.0, 1.0], vec![0, 1]);
        for f in module.functions.values() {
            for (_, i) in f.ordered() {
                match (&f.insts[i].imm, f.result(i).map(|v| f.ty(v))) {
                    (Imm::Const(bits), Some(ty)) if ty.is_float() => {
                        floats.extend(bits.iter().take(ty.lanes as usize).map(|b| numerics::to_f32(ty.scalar, *b)));
                    }
                    (Imm::Const(bits), Some(ty)) => ints.extend(bits.iter().take(ty.lanes as usize).filter(|b| **b < LARGE)),
                    (Imm::Cases(cases), _) => ints.extend(cases.iter().filter(|c| **c < LARGE)),
                    _ => {}
                }
            }
        }
        floats.retain(|x| x.is_finite());
        Inputs { module, floats, ints }
    }

    /// How many invocations an environment has.
    pub fn invocations(&self) -> u64 {
        match self.module.stage {
            Stage::Compute => self.module.workgroup_size.iter().map(|n| u64::from(*n).max(1)).product(),
            _ => LANES as u64,
        }
    }

    /// The environment of a number, always the same one. The first of four has no constants, the others have more and more.
    pub fn environment(&self, number: u64) -> ShaderEnv {
        let mut rng = Rng::new(number);
        let rng = &mut rng;
        let known = 30 * (number % 4) as u32;
        let m = self.module;
        let lanes = if m.stage == Stage::Compute { 0 } else { LANES };
        let invocations = (0..lanes).map(|n| {
            let inputs = m.inputs.values().map(|d| self.input(d, n, known, rng));
            InvocationInputs { inputs: inputs.collect() }
        });
        let invocations = invocations.collect();
        let uniforms = m.uniforms.values().map(|d| {
            // The texture tells its size.
            let count = if d.size_of.is_some() { 0 } else { d.elements() as usize * d.ty.lanes as usize };
            (0..count).map(|_| self.word(d.ty.scalar, d.range, d.source_type.as_deref(), known, rng)).collect()
        });
        let mut uniforms: Vec<Vec<u32>> = uniforms.collect();
        self.share(&mut uniforms);
        let textures = m.textures.values().map(|d| random_texture(d, rng)).collect();
        let storage = m.storage.values().map(|d| {
            let repeats = if d.repeat.is_empty() { 0 } else { WORDS.div_ceil(d.repeat.len()) };
            let words = 0..d.head.len() + repeats * d.repeat.len();
            words.map(|n| self.word(d.word(n), None, None, known, rng)).collect()
        });
        let storage = storage.collect();
        ShaderEnv { invocations, uniforms, textures, storage, workgroups: [1; 3] }.with_sizes(m)
    }

    /// Gives words of uniforms that lie at the same place one value, since blocks may have one binding: a truth value before all others.
    fn share(&self, uniforms: &mut [Vec<u32>]) {
        let mut memory = BTreeMap::new();
        let truth = |d: &UniformDecl| d.ty.scalar == Scalar::I1 || d.source_type.as_deref() == Some("bool");
        for first in [true, false] {
            let all = self.module.uniforms.values().zip(&mut *uniforms);
            for (d, words) in all.filter(|(d, _)| truth(d) == first && d.ty.scalar != Scalar::F16) {
                for (n, w) in (0..).zip(words) {
                    let (element, lane) = (n / u32::from(d.ty.lanes), n % u32::from(d.ty.lanes));
                    let place = (d.group, d.binding, d.offset.wrapping_add(d.element_offset(element)).wrapping_add(4 * lane));
                    *w = *memory.entry(place).or_insert(*w);
                }
            }
        }
    }

    /// What invocation `n` reads of an input.
    fn input(&self, d: &IoDecl, n: usize, known: u32, rng: &mut Rng) -> Vec<u32> {
        let words = d.count.max(1) as usize * d.ty.lanes as usize;
        let values = |v: [u32; 4]| v.into_iter().cycle().take(words).collect();
        match d.binding {
            Binding::Builtin(Builtin::Position) if self.module.stage == Stage::Fragment => {
                values([(n % 2) as f32 + 0.5, (n / 2) as f32 + 0.5, 0.5, 1.0].map(f32::to_bits))
            }
            Binding::Builtin(Builtin::FrontFacing) => values([rng.below(2) as u32; 4]),
            // The frame buffer's colours have few bits.
            Binding::Builtin(Builtin::LastColor) => values([0, 1, 2, 3].map(|_| (rng.below(2) as f32).to_bits())),
            Binding::Builtin(Builtin::VertexCount) => {
                let vertices = self.module.inputs.values().map(|d| d.count).max();
                values([vertices.unwrap_or(1); 4])
            }
            // Nothing is multisampled here.
            Binding::Builtin(Builtin::InvocationId | Builtin::SampleIndex) => values([0; 4]),
            Binding::Builtin(_) if d.ty.scalar == Scalar::I32 => values([n as u32; 4]),
            _ => (0..words).map(|_| self.word(d.ty.scalar, d.range, d.source_type.as_deref(), known, rng)).collect(),
        }
    }

    /// A value, in `known` of 100 cases one that the program knows.
    fn word(&self, ty: Scalar, range: Option<(i64, i64)>, source: Option<&str>, known: u32, rng: &mut Rng) -> u32 {
        let known = rng.chance(known);
        match ty {
            Scalar::I1 => rng.below(2) as u32,
            Scalar::I32 if source == Some("bool") => rng.below(2) as u32,
            Scalar::I32 => {
                let x = if known { i64::from(rng.of(&self.ints)) } else { i64::from(rng.range(-8, 16)) };
                let x = if source == Some("u32") { x.abs() } else { x };
                range.map_or(x, |(low, high)| x.clamp(low, high)) as u32
            }
            _ if known => numerics::from_f32(ty, rng.of(&self.floats)),
            _ => numerics::from_f32(ty, rng.float()),
        }
    }
}

/// A small texture: up to three levels of random texels, and a random filter and wrap.
pub fn random_texture(d: &TextureDecl, rng: &mut Rng) -> TextureData {
    let mut t = TextureData {
        dim: d.dim,
        size: match d.dim {
            TexDim::D1 => [8, 1, 1],
            TexDim::D2 => [8, 4, 1],
            TexDim::D3 => [4, 4, 4],
            TexDim::Cube => [4, 4, 1],
        },
        layers: if d.arrayed || d.multisampled { 2 } else { 1 },
        levels: 1 + rng.below(3) as u32,
        depth: d.shadow,
        filter: rng.of(&[Filter::Nearest, Filter::Linear]),
        wrap: rng.of(&[Wrap::Repeat, Wrap::Mirror, Wrap::Clamp]),
        texels: Vec::new(),
    };
    let count = texel_count(&t);
    let one = |rng: &mut Rng| if d.kind == Scalar::I32 { rng.below(256) as u32 } else { (rng.below(256) as f32 / 256.0).to_bits() };
    t.texels = (0..count).map(|_| [one(rng), one(rng), one(rng), one(rng)]).collect();
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_at_one_place_has_one_value() {
        let m = retroshade_ir::parse(
            "t.ir",
            "shader vertex \"t\"\noutput %p : f32x4 @position\nuniform %a : f32x4 @binding(0)\nuniform %b : f32x4[2:16] @binding(0)\n\
             uniform %c : i32 @binding(0) @offset(20) @range(3, 5)\nuniform %d : i32 @binding(1) @range(3, 5)\n\
             uniform %e : f32x2 @binding(1) @offset(4)\nuniform %f : i1 @binding(1) @offset(8)\nblock0:\n    return\n",
        )
        .unwrap();
        let inputs = Inputs::new(&m);
        let env = inputs.environment(2);
        assert_eq!(env, inputs.environment(2));
        assert_ne!(env.uniforms, inputs.environment(1).uniforms);
        let [a, b, c, d, e, f] = env.uniforms.as_slice() else { panic!("{env:?}") };
        assert_eq!((&a[..], c[0]), (&b[..4], b[5]));
        assert!((3..=5).contains(&d[0]) && f[0] < 2 && e[1] == f[0]);
    }
}
