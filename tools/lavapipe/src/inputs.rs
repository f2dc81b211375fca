//! Random values for a program: the same for the driver and for the interpreter.

use retroshade_ir::env::{Filter, Wrap};
use retroshade_ir::{Binding, Builtin, InvocationInputs, IoDecl, Module, Scalar, ShaderEnv, Stage, TexDim, TextureData, Type};

/// Width and height of an image in pixels.
pub const SIZE: u32 = 8;

/// A small generator (xorshift) with a seed.
pub struct Rng(u64);

impl Rng {
    /// A generator.
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 24) as u32
    }
    /// From 0 to 1, a multiple of 2^-12: sums and products of few of them are exact.
    fn unit(&mut self) -> f32 {
        (self.next() % 4096) as f32 / 4096.0
    }
    fn float(&mut self) -> f32 {
        match self.next() % 3 {
            0 => self.unit() * 2.0 - 1.0,
            1 => self.unit(),
            _ => self.unit() * 4.0,
        }
    }
    fn word(&mut self, s: Scalar) -> u32 {
        match s {
            Scalar::F32 | Scalar::F16 => self.float().to_bits(),
            // No zeros: programs divide by their parameters.
            Scalar::I32 => 1 + self.next() % 4,
            Scalar::I1 => self.next() % 2,
        }
    }
}

/// A fragment input: for each lane the value at the origin and what a pixel to the right and below adds.
#[derive(Clone, Debug)]
pub struct Plane {
    /// Location.
    pub location: u32,
    /// Declaration.
    pub decl: IoDecl,
    /// Origin, right, below; integers only have the first.
    pub lanes: Vec<[f32; 3]>,
}

impl Plane {
    /// Whether the value is the same in every pixel.
    pub fn flat(&self) -> bool {
        self.decl.ty.scalar != Scalar::F32 || self.decl.interpolation == retroshade_ir::module::Interpolation::Flat
    }
    /// Lane `n` at a place in pixels.
    pub fn at(&self, n: usize, x: f32, y: f32) -> f32 {
        let [a, b, c] = self.lanes[n];
        if self.flat() { a } else { a + b * x + c * y }
    }
}

/// One run of a program.
pub struct Case {
    /// For the interpreter.
    pub env: ShaderEnv,
    /// A fragment program's inputs.
    pub planes: Vec<Plane>,
}

/// Coordinates of pixel `n` in the order of the interpreter's quads.
pub fn pixel(n: u32) -> (u32, u32) {
    let (quad, lane) = (n / 4, n % 4);
    (quad % (SIZE / 2) * 2 + lane % 2, quad / (SIZE / 2) * 2 + lane / 2)
}

/// Random values for a module.
pub fn case(m: &Module, seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let mut planes = Vec::new();
    for d in m.inputs.values() {
        let Binding::Location(location) = d.binding else { continue };
        let one = |rng: &mut Rng| {
            if d.ty.scalar == Scalar::F32 {
                [rng.float(), (rng.unit() - 0.5) / 8.0, (rng.unit() - 0.5) / 8.0]
            } else {
                [(rng.next() % 5) as f32, 0.0, 0.0]
            }
        };
        let lanes = (0..d.ty.lanes).map(|_| one(&mut rng)).collect();
        planes.push(Plane { location, decl: d.clone(), lanes });
    }
    let mut env = ShaderEnv { workgroups: [2, 1, 1], ..ShaderEnv::default() };
    if m.stage == Stage::Fragment {
        env.invocations = (0..SIZE * SIZE).map(|n| invocation(m, &planes, pixel(n))).collect();
    }
    env.uniforms =
        m.uniforms.values().map(|u| (0..u.elements() * u32::from(u.ty.lanes)).map(|_| rng.word(u.ty.scalar)).collect()).collect();
    let mut textures: Vec<TextureData> = Vec::new();
    for (n, d) in m.textures.values().enumerate() {
        // The same texture with another sampler.
        if let Some((k, _)) = m.textures.values().take(n).enumerate().find(|(_, e)| (e.group, e.binding) == (d.group, d.binding)) {
            textures.push(textures[k].clone());
            continue;
        }
        let (size, layers) = match d.dim {
            TexDim::D1 => ([8, 1, 1], 1),
            TexDim::D2 => ([8, 8, 1], if d.arrayed { 2 } else { 1 }),
            TexDim::D3 => ([8, 8, 8], 1),
            TexDim::Cube => ([8, 8, 1], if d.arrayed { 2 } else { 1 }),
        };
        let faces = if d.dim == TexDim::Cube { 6 } else { 1 };
        let texel = |rng: &mut Rng| match (d.kind, d.shadow) {
            (Scalar::I32, _) => [rng.next() % 200, rng.next() % 200, rng.next() % 200, rng.next() % 200],
            // Depth has sixteen bits on the driver's side.
            (_, true) => [((rng.next() % 65536) as f32 / 65535.0).to_bits(), 0, 0, 0],
            _ => [rng.unit(), rng.unit(), rng.unit(), rng.unit()].map(f32::to_bits),
        };
        let count = size[0] * size[1] * size[2] * layers * faces;
        textures.push(TextureData {
            dim: d.dim,
            size,
            layers,
            levels: 1,
            depth: d.shadow,
            // Filtering hides that coordinates near a texel's edge may be rounded to either side; across the edges of a cube machines differ.
            filter: if d.dim == TexDim::Cube || d.shadow || d.kind == Scalar::I32 { Filter::Nearest } else { Filter::Linear },
            wrap: Wrap::Repeat,
            texels: (0..count).map(|_| texel(&mut rng)).collect(),
        });
    }
    env.textures = textures;
    env.storage = m.storage.values().map(|s| (0..s.head.len().max(256)).map(|n| rng.word(s.word(n))).collect()).collect();
    Case { env, planes }
}

fn invocation(m: &Module, planes: &[Plane], (x, y): (u32, u32)) -> InvocationInputs {
    let (px, py) = (x as f32 + 0.5, y as f32 + 0.5);
    let words = |ty: Type, v: &dyn Fn(usize) -> f32| -> Vec<u32> {
        (0..ty.lanes as usize).map(|n| if ty.scalar == Scalar::F32 { v(n).to_bits() } else { v(n) as u32 }).collect()
    };
    let inputs = m.inputs.values().map(|d| match d.binding {
        Binding::Location(l) => match planes.iter().find(|p| p.location == l) {
            Some(p) => words(d.ty, &|n| p.at(n, px, py)),
            None => vec![0; d.ty.lanes.into()],
        },
        Binding::Builtin(Builtin::Position) => [px, py, 0.5, 1.0].map(f32::to_bits).to_vec(),
        Binding::Builtin(Builtin::FrontFacing) => vec![1],
        Binding::Builtin(Builtin::SampleMask) => vec![1],
        Binding::Builtin(_) => vec![0; d.ty.lanes.into()],
    });
    InvocationInputs { inputs: inputs.collect() }
}
