//! What a shader runs on and what it leaves: shared by the interpreter and every simulator.
//!
//! All values are raw 32-bit words in the order of the module's declarations: element by element, lane by lane, without
//! padding (f16 in the low half of a word, i1 as 0 or 1). Vectors in these structs are indexed by declaration number.

use crate::entities::Uniform;
use crate::module::{Module, TexDim};
use cranelift_entity::EntityRef;
use std::borrow::Cow;

/// Everything that a shader reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShaderEnv {
    /// Invocations of a vertex, geometry or fragment program; fragments come in quads of four (2×2: x fastest).
    pub invocations: Vec<InvocationInputs>,
    /// One list of words per uniform: `elements() × lanes`, dense. That of a texture's size may be left out: the texture tells it.
    pub uniforms: Vec<Vec<u32>>,
    /// One per texture declaration.
    pub textures: Vec<TextureData>,
    /// Initial contents of each storage buffer.
    pub storage: Vec<Vec<u32>>,
    /// Compute: number of workgroups.
    pub workgroups: [u32; 3],
    /// Compute: the invocations of each workgroup that run, by their local indices; all where there are none.
    pub threads: Vec<[u32; 3]>,
}

impl ShaderEnv {
    /// The local indices of the invocations that run of a workgroup of this size.
    pub fn threads_of(&self, size: [u32; 3]) -> Vec<[u32; 3]> {
        if !self.threads.is_empty() {
            return self.threads.clone();
        }
        let [x, y, z] = size.map(|n| n.max(1));
        (0..z).flat_map(|z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z]))).collect()
    }
    /// Puts in the sizes of textures that are empty.
    pub fn with_sizes(mut self, module: &Module) -> ShaderEnv {
        for (u, _) in module.uniforms.iter().filter(|(_, d)| d.size_of.is_some()) {
            let words = self.uniform(module, u).map(Cow::into_owned);
            if let (Some(at), Some(words)) = (self.uniforms.get_mut(u.index()), words) {
                *at = words;
            }
        }
        self
    }
    /// A uniform's words, those of a texture's size too.
    pub fn uniform(&self, module: &Module, u: Uniform) -> Option<Cow<'_, [u32]>> {
        let given = self.uniforms.get(u.index());
        match module.uniforms.get(u).and_then(|d| d.size_of) {
            Some(t) if given.is_none_or(Vec::is_empty) => {
                let data = self.textures.get(t.index())?;
                let [w, h, d] = data.size;
                Some(Cow::Owned([w, h, d, data.levels].map(|n| (n as f32).to_bits()).to_vec()))
            }
            _ => given.map(|w| Cow::Borrowed(&w[..])),
        }
    }
}

/// One invocation's inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InvocationInputs {
    /// One list of words per input: `count × lanes` (geometry: one element per vertex). Compute builtins need none.
    pub inputs: Vec<Vec<u32>>,
}

/// Everything that a shader leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShaderResult {
    /// One per invocation (compute: none).
    pub invocations: Vec<InvocationResult>,
    /// Final contents of each storage buffer.
    pub storage: Vec<Vec<u32>>,
}

/// One invocation's results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InvocationResult {
    /// One list of words per output; 0 where nothing was written.
    pub outputs: Vec<Vec<u32>>,
    /// Whether the results were dropped.
    pub discarded: bool,
    /// Geometry: emitted strips, each a list of vertices, each a list of outputs as above.
    pub primitives: Vec<Vec<Vec<Vec<u32>>>>,
}

/// Filter of a sampler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// The nearest texel.
    #[default]
    Nearest,
    /// Weighted neighbours.
    Linear,
}

/// Wrap mode of a sampler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// Coordinates modulo the size.
    #[default]
    Repeat,
    /// Every second repetition mirrored.
    Mirror,
    /// Coordinates clamped to the edge texel.
    Clamp,
}

/// A texture with its sampler's state.
#[derive(Clone, Debug, PartialEq)]
pub struct TextureData {
    /// Dimensions.
    pub dim: TexDim,
    /// Width, height, depth (1 where the dimension has none).
    pub size: [u32; 3],
    /// Layers (1 if not an array).
    pub layers: u32,
    /// Mip levels present in `texels`, the largest first.
    pub levels: u32,
    /// Whether comparison samples apply.
    pub depth: bool,
    /// Filter within a level and between levels.
    pub filter: Filter,
    /// Wrap mode for every direction.
    pub wrap: Wrap,
    /// Texels of all levels: level by level, each in x, y, z / layer / face order; raw words of four components.
    pub texels: Vec<[u32; 4]>,
}
