//! Inputs for a program: mostly its own constants and small values, so that comparisons go both ways and cases of a `switch` are met.

use super::origins::{Word, number};
use crate::rng::Rng;
use cranelift_entity::EntityRef;
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

    /// Those of a large workgroup of which an environment has no more than of other invocations: the first, its neighbours and the last.
    /// Nothing where all run.
    fn few(&self) -> Vec<[u32; 3]> {
        let size = self.module.workgroup_size.map(|n| n.max(1));
        if self.module.stage != Stage::Compute || size.iter().map(|n| u64::from(*n)).product::<u64>() <= LANES as u64 {
            return Vec::new();
        }
        let corner = ShaderEnv::default().threads_of(size.map(|n| n.min(2)));
        corner.into_iter().take(LANES - 1).chain([size.map(|n| n - 1)]).collect()
    }

    /// An environment with a whole workgroup, where the others have a part of it.
    pub fn whole(&self) -> Option<ShaderEnv> {
        let env = self.environment(0);
        (!env.threads.is_empty()).then(|| ShaderEnv { threads: Vec::new(), ..env })
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
        ShaderEnv { invocations, uniforms, textures, storage, workgroups: [1; 3], threads: self.few() }.with_sizes(m)
    }

    /// Gives words of uniforms that lie at the same place one value, since blocks may have one binding: a truth value before all others.
    fn share(&self, uniforms: &mut [Vec<u32>]) {
        let mut memory = BTreeMap::new();
        let truth = |d: &UniformDecl| d.ty.scalar == Scalar::I1 || d.source_type.as_deref() == Some("bool");
        for first in [true, false] {
            let all = self.module.uniforms.values().zip(&mut *uniforms);
            for (d, words) in all.filter(|(d, _)| truth(d) == first && d.ty.scalar != Scalar::F16) {
                for (n, w) in (0..).zip(words) {
                    *w = *memory.entry(place(d, n)).or_insert(*w);
                }
            }
        }
    }

    /// Whether a word may be set to any number of its kind: what the hardware makes is left as it is, but for the numbers of vertices and the
    /// like, and the side of a face.
    pub fn can_set(&self, word: Word) -> bool {
        let Word::Input(i, _) = word else { return true };
        match self.module.inputs[i].binding {
            Binding::Builtin(Builtin::VertexIndex | Builtin::InstanceIndex | Builtin::PrimitiveIndex | Builtin::FrontFacing) => true,
            Binding::Builtin(_) => false,
            Binding::Location(_) => self.module.stage != Stage::Compute,
        }
    }

    /// How many numbers a word can have at once: one for each invocation, or one for all.
    pub fn places(&self, env: &ShaderEnv, word: Word) -> usize {
        if matches!(word, Word::Input(..)) { env.invocations.len().max(1) } else { 1 }
    }

    /// The number that a word is, in an invocation.
    pub fn get(&self, env: &ShaderEnv, word: Word, invocation: u32) -> f64 {
        let of = |words: Option<&Vec<u32>>, n: u32| words.and_then(|w| w.get(n as usize)).copied().unwrap_or(0);
        let bits = match word {
            Word::Input(i, n) => of(env.invocations.get(invocation as usize).and_then(|v| v.inputs.get(i.index())), n),
            Word::Uniform(u, n) => of(env.uniforms.get(u.index()), n),
            Word::Storage(s, n) => of(env.storage.get(s.index()), n),
            Word::Texture(t) => env.textures.get(t.index()).and_then(|t| t.texels.first()).map_or(0, |t| t[0]),
        };
        number(self.kind(word).0, bits)
    }

    /// Sets a word, in an invocation where each has its own, to the number of its kind that is nearest.
    pub fn set(&self, env: &mut ShaderEnv, word: Word, invocation: u32, x: f64) {
        let (ty, range, source) = self.kind(word);
        let bits = match ty {
            Scalar::I1 => u32::from(x != 0.0),
            Scalar::I32 if source == Some("bool") => u32::from(x != 0.0),
            Scalar::I32 => fit(x.round() as i64, range, source),
            _ => numerics::from_f32(ty, x as f32),
        };
        match word {
            Word::Input(i, n) => {
                let alone = matches!(self.module.inputs[i].binding, Binding::Builtin(Builtin::VertexIndex));
                let old = self.get(env, word, invocation) as u32;
                for (k, v) in (0..).zip(&mut env.invocations) {
                    match v.inputs.get_mut(i.index()).and_then(|w| w.get_mut(n as usize)) {
                        Some(w) if k == invocation => *w = bits,
                        // No two vertices have one number.
                        Some(w) if alone && *w == bits => *w = old,
                        _ => {}
                    }
                }
            }
            Word::Uniform(u, n) => {
                let at = place(&self.module.uniforms[u], n);
                let whose = self.module.uniforms.values().zip(&mut env.uniforms);
                for (d, words) in whose.filter(|(d, _)| (d.group, d.binding) == (at.0, at.1) && d.size_of.is_none()) {
                    (0..).zip(words).filter(|(n, _)| place(d, *n) == at).for_each(|(_, w)| *w = bits);
                }
            }
            Word::Storage(s, n) => {
                env.storage.get_mut(s.index()).and_then(|w| w.get_mut(n as usize)).into_iter().for_each(|w| *w = bits);
            }
            Word::Texture(t) => {
                env.textures.get_mut(t.index()).into_iter().flat_map(|t| &mut t.texels).for_each(|t| *t = [bits; 4]);
            }
        }
    }

    /// Gives all invocations what one has, where nobody but the program asks for it.
    pub fn spread(&self, env: &mut ShaderEnv, word: Word, invocation: u32) {
        let Word::Input(i, n) = word else { return };
        let value = env.invocations.get(invocation as usize).and_then(|v| v.inputs.get(i.index())?.get(n as usize).copied());
        if let (Some(value), Binding::Location(_)) = (value, self.module.inputs[i].binding) {
            let all = env.invocations.iter_mut().filter_map(|v| v.inputs.get_mut(i.index())?.get_mut(n as usize));
            all.for_each(|w| *w = value);
        }
    }

    /// Puts an environment's one invocation back among all others.
    pub fn put_back(&self, env: &mut ShaderEnv, all: &ShaderEnv, chosen: usize) {
        let old = all.invocations.get(chosen);
        if let (Some(new), Some(old)) = (env.invocations.pop(), old) {
            env.invocations.clone_from(&all.invocations);
            // No two vertices have one number.
            let number = self.module.inputs.values().position(|d| d.binding == Binding::Builtin(Builtin::VertexIndex));
            if let Some(k) = number {
                env.invocations.iter_mut().filter(|v| v.inputs[k] == new.inputs[k]).for_each(|v| v.inputs[k].clone_from(&old.inputs[k]));
            }
            env.invocations[chosen] = new;
        }
    }

    /// What a word holds: its type, declared bounds, and how the source spells the type.
    fn kind(&self, word: Word) -> (Scalar, Option<(i64, i64)>, Option<&str>) {
        let m = self.module;
        match word {
            Word::Input(i, _) if matches!(m.inputs[i].binding, Binding::Builtin(_)) => (m.inputs[i].ty.scalar, Some((0, 255)), None),
            Word::Input(i, _) => (m.inputs[i].ty.scalar, m.inputs[i].range, m.inputs[i].source_type.as_deref()),
            Word::Uniform(u, _) => (m.uniforms[u].ty.scalar, m.uniforms[u].range, m.uniforms[u].source_type.as_deref()),
            Word::Texture(t) => (m.textures[t].kind, Some((0, 255)), None),
            Word::Storage(s, n) => (m.storage[s].word(n as usize), None, None),
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
                fit(x, range, source)
            }
            _ if known => numerics::from_f32(ty, rng.of(&self.floats)),
            _ => numerics::from_f32(ty, rng.float()),
        }
    }
}

/// An integer within what its declaration promises.
fn fit(x: i64, range: Option<(i64, i64)>, source: Option<&str>) -> u32 {
    let x = if source == Some("u32") { x.saturating_abs() } else { x };
    range.map_or(x, |(low, high)| x.clamp(low, high)) as u32
}

/// Where word `n` of a uniform lies: group, binding, byte.
fn place(d: &UniformDecl, n: u32) -> (u32, u32, u32) {
    let (element, lane) = (n / u32::from(d.ty.lanes), n % u32::from(d.ty.lanes));
    (d.group, d.binding, d.offset.wrapping_add(d.element_offset(element)).wrapping_add(4 * lane))
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
    fn every_number_fits() {
        for x in [i64::MIN, i64::MAX, -1] {
            assert!((3..=9).contains(&fit(x, Some((3, 9)), None)));
            assert_eq!(fit(x, Some((0, 1)), Some("u32")), 1);
        }
    }

    #[test]
    fn of_a_large_workgroup_the_edges_run() {
        for (size, few) in [
            ("4, 1, 1", &[][..]),
            ("64, 1, 1", &[[0, 0, 0], [1, 0, 0], [63, 0, 0]]),
            ("8, 4, 1", &[[0, 0, 0], [1, 0, 0], [0, 1, 0], [7, 3, 0]]),
            ("1, 3, 2", &[[0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 2, 1]]),
        ] {
            let m = retroshade_ir::parse("w.ir", &format!("shader compute \"w\"\nworkgroup_size({size})\nblock0:\n    return\n")).unwrap();
            let inputs = Inputs::new(&m);
            assert_eq!(inputs.environment(0).threads, few, "{size}");
            assert_eq!(inputs.whole().is_some(), !few.is_empty(), "{size}");
        }
    }

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
        // What is set is set for all that lie there.
        let mut env = env.clone();
        let named = |name: &str| m.uniforms.iter().find(|(_, d)| d.name == name).map(|(k, _)| k).unwrap();
        inputs.set(&mut env, Word::Uniform(named("c"), 0), 0, 4.0);
        inputs.set(&mut env, Word::Uniform(named("a"), 1), 0, 2.5);
        let [a, b, c, ..] = env.uniforms.as_slice() else { panic!("{env:?}") };
        assert_eq!((b[5], c[0]), (4, 4));
        assert_eq!([a[1], b[1]], [2.5f32.to_bits(); 2]);
    }

    #[test]
    fn one_invocation_goes_back_where_it_was() {
        let m = retroshade_ir::parse(
            "t.ir",
            "shader vertex \"t\"\ninput %v : i32 @vertex_index\ninput %a : f32 @location(0)\noutput %p : f32x4 @position\nblock0:\n    return\n",
        )
        .unwrap();
        let inputs = Inputs::new(&m);
        let all = inputs.environment(1);
        let mut env = all.clone();
        env.invocations = vec![all.invocations[2].clone()];
        env.invocations[0].inputs = vec![vec![3], vec![5.0f32.to_bits()]];
        inputs.put_back(&mut env, &all, 2);
        let numbers: Vec<u32> = env.invocations.iter().map(|v| v.inputs[0][0]).collect();
        // The number that it took was another one's, which has the old one now.
        assert_eq!(numbers, [0, 1, 3, 2]);
        let changed: Vec<bool> = env.invocations.iter().zip(&all.invocations).map(|(x, y)| x.inputs[1] != y.inputs[1]).collect();
        assert_eq!(changed, [false, false, true, false]);
    }
}
